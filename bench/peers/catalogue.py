"""The peers: what each needs to be installed, and how its driver is started."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    """A memory to be asked.

    `python` is the lowest version its packages need; `packages` come from PyPI into an environment of its own (none:
    this environment, which holds Memoranda); `node` comes from npm. `arguments` follow the driver's file, with
    `{folder}` where it works and `{node}` where npm put its commands.
    """

    name: str
    title: str
    driver: str
    packages: tuple[str, ...] = ()
    python: tuple[int, int] = (3, 11)
    node: str = ""
    arguments: tuple[str, ...] = ("{folder}",)


PEERS = {
    peer.name: peer
    for peer in (
        Peer("fts5", "FTS5, any word", "fts5.py"),
        Peer("memoranda", "Memoranda", "memoranda_api.py", arguments=("{folder}", "minilm")),
        Peer("memoranda-words", "Memoranda, words alone", "memoranda_api.py", arguments=("{folder}", "none")),
        Peer("chroma", "Chroma", "chroma.py", ("chromadb==1.5.9",)),
        Peer(
            "langgraph",
            "LangGraph store",
            "langgraph_store.py",
            ("langgraph==1.2.24", "langgraph-checkpoint-sqlite==3.1.2", "numpy==2.4.6"),
        ),
        Peer("mem0", "mem0, `infer=False`", "mem0_memory.py", ("mem0ai==2.2.1",)),
        Peer("basic-memory", "basic-memory, text", "basic_memory_mcp.py", ("basic-memory==0.24.1",), (3, 12)),
        Peer("qmd", "QMD `search`", "qmd_cli.py", node="@tobilu/qmd@2.1.0", arguments=("{folder}", "{node}/qmd")),
    )
}
