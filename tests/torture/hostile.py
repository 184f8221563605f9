"""Hostile messages by the thousand, made of small recipes: each part says what is repeated.

A recipe is drawn by hypothesis and is small, whatever it makes: `[],` two million times is one
part. So drawing is cheap, and a recipe that breaks a promise can be read.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import trio
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from tests.heartbeat import unmeasured

ROOT: Final = Path(__file__).resolve().parents[2]
MOST_BYTES: Final = 8 * 1024 * 1024
"""The longest message of the protocol."""


class Part(NamedTuple):
    """A text so many times; each `#` in it is the number of the repetition."""

    unit: str
    repeats: int = 1

    @property
    def size(self) -> int:
        """Bytes, about."""
        digits = len(str(self.repeats)) if "#" in self.unit else 0
        return (len(self.unit.encode()) + digits) * self.repeats


class Recipe(NamedTuple):
    """What a plugin does.

    Attributes:
        way: how it writes it: `line`, `frame`, `stderr`, or `raw` on stdout.
        times: how often.
        parts: what: in it `@ID` is the id of the hook that the plugin is in, `@SESSION` the session
            and `@N` the number of the repetition.
        answers: it is itself the answer to that hook.
    """

    way: str
    times: int
    parts: tuple[Part, ...]
    answers: bool = False

    def text(self) -> str:
        """As the program takes it."""
        return json.dumps(self)

    def told(self) -> str:
        """For people: parts as `unit×count`."""
        parts = " ".join(
            repr(part.unit) + (f"×{part.repeats:,}" if part.repeats > 1 else "")
            for part in self.parts
        )
        return f"{self.times:,} times a {self.way}: {parts}"


def build(parts: Iterable[Part]) -> str:
    """The whole text, as the program makes it."""
    return "".join(
        "".join(unit.replace("#", str(number)) for number in range(count))
        if "#" in unit
        else unit * count
        for unit, count in parts
    )


PROGRAM: Final = r"""
def build(parts):
    return "".join(
        "".join(unit.replace("#", str(n)) for n in range(count)) if "#" in unit else unit * count
        for unit, count in parts
    )

def commit(way, times, parts, answers, id, session):
    text = build(parts).replace("@ID", str(id)).replace("@SESSION", session)
    whole = text.encode("utf-8", "surrogatepass")
    for number in range(times):
        data = whole.replace(b"@N", b"%d-%d" % (id, number)) if b"@N" in whole else whole
        if way == "stderr":
            while data:
                data = data[os.write(2, data):]
        else:
            raw(frame(data) if way == "frame" else data if way == "raw" else data + b"\n")
    if not answers:
        reply(id, {})

greet()
while True:
    message = receive()
    if message.get("method") == "hook/user_prompt_submit":
        text = message["params"]["text"]
        if text.startswith("["):
            commit(*json.loads(text), message["id"], message["params"]["session_id"])
        else:
            reply(message["id"], {})
    elif "id" in message and "method" in message:
        reply(message["id"], {})
        if message["method"] == "exit":
            sys.exit(0)
    elif message.get("method") == "exit":
        sys.exit(0)
"""
"""A program without the SDK that does what a prompt tells it to."""

# -- what is drawn
# --------------------------------------------------------------------------------------------------

_CHARACTERS: Final = [
    "a",
    "ab ",
    "é",
    "\U0001f600",
    "*",
    "?",
    "\\n",
    "x\\n",
    "\\r\\n",
    "\\u2028",
    "\\\\",
    '\\\\\\"',
    "\\u0000",
    "\\u001b[31m",
    "\\u202e",
    "tok-",
    "<",
]
_SCALARS: Final = ["0", "-1", "1.5", "true", "null", '""', '"x"', "[]", "{}", "1e308", "123456789"]


@st.composite
def _counts(draw: st.DrawFn, unit_bytes: int, budget: int) -> int:
    """How often: any magnitude up to the budget is as likely as any other."""
    most = max(1, budget // max(1, unit_bytes))
    return min(most, 1 << draw(st.integers(0, most.bit_length())))


@st.composite
def _units(draw: st.DrawFn) -> str:
    """A small value."""
    value = draw(st.sampled_from(_SCALARS))
    for wrap in draw(st.lists(st.sampled_from(["[%s]", '{"k":%s}', "[%s,%s]"]), max_size=3)):
        value = wrap.replace("%s", value)
    return value


@st.composite
def values(draw: st.DrawFn, budget: int = MOST_BYTES // 2) -> list[Part]:
    """A JSON value that is large in one way."""
    kind = draw(
        st.sampled_from(
            ["list", "object", "same keys", "string", "digits", "float", "deep", "small"]
        )
    )
    if kind == "small":
        return [Part(draw(_units()))]
    if kind == "string":
        unit = draw(st.sampled_from(_CHARACTERS))
        return [Part('"'), Part(unit, draw(_counts(len(unit.encode()), budget))), Part('"')]
    if kind == "digits":
        return [Part("9", draw(_counts(1, budget)))]
    if kind == "float":
        end = draw(st.sampled_from(["", "e-300", "e300", "e9999999"]))
        return [Part("1."), Part("9", draw(_counts(1, budget))), Part(f"7{end}")]
    if kind == "deep":
        open_, close = draw(st.sampled_from([("[", "]"), ('{"a":', "}")]))
        count = draw(st.integers(1, 140))
        return [Part(open_, count), Part(draw(_units())), Part(close, count)]
    unit = draw(_units())
    if kind == "list":
        count = draw(_counts(len(unit) + 1, budget))
        return [Part("["), Part(f"{unit},", count), Part(f"{unit}]")]
    key = '"k#":' if kind == "object" else '"k":'
    count = draw(_counts(len(unit) + len(key) + 6, budget))
    return [Part("{"), Part(f"{key}{unit},", count), Part(f'"last":{unit}}}')]


_NOTIFICATIONS: Final = [
    ("host/log", '"level":"info","message":"m","fields":{"f":@VALUE}'),
    ("host/log", '"level":"info","message":"m","fields":@VALUE'),
    ("host/log", '"level":"info","message":@VALUE'),
    ("host/log", '"level":@VALUE,"message":"m"'),
    ("$/progress", '"id":@ID,"message":@VALUE'),
    ("$/progress", '"id":@ID,"fraction":@VALUE'),
    ("$/progress", '"id":@VALUE'),
    ("$/cancelRequest", '"id":@VALUE'),
    ("no/such", '"a":@VALUE'),
    ("no/such", '"a":1},"extra":{"a":@VALUE'),
]
_REQUESTS: Final = [
    ("host/notify", '"level":"info","message":@VALUE'),
    ("host/inject", '"session_id":"@SESSION","text":@VALUE'),
    ("host/inject", '"session_id":@VALUE,"text":"t"'),
    ("host/interrupt", '"session_id":"@SESSION","reason":@VALUE'),
    ("host/ask", '"session_id":"@SESSION","prompt":@VALUE'),
    ("host/ask", '"session_id":"@SESSION","prompt":"p","schema":@VALUE'),
    ("host/ask", '"session_id":"@SESSION","prompt":"p","schema":{"type":"string","enum":@VALUE}'),
    (
        "host/ask",
        '"session_id":"@SESSION","prompt":"p","schema":{"type":"object","properties":@VALUE}',
    ),
    ("host/answer", '"session_id":"@SESSION","question_id":"q","choice":@VALUE'),
    ("host/tools", '"tools":@VALUE'),
    ("host/tools", '"tools":[{"name":"t","input_schema":@VALUE}]'),
    ("host/tools", '"tools":[{"name":"t","input_schema":{"type":"object","properties":@VALUE}}]'),
    ("host/tools", '"tools":[{"name":"t","input_schema":{"anyOf":@VALUE}}]'),
    ("host/tools", '"tools":[{"name":"t","input_schema":{"enum":@VALUE}}]'),
    ("host/tools", '"tools":[{"name":"t","input_schema":{"pattern":@VALUE}}]'),
    ("host/tools", '"tools":[{"name":"t","description":@VALUE}]'),
    ("no/such", '"a":@VALUE'),
]
_ANSWERS: Final = [
    '"result":@VALUE',
    '"result":{"context":@VALUE}',
    '"result":{"context":[@VALUE]}',
    '"result":{"reason":@VALUE,"decision":"deny"}',
    '"result":{"replace":@VALUE}',
    '"result":{"replace":{"text":@VALUE}}',
    '"result":{"unknown":@VALUE}',
    '"result":{"_meta":@VALUE}',
    '"error":{"code":1,"message":@VALUE}',
    '"error":{"code":1,"message":"m","data":@VALUE}',
    '"error":@VALUE',
]


_ODD_IDS: Final = [
    "@ID",
    "00@ID",
    "-0",
    "1e400",
    "1.5",
    "null",
    "[]",
    "{}",
    '""',
    '"\\u0001"',
    '"\x01"',
]
"""Ids that are none, or another's; some are no JSON."""


def _around(template: str, value: list[Part]) -> tuple[Part, ...]:
    before, _, after = template.partition("@VALUE")
    return (Part(before), *value, Part(after))


@st.composite
def recipes(draw: st.DrawFn, most_bytes: int = MOST_BYTES, most_times: int = 200) -> Recipe:
    """One recipe: at most `most_bytes` in each message, and 16 MiB in all."""
    kind = draw(
        st.sampled_from(["notification"] * 4 + ["request"] * 3 + ["answer"] * 2 + ["bare", "noise"])
    )
    value = draw(values(most_bytes // 2))
    if kind == "noise":
        way = draw(st.sampled_from(["stderr", "raw"]))
        unit = draw(st.sampled_from([*_CHARACTERS, "{", "Content-Length: ", "{{}\n", "\n", "[],"]))
        unit = unit.replace("\\n", "\n").replace("\\\\", "\\")
        parts: tuple[Part, ...] = (Part(unit, draw(_counts(len(unit.encode()), most_bytes))),)
        return Recipe(way, 1, (*parts, Part("\n")))
    id_ = draw(st.sampled_from(["", "", "", "", *_ODD_IDS]))
    if kind == "bare":
        parts = tuple(value)
    else:
        if kind == "answer":
            fields = f'"id":{id_ or "@ID"},' + draw(st.sampled_from(_ANSWERS))
        else:
            method, params = draw(
                st.sampled_from(_NOTIFICATIONS if kind == "notification" else _REQUESTS)
            )
            said = f'"method":"{method}","params":{{{params}}}'
            asks = '"id":' + (id_ or '"@N"') if kind == "request" else ""
            behind = draw(st.booleans())
            fields = ",".join(filter(None, [said, asks] if behind else [asks, said]))
        parts = _around('{"jsonrpc":"2.0",' + fields + "}", value)
    size = sum(part.size for part in parts)
    times = 1 if kind in ("answer", "bare") else draw(_counts(size, 2 * MOST_BYTES))
    way = draw(st.sampled_from(["line", "frame"]))
    return Recipe(way, min(times, most_times), parts, answers=kind == "answer" and not id_)


class Check(NamedTuple):
    """A tool's schema, and arguments of a model's that are checked against it."""

    schema: str
    arguments: tuple[Part, ...]

    def declares(self) -> Recipe:
        """Makes the plugin offer the tool `t`."""
        tools = f'[{{"name":"t","input_schema":{self.schema}}}]'
        params = f'"tools":{tools}'
        message = f'{{"jsonrpc":"2.0","id":"@N","method":"host/tools","params":{{{params}}}}}'
        return Recipe("line", 1, (Part(message),))

    def told(self) -> str:
        """For people."""
        return f"{self.schema} for {Recipe('line', 1, self.arguments).told()}"


_KEYWORDS: Final = [
    '{"uniqueItems":true}',
    '{"contains":{"type":"string"}}',
    '{"contains":{"const":"z"},"maxContains":1}',
    '{"items":{"multipleOf":0.01}}',
    '{"items":{"multipleOf":7}}',
    '{"items":{"multipleOf":1e-300}}',
    '{"items":{"anyOf":[{"type":"string"},{"type":"null"},{"minimum":3}]}}',
    '{"items":{"oneOf":[{"type":"string"},{"type":"array"},{"minimum":3}]}}',
    '{"items":{"enum":[[],{},1,"x",null]}}',
    '{"items":{"pattern":"^(a+)+$"}}',
    '{"pattern":"^(a|a)*b$"}',
    '{"pattern":"(a*)*(b*)*c"}',
    '{"minLength":1000000}',
    '{"format":"email"}',
    '{"format":"regex"}',
    '{"patternProperties":{"^(k|K)*[0-9]*x":false}}',
    '{"propertyNames":{"pattern":".*.*.*x"}}',
    '{"additionalProperties":{"type":"string"}}',
    '{"unevaluatedItems":false}',
    '{"unevaluatedProperties":false}',
    '{"not":{"not":{"not":{"type":"object"}}}}',
    '{"$ref":"#/$defs/r"}',
    '{"dependentRequired":{"last":["never"]}}',
]


@st.composite
def checks(draw: st.DrawFn) -> Check:
    """A schema of one of the costly keywords, nested, and arguments that are large in one way."""
    schema = draw(st.sampled_from(_KEYWORDS))
    for wrap in draw(
        st.lists(
            st.sampled_from(
                [
                    '{"items":%s}',
                    '{"properties":{"k":%s}}',
                    '{"anyOf":[%s,%s]}',
                    '{"allOf":[%s,%s]}',
                ]
            ),
            max_size=6,
        )
    ):
        schema = wrap.replace("%s", schema)
    recursion = (
        '{"anyOf":[{"items":{"$ref":"#/$defs/r"}},{"properties":{"k":{"$ref":"#/$defs/r"}}}]}'
    )
    whole = f'{{"type":"object","properties":{{"v":{schema}}},"$defs":{{"r":{recursion}}}}}'
    return Check(whole, (Part('{"v":'), *draw(values(200_000)), Part("}")))


class Match(NamedTuple):
    """Patterns of a manifest for a hook's field, and a text that stands there."""

    hook: str
    field: str
    patterns: tuple[Part, ...]
    text: Part


@st.composite
def matches(draw: st.DrawFn) -> Match:
    """As many patterns as may be, each as costly as it can be written, and a long text."""
    unit = draw(st.sampled_from(["*", "a*", "*a", "?*", "*a*b", "**", "?", "a"]))
    pattern = unit * draw(st.integers(1, 40)) + draw(st.sampled_from(["", "z", "*"]))
    patterns = (
        Part("["),
        Part(f'"{pattern}#",', min(draw(_counts(len(pattern) + 4, 8_000)), 999)),
        Part(f'"{pattern}"]'),
    )
    hook, field = draw(
        st.sampled_from(
            [
                ("pre_tool_call", "tool_name"),
                ("user_prompt_submit", "source"),
                ("user_prompt_submit", "text"),
            ]
        )
    )
    text = Part(draw(st.sampled_from(["a", "ab", "é"])), draw(_counts(2, 300_000)))
    return Match(hook, field, patterns, text)


T = TypeVar("T")


def draw_many(count: int, number: int, strategy: st.SearchStrategy[T]) -> list[T]:
    """So many examples; the same for the same number."""
    drawn: list[T] = []

    def keep(recipe: T) -> None:
        drawn.append(recipe)

    test: Callable[[], Any] = seed(number)(
        settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            verbosity=Verbosity.quiet,
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.data_too_large,
                HealthCheck.large_base_example,
                HealthCheck.filter_too_much,
            ],
        )(given(strategy)(keep))
    )
    test()
    return drawn[:count]


SMALL_BYTES: Final = 4 * 1024
STRATEGIES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "recipes": recipes(),
    "small": recipes(SMALL_BYTES),
    "checks": checks(),
    "matches": matches(),
}


async def drawn(kind: type[list[T]], what: str, count: int, number: int) -> list[T]:
    """So many of that strategy's examples, drawn in a process of its own.

    In a thread it would take the interpreter from the loop, which is measured.
    """
    command = [sys.executable, "-m", __name__, what, str(count), str(number)]
    path = os.pathsep.join(folder for folder in sys.path if folder)
    done = await trio.run_process(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_stdout=True
    )
    with unmeasured():
        return msgspec.json.decode(done.stdout, type=kind)


if __name__ == "__main__":
    strategy, many, which = sys.argv[1:]
    print(msgspec.json.encode(draw_many(int(many), int(which), STRATEGIES[strategy])).decode())
