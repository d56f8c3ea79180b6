"""The vector arm that asks zvec, an embedded vector database (extra `zvec`)."""
