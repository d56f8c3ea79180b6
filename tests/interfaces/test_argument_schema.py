"""The small argument checker."""

from __future__ import annotations

import jsonschema  # type: ignore[import-untyped]  # the stubs are a package of their own
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.errors import InvalidInput
from memoranda.interfaces import schema
from memoranda.interfaces.tools import TOOLS

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "minLength": 1, "maxLength": 5},
        "count": {"type": "integer", "minimum": 1, "maximum": 3, "default": 2},
        "deep": {"type": "boolean", "default": False},
    },
    "required": ["text"],
    "additionalProperties": False,
}


def test_defaults_are_filled_in_and_values_kept() -> None:
    """Absent arguments get their default; given ones stay; null counts as absent."""
    assert schema.check(SCHEMA, {"text": "a"}) == {"text": "a", "count": 2, "deep": False}
    assert schema.check(SCHEMA, {"text": "a", "count": 3.0, "deep": None}) == {
        "text": "a",
        "count": 3,
        "deep": False,
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "'text' is missing"),
        ({"text": None}, "'text' is missing"),
        ({"text": ""}, "'text' is empty"),
        ({"text": "secret"}, "'text' is too long: 5"),
        ({"text": 5}, "'text' must be of type string"),
        ({"text": "a", "count": 4}, "'count' is out of range: use 1 to 3"),
        ({"text": "a", "count": True}, "'count' must be of type integer"),
        ({"text": "a", "count": "2"}, "'count' must be of type integer"),
        ({"text": "a", "deep": 1}, "'deep' must be of type boolean"),
        ({"text": "a", "counts": 1}, "unknown argument 'counts'; did you mean 'count'?"),
        ({"text": "a", "agent_id": "b"}, "unknown argument 'agent_id'"),
        ({"text": "\ud800"}, "'text' holds half of a character pair"),
    ],
)
def test_what_is_wrong_is_named(arguments: dict[str, object], message: str) -> None:
    """The message names argument and rule, and never shows the value."""
    assert schema.check(SCHEMA, {"text": "fine"})["text"] == "fine"
    with pytest.raises(InvalidInput) as caught:
        schema.check(SCHEMA, arguments)
    assert message in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_tool_table_uses_only_keywords_that_are_checked() -> None:
    """No tool states a rule that the checker would ignore, and every schema is a valid JSON Schema."""
    used = {keyword for tool in TOOLS for rule in tool.properties.values() for keyword in rule}
    assert used <= schema.KEYWORDS
    assert {"minimum", "maxLength", "default"} <= used
    for tool in TOOLS:
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)


values = st.one_of(st.none(), st.booleans(), st.integers(-2, 6), st.text("ab", max_size=8), st.floats(0, 4))


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["text", "count", "deep", "other"]), values, max_size=4))
def test_it_agrees_with_the_reference_implementation(arguments: dict[str, object]) -> None:
    """Apart from null, which counts as absent, an independent validator accepts exactly the same."""
    given_ones = {name: value for name, value in arguments.items() if value is not None or name == "other"}
    expected = jsonschema.Draft202012Validator(SCHEMA).is_valid(given_ones)
    try:
        schema.check(SCHEMA, arguments)
        accepted = True
    except InvalidInput:
        accepted = False
    assert accepted == expected
