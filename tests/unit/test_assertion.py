"""The operational ledger's names, texts and sides, as they are kept."""

from __future__ import annotations

import pytest

from memoranda.domain.assertion import (
    DEFAULT_STORE,
    MAX_METADATA_CHARS,
    MAX_NAME_CHARS,
    MAX_SIDES,
    STORES,
    Assertion,
    Side,
    merged,
    metadata_of,
    name_of,
    says,
    store_of,
)
from memoranda.domain.scope import Principal, agent_scope
from memoranda.errors import InvalidInput


def side(number: int, fact: str = "") -> Side:
    """A side of a contradiction."""
    return Side(record_id=f"ast_{number}", fact=fact, source="agent:main", at="2026-01-01")


def test_names_are_trimmed_and_in_lower_case() -> None:
    """Space around a name and its case do not count; space within does."""
    assert name_of("entity", "  Ann  Smith\n") == "ann  smith"
    assert name_of("topic", "DIÄT") == "diät"
    assert name_of("entity", " ", needed=False) == ""


@pytest.mark.parametrize("wrong", ["", "  ", "a\nb", "a\x00b", "x" * (MAX_NAME_CHARS + 1), 5, None, "\ud800"])
def test_a_wrong_name_is_refused(wrong: object) -> None:
    """An empty, long or many-lined name and what is no text are refused; the longest name is not."""
    assert name_of("entity", "x" * MAX_NAME_CHARS)
    with pytest.raises(InvalidInput, match="entity"):
        name_of("entity", wrong)  # type: ignore[arg-type]  # on purpose


def test_there_are_five_stores() -> None:
    """Each store is known in any case, the default is the knowledge graph, and there is no sixth."""
    assert STORES == ("knowledge_graph", "vector", "timeline", "todo", "top_of_mind")
    assert [store_of(f" {store.upper()} ") for store in STORES] == list(STORES)
    assert store_of("") == DEFAULT_STORE == "knowledge_graph"
    assert store_of("", default="") == ""
    with pytest.raises(InvalidInput, match="top_of_mind"):
        store_of("graph")


def test_metadata_is_a_json_object() -> None:
    """An object is kept with sorted names; anything else, NaN or too much of it is refused."""
    assert metadata_of(None) == "{}"
    assert metadata_of({"b": 1, "a": ["ö"]}) == '{"a":["ö"],"b":1}'
    wrongs: list[object] = [[], "{}", {1: 2}, {"a": object()}, {"a": float("nan")}, {"a": "x" * MAX_METADATA_CHARS}]
    for wrong in wrongs:
        with pytest.raises(InvalidInput, match="metadata"):
            metadata_of(wrong)


def test_sides_are_kept_once_and_are_not_too_many() -> None:
    """The same fact is one side; of too many the first and the newest are kept."""
    assert merged((side(1, "a"),), (side(2, "a"), side(3, "b"))) == (side(1, "a"), side(3, "b"))
    assert merged((), (side(1), side(1), side(2))) == (side(1), side(2))
    many = tuple(side(number) for number in range(MAX_SIDES + 5))
    kept = merged(many[:1], many[1:])
    assert len(kept) == MAX_SIDES
    assert (kept[0], kept[-1]) == (many[0], many[-1])


@pytest.mark.parametrize("words", ["", "ANN", "diet", "eats", "BOTH", "no meat"])
def test_a_query_is_a_part_of_any_text(words: str) -> None:
    """Entity, topic, fact, reason and the facts of sides are looked into in any case; nothing else is."""
    item = Assertion(
        id="ast_1", scope=agent_scope("main"), entity="ann", topic="diet", store="vector", fact="Eats meat.",
        conflict_reason="Both are said.", sides=(side(1, "Eats no meat."),), author=Principal("agent", "main"), at="x",
    )  # fmt: skip
    assert says(item, words)
    assert not says(item, "vector")
