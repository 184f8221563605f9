"""What the author's code gives to the SDK by mistake is named at once, and a log call never fails."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sliphook_sdk import AsyncContext, Context, Plugin
from sliphook_sdk.protocol import payloads
from sliphook_sdk.protocol.describe import example_of
from sliphook_sdk.runtime.host import BaseHost
from sliphook_sdk.runtime.state import Runtime
from sliphook_sdk.wire.call import Call
from sliphook_sdk.wire.envelope import unasked_body


class Wire:
    """Encodes what is sent, as the real way to the host does."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def notify(self, method: str, params: msgspec.Struct) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self.sent.append(json.loads(unasked_body(message))["params"])

    def check(self, method: str, *, blocks: bool) -> None:
        """Everything can be asked."""

    def ask(self, method: str, params: msgspec.Struct, call: Call | None = None) -> Any:
        self.notify(method, params)
        return {"taken": True, "interrupted": True, "outcome": "declined"}

    async def ask_async(self, method: str, params: msgspec.Struct) -> Any:
        return self.ask(method, params)


def made(kind: type[Any] = Context) -> tuple[Any, Wire]:
    wire = Wire()
    runtime = Runtime(wire, ["notify", "ask", "inject", "interrupt", "tools", "approve"], {})
    runtime.introduced()
    sample = {**example_of(payloads.PreLlmCall), "session_id": "session", "turn_id": "turn"}
    call = Call(7, "hook/pre_llm_call", msgspec.Raw(b"{}"))
    return kind(runtime, call, msgspec.convert(sample, payloads.PreLlmCall)), wire


CYCLE: dict[str, Any] = {}
CYCLE["a"] = CYCLE

WRONG: list[tuple[Callable[[Any], Any], str]] = [
    (lambda ctx: ctx.progress(3), "message must be a str or None, not int"),
    (lambda ctx: ctx.progress("x", "half"), "fraction must be a number or None, not str"),
    (lambda ctx: ctx.progress("x", True), "fraction must be a number or None, not bool"),
    (lambda ctx: ctx.say(b"x"), "text must be a str, not bytes"),
    (lambda ctx: ctx.wait(None), "seconds must be a number, not None"),
    (lambda ctx: ctx.notify(3, "x"), "level must be a str, not int"),
    (lambda ctx: ctx.notify("info", b"x"), "message must be a str, not bytes"),
    (lambda ctx: ctx.inject(object()), "text must be a str, not object"),
    (lambda ctx: ctx.interrupt(None), "reason must be a str, not None"),
    (lambda ctx: ctx.ask(["x"]), "prompt must be a str, not list"),
    (lambda ctx: ctx.ask("x", "string"), "schema must be a dict or None, not str"),
    (lambda ctx: ctx.ask("x", CYCLE), "schema cannot be sent: $.a contains itself"),
    (lambda ctx: ctx.ask("x", timeout_s="3"), "timeout_s must be a number or None, not str"),
    (lambda ctx: ctx.answer("q", object()), "choice cannot be sent: $ is of type object"),
    (lambda ctx: ctx.answer("q", math.nan), "choice cannot be sent: $ is NaN"),
    (lambda ctx: ctx.answer(3, "allow"), "question_id must be a str, not int"),
    (lambda ctx: ctx.set_tools(None), "tools must be a list of functions or Tools, not None"),
    (lambda ctx: ctx.set_tools([], session_id=[]), "session_id must be a str or None, not list"),
    (lambda ctx: ctx.run([3]), "args[0] must be a str or a path, not int"),
    (lambda ctx: ctx.run(["true"], cwd=3), "cwd must be a str or a path, not int"),
    (lambda ctx: ctx.run(["true"], env=[1]), "env must be a dict or None, not list"),
    (lambda ctx: ctx.run(["true"], env={"A": 1}), "env['A'] must be a str or a path, not int"),
    (lambda ctx: ctx.run(["true"], timeout_s="1"), "timeout_s must be a number or None, not str"),
    (lambda ctx: ctx.run(["true"], max_bytes=None), "max_bytes must be a number, not None"),
    (lambda ctx: ctx.run(["true"], stdin=3), "stdin must be a str, bytes or None, not int"),
]


@pytest.mark.parametrize(("use", "says"), WRONG, ids=[says for _, says in WRONG])
def test_a_wrong_type_is_named_where_it_is_given(use: Callable[[Any], Any], says: str) -> None:
    ctx, wire = made()
    with pytest.raises(TypeError) as caught:
        use(ctx)
    assert (str(caught.value), wire.sent) == (says, [])


AWAITED = [case for case in WRONG if not case[1].startswith("seconds")]


@pytest.mark.parametrize(("use", "says"), AWAITED, ids=[says for _, says in AWAITED])
def test_a_wrong_type_is_named_where_it_is_awaited(use: Callable[[Any], Any], says: str) -> None:
    ctx, wire = made(AsyncContext)

    async def used() -> None:
        await use(ctx)

    with pytest.raises(TypeError) as caught:
        asyncio.run(used())
    assert (str(caught.value), wire.sent) == (says, [])


@pytest.mark.parametrize("number", [math.nan, math.inf, 10**400])
def test_a_number_that_no_float_holds_is_named_too(number: float) -> None:
    ctx, _ = made()
    with pytest.raises(ValueError, match=r"^fraction must be a finite number$"):
        ctx.progress("x", number)


def test_tools_are_removed_by_name() -> None:
    with pytest.raises(TypeError, match=r"^name must be a str, not list$"):
        Plugin("plain").remove_tool([])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_what_is_right_is_sent() -> None:
    ctx, wire = made()
    ctx.progress("x", 1)
    ctx.answer("q", {"days": [1, None]})
    assert wire.sent[0] == {"id": 7, "message": "x", "fraction": 1.0}
    assert json.loads(wire.sent[1]["choice"]) == {"days": [1, None]}


class Unsayable:
    def __repr__(self) -> str:
        raise LookupError("no words")


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("value", "written"),
    [
        pytest.param([1, {"a": None}], [1, {"a": None}], id="what JSON has"),
        pytest.param("it is \udc80", r"it is \udc80", id="a lone surrogate"),
        pytest.param({"at": 3 + 4j}, {"at": "(3+4j)"}, id="what JSON has not, inside"),
        pytest.param(CYCLE, "{'a': {...}}", id="a value that contains itself"),
        pytest.param(deep(100_000), "<dict>", id="a value without a `repr`"),
        pytest.param(Unsayable(), "<Unsayable>", id="a `repr` that raises"),
        pytest.param(
            range(10**30), "range(0, 1000000000000000000000000000000)", id="an endless one"
        ),
        pytest.param({object: 1}, {"<class 'object'>": 1}, id="a key that is no text"),
        pytest.param(slice("y" * 2_000), f"slice(None, '{'y' * 987}...", id="a long `repr`"),
    ],
)
def test_a_log_call_writes_what_can_be_written(value: Any, written: Any) -> None:
    ctx, wire = made()
    ctx.log("info", "m", value=value, other=[1])
    [line] = wire.sent
    assert line == {"level": "info", "message": "m", "fields": {"value": written, "other": [1]}}


@pytest.mark.parametrize(
    ("level", "message"), [(3, 4), (None, CYCLE), (["info"], {"a": object}), (Unsayable(),) * 2]
)
def test_a_log_call_with_a_wrong_type_is_written(level: Any, message: Any) -> None:
    ctx, wire = made()
    ctx.log(level, message)
    [line] = wire.sent
    shown = [
        f"<{type(one).__name__}>" if one.__class__ is Unsayable else repr(one)
        for one in (level, message)
    ]
    assert [line["level"], line["message"]] == shown


def test_a_log_line_that_is_too_large_is_cut() -> None:
    ctx, wire = made()
    ctx.log("x" * 200_000, "y" * 200_000, value=CYCLE)
    [line] = wire.sent
    assert [len(line["level"]), len(line["message"])] == [10_000, 10_000]
    assert list(line["fields"]) == ["left_out"]


def test_a_log_call_before_the_plugin_runs_fails_as_little(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log: Any = BaseHost().log
    log("info", "m", value=CYCLE, other=Unsayable())
    log(3, None)
    assert capsys.readouterr().err == (
        "info: m {'value': {'a': {...}}, 'other': <Unsayable>}\n3: None\n"
    )
