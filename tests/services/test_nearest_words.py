"""What the words of passages come nearest to counts in a search by words and meaning, for notes and for turns."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoranda
from memoranda.adapters.embedders.chain import Member
from memoranda.adapters.embedders.minilm import MiniLMEmbedder
from memoranda.adapters.embedders.weighted import WeightedEmbedder
from memoranda.domain.query import Filters
from memoranda.domain.scope import agent_scope
from memoranda.memory import Memory
from memoranda.ports import ByWord

NEAREST, AFTER = "nearest words", "comes after a question"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """A home with the default embedder, notes and a talk."""
    with memoranda.open(tmp_path, settings={"memory.provider": "minilm"}) as opened:
        agent = opened.agent("main")
        agent.save("- The boiler in the cellar was repaired in May.\n- Ada collects stamps from Peru.")
        session = agent.session("talk")
        session.say("user", "Where did you put the spare key?")
        session.say("assistant", "It hangs on the hook behind the pantry door.")
        session.say("user", "Good, I will fetch it after lunch.")
        session.close()
        opened.embed()
        yield opened


def labels(memory: Memory, question: str, **how: object) -> list[set[str]]:
    """Return the names of each hit's addends, which sum to its score."""
    hits = memory.agent("main").search(question, min_score=0, **how).hits  # type: ignore[arg-type]
    for hit in hits:
        assert hit.score == pytest.approx(sum(value for _, value in hit.addends))
    return [{name for name, _ in hit.addends} for hit in hits]


def test_notes_and_turns_are_ranked_by_their_nearest_words(memory: Memory) -> None:
    """Both have the addend; a turn that comes after a question gains by that, the question itself does not."""
    found = memory.agent("main").search("Who gathers postage?", min_score=0)
    assert "stamps" in found.hits[0].text
    assert dict(found.hits[0].addends)[NEAREST] > 0
    hits = memory.agent("main").search("Where is the spare key?", min_score=0).hits
    answer = next(hit for hit in hits if "pantry" in hit.text)
    assert {NEAREST, AFTER} <= {name for name, _ in answer.addends}
    assert AFTER not in {name for hit in hits if hit.text.endswith("?") for name, _ in hit.addends}


@pytest.mark.parametrize("how", [{"mode": "keyword"}, {"mode": "vector"}, {"strategy": "rrf"}])
def test_one_arm_alone_knows_no_nearest_words(memory: Memory, how: dict[str, object]) -> None:
    """Words alone, meaning alone and rank fusion stay what they say; the sum of both is the control."""
    assert all(NEAREST in found for found in labels(memory, "Where is the spare key?"))
    found = labels(memory, "Where is the spare key?", **how)
    assert found
    assert not any({NEAREST, AFTER} & names for names in found)


def test_vectors_of_words_come_back_from_the_cache(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the index is gone they are as before, and the model is not asked again."""
    index, scope = memory._parts.stores.index, agent_scope("main")
    identity = index.state(scope).embedder
    before = sorted(index.words(scope, identity, index.newest(scope, 64, Filters())).values())
    assert any(before)
    shutil.rmtree(memory.home / ".state" / "index")
    memory.sync()
    assert not index.words(scope, identity, index.newest(scope, 64, Filters()))
    monkeypatch.setattr(MiniLMEmbedder, "embed_documents_by_word", None)
    memory.embed()
    assert sorted(index.words(scope, identity, index.newest(scope, 64, Filters())).values()) == before


def test_the_configured_embedder_knows_words() -> None:
    """Weights and circuits around an embedder do not hide what it can do."""
    for wrapped in (WeightedEmbedder(MiniLMEmbedder(), 0.3), Member("minilm", MiniLMEmbedder)):
        assert isinstance(wrapped, ByWord)
        assert wrapped.embed_query_by_word("stamps from Peru")[1].words == ("stamps", "peru")
