"""Which subscriptions can be chosen at all: computed, and held equal to trying all small payloads."""

from __future__ import annotations

import time
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook_sdk.protocol import CATALOGUE, Entry, Globs, match_fields
from sliphook_sdk.protocol.patterns.domains import Domain, values_of, why_never
from sliphook_sdk.protocol.patterns.reach import Claim, Order, TooManySteps

TOOL = CATALOGUE["pre_tool_call"]
PROMPT = CATALOGUE["user_prompt_submit"]
LETTERS = "a-:q"
LONGEST = 4
ALL: dict[str, list[str]] = {}
FIELDS = ("tool_name", "origin", "session_key", "submitted_by")


def globs(entry: Entry, field: str) -> st.SearchStrategy[list[str]]:
    pattern = st.text("a-:*?", min_size=1, max_size=3)
    fitting = pattern.filter(lambda glob: why_never(entry, field, glob) is None)
    return st.lists(fitting, min_size=1, max_size=2)


def claims(entry: Entry) -> st.SearchStrategy[list[Claim]]:
    fields = [field for field in FIELDS if field in match_fields(entry)]
    match = st.fixed_dictionaries(
        {}, optional={field: globs(entry, field) for field in fields}
    ).filter(lambda match: len(match) <= 2)
    return st.lists(st.builds(Claim, match, st.booleans()), min_size=1, max_size=4)


TEXTS = [
    "".join(letters) for length in range(LONGEST + 1) for letters in product(LETTERS, repeat=length)
]


def matching(entry: Entry, field: str, claim: Claim) -> set[str | None]:
    values = values_of(entry.payload, field)
    texts = {text for text in TEXTS if any(domain.has(text) for domain in values.domains)}
    if field not in claim.match:
        return {*texts, None} if values.nullable else {*texts}
    return {*filter(Globs(claim.match[field]).fits, texts)}


@pytest.mark.parametrize("entry", [TOOL, PROMPT])
@given(data=st.data())
def test_it_agrees_with_trying_every_small_payload(entry: Entry, data: st.DataObject) -> None:
    found = data.draw(claims(entry))
    *earlier, claim = found
    sets = {
        field: [matching(entry, field, one) for one in found]
        for field in FIELDS
        if field in match_fields(entry)
    }
    reached = any(
        _chosen(found, sets, child) for child in ((False, True) if claim.subagents else (False,))
    )

    by = Order(entry, found, 10**9).in_the_way(len(earlier))

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
        # no origin is empty, or has a capital letter and no colon
        ([{"origin": ["?*"]}], ALL, 0),
        ([{"origin": ["*:*"]}], {"origin": ["A*"]}, 0),
        ([{"origin": ["*:*"]}], {"origin": ["a*"]}, None),
        ([{"origin": ["agent", "mcp:*"]}], {"origin": ["agent", "*"]}, None),
        ([{"session_key": ["?*"]}], {"session_key": ["*"]}, None),
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
    (domain,) = values_of(PROMPT.payload, "source").domains
    words = domain.words
    assert words is not None
    claims = [Claim({"source": [word]}, True) for word in words]
    assert Order(PROMPT, [*claims, Claim({}, True)]).in_the_way(len(words)) == 0
    assert Order(PROMPT, [*claims[1:], Claim({}, True)]).in_the_way(len(words) - 1) is None


def test_names_of_plugins_have_an_end() -> None:
    # a name of 65 characters would be chosen
    up_to_64, any_text = ["?" * n for n in range(1, 65)], ["*"]
    found = [Claim({"submitted_by": up_to_64}, True), Claim({"submitted_by": any_text}, True)]
    assert Order(PROMPT, found, 10**6).in_the_way(1) == 0


@pytest.mark.parametrize("field", ["tool_name", "origin"])
def test_names_of_an_agent_s_own_tools_have_none(field: str) -> None:
    found = [Claim({field: ["?" * n for n in range(1, 65)]}, True), Claim({}, True)]
    assert Order(TOOL, found, 10**6).in_the_way(1) is None


def test_patterns_that_overlap_in_too_many_ways_are_given_up() -> None:
    wild = [f"*{a}{b}*{c}" for a, b, c in product("abcdef", repeat=3)]
    found = [Claim({"tool_name": wild[:100]}, True), Claim({"tool_name": wild[50:]}, True)]
    with pytest.raises(TooManySteps):
        Order(TOOL, [Claim({"tool_name": ["*"], "origin": ["*"]}, True), *found], 500).in_the_way(2)


LONG = [
    Claim({"origin": ["*:*"]}, True),
    Claim({"origin": ["?" * n for n in range(1016, 1023)]}, True),
]


def test_long_patterns_cost_more_steps_than_short_ones() -> None:
    """Each `?` of them makes a pattern with a colon in its place: 7,000 of 1,000 characters."""
    took_s: list[float] = []
    for _ in range(3):  # what the code takes comes again; what a busy machine adds does not
        before = time.process_time()
        with pytest.raises(TooManySteps):
            Order(TOOL, LONG).in_the_way(1)
        took_s.append(time.process_time() - before)
    assert min(took_s) < 0.1


@pytest.mark.parametrize(
    "pattern",
    ["say|weather", "^shell$", "shell.*", "shell, write", "shell(rm*)", "[sS]hell", "{shell,bash}",
     "", "x" * 1025, "a b", "a+", "fs\\.read"],
)  # fmt: skip
def test_a_pattern_of_another_language_is_none_of_tools(pattern: str) -> None:
    assert why_never(TOOL, "tool_name", pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    [
        "shell",
        "Shell",
        "*",
        "?",
        "*_*-9",
        "x" * 65,
        "?" * 65,
        "fs.read",
        "fs.?*",
        "MCP:*",
        "a/b",
        "é",
    ],
)
def test_other_patterns_may_fit(pattern: str) -> None:
    assert why_never(TOOL, "tool_name", pattern) is None
    assert why_never(TOOL, "session_key", "say|weather") is None


@pytest.mark.parametrize(
    ("field", "pattern", "fits"),
    [
        ("origin", "agent", True),
        ("origin", "github", True),
        ("origin", "mcp:*", True),
        ("origin", "mcp?github", True),
        ("origin", "A*", True),
        ("origin", "-?", True),
        ("origin", "?" * 65, True),
        ("origin", "mcp", False),
        ("origin", "Agent", False),
        ("origin", "my plugin", False),
        ("origin", "_x", False),
        ("origin", "x" * 65, False),
        ("origin", "", False),
        ("origin", "*" + "A" * 1024, False),
        ("submitted_by", "remind", True),
        ("submitted_by", "*-x", True),
        ("submitted_by", "*" + "x" * 64, True),
        ("submitted_by", "*" + "-" * 64, False),
        ("submitted_by", "Remind*", False),
        ("submitted_by", "user", False),
        ("submitted_by", "-*", False),
        ("session_key", "x" * 1024, True),
        ("session_key", "*" + "x" * 1024, True),
        ("session_key", "", True),
        ("session_key", "x" * 1025, False),
        ("session_key", "?" * 1024 + "*x", False),
    ],
)
def test_a_pattern_that_no_value_of_a_field_has_fits_nothing(
    field: str, pattern: str, fits: bool
) -> None:
    entry = TOOL if field == "origin" else PROMPT
    assert (why_never(entry, field, pattern) is None) == fits


def test_it_is_said_what_the_values_of_a_field_are() -> None:
    assert why_never(TOOL, "tool_name", "^sh.*|rm") == (
        "has '^', but patterns know `*` and `?` alone; several of them are a list, and `?` fits any"
        " one character"
    )
    assert why_never(TOOL, "tool_name", "") == "is empty, and no name is"
    assert why_never(TOOL, "origin", "mcp") == (
        "can fit nothing: origin is agent, the name of a plugin, or a text with a colon, such as"
        " mcp:github; mcp:* fits all that are of MCP servers"
    )
    assert why_never(PROMPT, "submitted_by", "Remind") == (
        "can fit nothing: submitted_by is the name of a plugin, [a-z0-9][a-z0-9_-]{0,63}"
    )
    assert why_never(PROMPT, "session_key", "x" * 1025) == (
        "has more than 1,024 characters; a value that is longer fits every pattern"
    )


short = st.builds(
    Domain,
    words=st.none(),
    chars=st.sampled_from([None, "a-", "a-:q"]),
    first=st.sampled_from([None, "a"]),
    least=st.just(1),
    most=st.integers(2, 4),
    holds=st.sampled_from(["", ":"]),
    never=st.sampled_from([(), ("-",)]),
).filter(lambda domain: not domain.holds or (domain.first, domain.chars) == (None, None))


@given(short, st.text("a-:*?", max_size=6))
def test_whether_a_pattern_fits_agrees_with_trying_every_value(domain: Domain, glob: str) -> None:
    values = [text for text in TEXTS if domain.has(text)]
    assert domain.fits(glob) == any(map(Globs([glob]).fits, values))


def test_a_word_that_the_field_never_has_fits_nothing() -> None:
    assert why_never(PROMPT, "source", "sure") is not None
