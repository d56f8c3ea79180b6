"""One folder per technology; foreign errors end here."""
