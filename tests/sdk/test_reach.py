"""Which subscriptions can be chosen at all: computed, and held equal to trying all small payloads."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook_sdk.protocol import CATALOGUE, Globs
from sliphook_sdk.protocol.reach import (
    Claim,
    Order,
    TooManySteps,
    domain,
    why_never,
)

TOOL = CATALOGUE["pre_tool_call"]
PROMPT = CATALOGUE["user_prompt_submit"]
LETTERS = "abq"
LONGEST = 5
ALL: dict[str, list[str]] = {}

globs = st.lists(st.text("ab*?", min_size=1, max_size=3), min_size=1, max_size=2)
claims = st.builds(
    Claim,
    st.dictionaries(st.sampled_from(["tool_name", "origin", "session_key"]), globs, max_size=2),
    st.booleans(),
)


def texts(least: int) -> list[str]:
    return [
        "".join(letters)
        for length in range(least, LONGEST + 1)
        for letters in product(LETTERS, repeat=length)
    ]


def matching(field: str, claim: Claim, nullable: bool, least: int) -> set[str | None]:
    values: set[str | None] = {*texts(least)} | ({None} if nullable else set())
    if field not in claim.match:
        return values
    fits = Globs(claim.match[field]).fits
    return {value for value in values if value is not None and fits(value)}


@given(st.lists(claims, min_size=1, max_size=4))
def test_it_agrees_with_trying_every_small_payload(found: list[Claim]) -> None:
    *earlier, claim = found
    fields = {"tool_name": (False, 1), "origin": (False, 0), "session_key": (True, 0)}
    sets = {field: [matching(field, one, *how) for one in found] for field, how in fields.items()}
    reached = any(
        _chosen(found, sets, child) for child in ((False, True) if claim.subagents else (False,))
    )

    by = Order(TOOL, found, 10**9).in_the_way(len(earlier))

    assert (by is None) == reached
    if by is not None:
        assert by < len(earlier)


def _chosen(found: list[Claim], sets: dict[str, list[set[str | None]]], child: bool) -> bool:
    """Some payload is matched by the last claim, and by no other that hears this agent."""
    rivals = [number for number, one in enumerate(found[:-1]) if one.subagents or not child]
    # two values are alike if the same rivals match them, so one of each kind is enough
    kinds = [
        {frozenset(n for n in rivals if value in columns[n]) for value in columns[-1]}
        for columns in sets.values()
    ]
    return any(not frozenset(rivals).intersection(*kind) for kind in product(*kinds))


@pytest.mark.parametrize(
    ("earlier", "last", "by"),
    [
        ([ALL], {"tool_name": ["shell"]}, 0),
        ([{"tool_name": ["*"]}], {"tool_name": ["shell"]}, 0),
        ([{"tool_name": ["?*"]}], ALL, 0),
        ([{"tool_name": ["shell"]}], ALL, None),
        ([{"tool_name": ["s*"]}, {"tool_name": ["*l"]}], {"tool_name": ["*s*l*"]}, None),
        ([{"tool_name": ["s*", "t*"]}], {"tool_name": ["sh*", "to*"]}, 0),
        # only together
        ([{"tool_name": ["?"]}, {"tool_name": ["??*"]}], {"tool_name": ["*"]}, 0),
        # null fits no pattern
        ([{"session_key": ["*"]}], ALL, None),
        ([{"session_key": ["*"]}], {"session_key": ["main"]}, 0),
        # null fits every pattern of a kind, so that it is no way past one
        ([{"tool_kind": ["*"]}], ALL, 0),
        ([{"tool_kind": ["shell", "read"]}], {"tool_kind": ["shell"]}, 0),
        ([{"tool_kind": ["shell"]}], {"tool_kind": ["shell", "read"]}, None),
        ([{"tool_kind": ["shell"]}], ALL, None),
        # one field can be evaded, so the other does not matter
        ([{"tool_name": ["*"], "origin": ["agent"]}], {"tool_name": ["shell"]}, None),
        ([{"tool_name": ["*"], "origin": ["agent"]}], {"origin": ["agent"]}, 0),
    ],
)
def test_which_one_stands_in_the_way(
    earlier: list[dict[str, list[str]]], last: dict[str, list[str]], by: int | None
) -> None:
    found = [Claim(match, True) for match in [*earlier, last]]
    assert Order(TOOL, found).in_the_way(len(earlier)) == by


def test_one_that_hears_child_agents_is_chosen_for_those() -> None:
    assert Order(TOOL, [Claim({}, False), Claim({}, True)]).in_the_way(1) is None
    assert Order(TOOL, [Claim({}, True), Claim({}, False)]).in_the_way(1) == 0


def test_the_words_of_a_field_are_known() -> None:
    words = domain(PROMPT.payload, "source").words
    assert words is not None
    claims = [Claim({"source": [word]}, True) for word in words]
    assert Order(PROMPT, [*claims, Claim({}, True)]).in_the_way(len(words)) == 0
    assert Order(PROMPT, [*claims[1:], Claim({}, True)]).in_the_way(len(words) - 1) is None


def test_names_of_tools_have_an_end() -> None:
    # a name of 65 characters would be chosen
    found = [Claim({"tool_name": ["?" * n for n in range(1, 65)]}, True), Claim({}, True)]
    assert Order(TOOL, found, 10**6).in_the_way(1) == 0
    found = [Claim({"origin": ["?" * n for n in range(65)]}, True), Claim({}, True)]
    assert Order(TOOL, found, 10**6).in_the_way(1) is None


def test_patterns_that_overlap_in_too_many_ways_are_given_up() -> None:
    wild = [f"*{a}{b}*{c}" for a, b, c in product("abcdef", repeat=3)]
    found = [Claim({"tool_name": wild[:100]}, True), Claim({"tool_name": wild[50:]}, True)]
    with pytest.raises(TooManySteps):
        Order(TOOL, [Claim({"tool_name": ["*"], "origin": ["*"]}, True), *found], 500).in_the_way(2)


@pytest.mark.parametrize(
    "pattern",
    ["say|weather", "^shell$", "shell.*", "shell, write", "shell(rm*)", "[sS]hell", "{shell,bash}",
     "", "?" * 65, "x" * 65, "a b", "é"],
)  # fmt: skip
def test_a_pattern_that_no_name_of_a_tool_has_fits_nothing(pattern: str) -> None:
    assert why_never(TOOL, "tool_name", pattern) is not None


@pytest.mark.parametrize("pattern", ["shell", "Shell", "*", "?", "*_*-9", "x" * 64, "?" * 64])
def test_other_patterns_may_fit(pattern: str) -> None:
    assert why_never(TOOL, "tool_name", pattern) is None
    assert why_never(TOOL, "origin", "say|weather") is None


def test_a_word_that_the_field_never_has_fits_nothing() -> None:
    assert why_never(PROMPT, "source", "sure") is not None
