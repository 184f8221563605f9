"""Plugin to host: each method; what is refused by its size."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from sliphook import HostError
from sliphook_sdk.protocol.limits import LIMIT_BY_METHOD

from .says import limit, says
from .wire import BY_HAND, NO_ARGUMENTS, Fields, Wire, host_of, turn_of

USES = ["notify", "tools", "inject", "interrupt", "submit"]


def padded(size: int, **fields: Any) -> bytes:
    """A message on a line whose JSON has so many bytes, by a field that does not count."""
    bare = len(json.dumps({"jsonrpc": "2.0", **fields, "pad": ""}))
    body = json.dumps({"jsonrpc": "2.0", **fields, "pad": "x" * (size - bare)})
    assert len(body) == size
    return body.encode() + b"\n"


# -- grants


@says(
    "A plugin MUST list a method that `needs` a grant in its manifest's `uses`, and the user accepts"
    " it;",
    "otherwise the host answers -32003. The host answers requests also while the plugin is inside a"
    " hook.",
)
async def test_grants() -> None:
    wire = Wire(uses=["notify"], hears=["stop"], answers={"hook/stop": BY_HAND})
    async with turn_of(wire) as (turn, _), trio.open_nursery() as nursery:
        nursery.start_soon(turn.stop)
        hook = await wire.hears("hook/stop")
        assert (await wire.ask("host/notify", 1, level="info", message="x"))["result"] == {}
        error = (await wire.ask("host/tools", 2, tools=[]))["error"]
        assert error == {
            "code": -32003,
            "message": "host/tools needs 'tools' in the manifest's uses",
        }
        wire.send(id=hook["id"], result=None)
    wire = Wire(uses=["notify"], grants=frozenset())
    async with host_of(wire):
        error = (await wire.ask("host/notify", 1, level="info", message="x"))["error"]
        assert error == {
            "code": -32003,
            "message": "the user has not granted 'notify' to probe; to grant it: sliphook config"
            " probe --grant notify",
        }


@says(
    "It answers each but `host/ask` as soon as it has read it: no model or other plugin is waited"
    " for."
)
async def test_requests_are_answered_at_once(autojump_clock: MockClock) -> None:
    """The other plugin, which is told of the alert, does not read; a model is at work."""
    wire = Wire(uses=USES)
    other = Wire("other", hears=["notification", "turn_end"])
    async with host_of(wire, other) as (host, _), host.session() as session:
        here = session.session_id
        other.reading = trio.Event()
        began = trio.current_time()
        assert "result" in await wire.ask("host/notify", 1, level="info", message="x" * 60_000)
        assert "result" in await wire.ask("host/tools", 2, tools=[{"name": "new"}])
        assert "result" in await wire.ask("host/inject", 3, session_id=here, text="x")
        async with session.turn("x"):
            wire.send(
                id=4, method="host/interrupt", params={"session_id": here, "reason": "enough"}
            )
            with trio.CancelScope(shield=True):
                assert (await wire.reply(4))["result"] == {"interrupted": True}
        assert trio.current_time() == began
        other.reading.set()


# -- each method


@says(
    "A field whose text has several lines, such as a traceback, is shown line by line below the"
    " message, and each of its lines counts as one ([Limits](#limits)).",
    "Plain lines on standard error go to the same log, without a level.",
)
async def test_log() -> None:
    wire = Wire()
    async with host_of(wire) as (_, seen):
        fields = {"entries": 12, "trace": "one\n  two\n"}
        note = {"level": "warning", "message": "failed", "fields": fields}
        wire.send(method="host/log", params=note)
        await wire.is_read()
        wire.process.complain("plain")
    # the rest of standard error is read at the end
    assert seen.lines("warning") == ['failed {"entries":12}', "  one", "    two"]
    assert seen.lines("stderr") == ["plain"]


@says(
    "A `level` that is unknown or absent counts as the nearest, or `info`; without a text as"
    " `message` the notification is left out; the host says each once in the log.",
)
async def test_log_lines_that_do_not_quite_fit() -> None:
    wire = Wire()
    async with host_of(wire) as (_, seen):
        for level in ("warn", "loud", None):
            wire.send(method="host/log", params={"level": level, "message": str(level)})
        wire.send(method="host/log", params={"message": "none"})
        wire.send(method="host/log", params={"level": "error", "message": 7})
        wire.send(method="host/log", params={"level": "error"})
        await wire.is_read()
    assert seen.lines("warning") == ["warn"]
    assert seen.lines("info") == ["loud", "None", "none"]
    assert seen.lines("error") == []
    assert any("level" in line for line in seen.lines())
    assert any("message" in line for line in seen.lines())
    assert len(seen.lines()) < 6


@says(
    "The list replaces the tools of that scope; if `session_id` is null, those of the manifest.",
    "Either all of them take effect, or none if one is refused (-32602).",
    "Tools of a session are removed when the session ends.",
)
async def test_tools() -> None:
    wire = Wire(uses=["tools"], tools=[{"name": "old"}])
    async with host_of(wire) as (host, _):
        async with host.session() as session:
            here = session.session_id

            def names() -> list[str]:
                return sorted(tool.name for tool in host.tools(here))

            await wire.ask("host/tools", 1, session_id=here, tools=[{"name": "here"}])
            assert names() == ["here", "old"]
            await wire.ask("host/tools", 2, session_id=None, tools=[{"name": "new"}])
            assert names() == ["here", "new"]
            for number, refused in enumerate(({"name": "a b"}, {"name": "x", "timeout_s": 0})):
                tools = [{"name": "fine"}, refused]
                reply = await wire.ask("host/tools", f"r-{number}", tools=tools)
                assert reply["error"]["code"] == -32602
            assert names() == ["here", "new"]
        assert [tool.name for tool in host.tools(here)] == ["new"]


@says(
    "A `turn_id` that is no longer open interrupts nothing.",
    "The plugin's `reason` is written to its log; `agent_loop_stopped` carries the reason `plugin`.",
)
async def test_interrupt() -> None:
    wire = Wire(uses=["interrupt"], hears=["agent_loop_stopped"])
    async with host_of(wire) as (host, seen), host.session() as session:
        here = session.session_id
        async with session.turn("x") as turn:
            for id, turn_id, interrupted in ((1, "t-0", False), (2, turn.turn_id, True)):
                params: Fields = {"session_id": here, "turn_id": turn_id, "reason": "no budget"}
                wire.send(id=id, method="host/interrupt", params=params)
                with trio.CancelScope(shield=True):
                    reply = await wire.reply(id)
                assert reply["result"] == {"interrupted": interrupted}
        assert turn.interrupted
        (stopped,) = wire.params("event/agent_loop_stopped")
        assert stopped["reason"] == "plugin"
        assert seen.lines() == ["interrupts the turn: no budget"]


# -- limits of requests


@limit("text of one `host/inject`", "injected texts that wait")
async def test_limits_of_inject() -> None:
    wire = Wire(uses=["inject"])
    async with host_of(wire) as (host, _), host.session() as session:
        here = session.session_id
        texts = ["x" * 65_536, *["x"] * 15, "x", "x" * 65_537]
        codes: list[int | None] = []
        for number, text in enumerate(texts):
            reply = await wire.ask("host/inject", f"i-{number}", session_id=here, text=text)
            codes.append(reply.get("error", {}).get("code"))
        assert codes == [None] * 16 + [-32004, -32602]


@limit("`host/notify`")
async def test_limit_of_notify(autojump_clock: MockClock) -> None:
    wire = Wire(uses=["notify"])
    async with host_of(wire):
        codes: list[int | None] = []
        for number in range(11):
            reply = await wire.ask("host/notify", f"n-{number}", level="info", message="x")
            codes.append(reply.get("error", {}).get("code"))
        assert codes == [None] * 10 + [-32004]
        await trio.sleep(60)
        assert "result" in await wire.ask("host/notify", "later", level="info", message="x")


@limit("one `host/log`")
async def test_limits_of_a_log_message(autojump_clock: MockClock) -> None:
    wire = Wire()
    note: Fields
    async with host_of(wire) as (_, seen):
        for lines in (49, 50):
            text = "\n".join(["line"] * lines)
            note = {"level": "info", "message": str(lines), "fields": {"text": text}}
            wire.send(method="host/log", params=note)
        await wire.is_read()
        await trio.sleep(1)
        for count in (32, 33):
            fields = {f"f{number}": 0 for number in range(count)}
            wire.send(method="host/log", params={"level": "debug", "message": "", "fields": fields})
        await wire.is_read()
        for size in (2_000, 2_001):
            text = "x" * size
            note = {"level": "warning", "message": text, "fields": {"text": f"{text}\n"}}
            wire.send(method="host/log", params=note)
        for size in (489, 490):  # 11 more are the braces, the name and the quotes
            note = {"level": "error", "message": "", "fields": {"text": "x" * size}}
            wire.send(method="host/log", params=note)
        await wire.is_read()
    whole, cut = "x" * 2_000, "x" * 1_999 + "…"
    assert seen.lines("warning") == [whole, f"  {whole}", cut, f"  {cut}"]
    beside = '{"text":"' + "x" * 489
    assert seen.lines("error") == [f' {beside}"}}', f" {beside}x…"]
    info = seen.lines("info")
    assert info[:50] == ["49", *["  line"] * 49]
    assert info[50:] == ["50", *["  line"] * 48, "  [cut: 2 more lines]"]
    assert ["more fields" in line for line in seen.lines("debug")] == [False, True]


@limit("the `message` of `host/notify`; of `$/progress`")
async def test_limits_of_what_people_are_shown() -> None:
    wire = Wire(uses=["notify"], tools=[{"name": "mine"}], answers={"tool/call": BY_HAND})
    async with turn_of(wire) as (turn, seen), trio.open_nursery() as nursery:
        for size in (2_000, 2_001):
            await wire.ask("host/notify", f"n-{size}", level="info", message="x" * size)
        nursery.start_soon(turn.call_tool, "mine", NO_ARGUMENTS)
        call = await wire.hears("tool/call")
        for size in (200, 201):
            wire.send(method="$/progress", params={"id": call["id"], "message": "x" * size})
        wire.send(id=call["id"], result="done")
    assert [line for _, line in seen.notices] == ["x" * 2_000, "x" * 1_999 + "…"]
    assert [line for line, _ in seen.progress] == ["x" * 200, "x" * 199 + "…"]


@limit("lines of `host/log` and `$/progress`, those with `text` not counted")
async def test_limit_of_lines(autojump_clock: MockClock) -> None:
    wire = Wire()
    note = {"jsonrpc": "2.0", "method": "host/log", "params": {"level": "info", "message": "x"}}
    async with host_of(wire) as (_, seen):
        await wire.pour((json.dumps(note).encode() + b"\n") * 101)
        await wire.is_read()
        assert len(seen.lines("info")) == 100
        await trio.sleep(1)
        await wire.pour(json.dumps(note).encode() + b"\n")
        await wire.is_read()
    assert len(seen.lines("info")) == 101
    assert [line for line in seen.lines() if line.startswith("1 of its lines")] != []


@limit("requests of one plugin under way")
async def test_limit_of_requests_under_way() -> None:
    """They are under way until the host has written the replies, so only if it does not read."""
    wire = Wire(hears=["notification"])
    async with host_of(wire) as (host, _seen), host.session() as session:
        wire.reading = trio.Event()
        for _ in range(40):
            session.notification("info", "x" * 10_000, "agent")
        for number in range(65):
            wire.send(id=f"r-{number}", method="host/unknown")
        await trio.testing.wait_all_tasks_blocked()
        wire.reading.set()
        codes = [(await wire.reply(f"r-{number}"))["error"]["code"] for number in range(65)]
    assert codes == [-32601] * 64 + [-32004]


@limit("violations in the life of a process")
async def test_limit_of_violations() -> None:
    wire = Wire()
    async with host_of(wire) as (_, seen):
        for number in range(100):
            wire.send(id=10_000 + number, result=None)
        await wire.is_read()
        wire.send(id=20_000, result=None)
        await wire.restarts()
    assert "more than 100 violations" in seen.problems[0]


@limit("an id that is a string")
async def test_limit_of_an_id() -> None:
    wire = Wire()
    async with host_of(wire):
        assert (await wire.ask("x", "i" * 128))["error"]["code"] == -32601
        wire.send(id="i" * 129, method="x")
        assert (await wire.reply(None))["error"]["code"] == -32600


# -- limits of messages


@pytest.mark.parametrize(
    ("method", "size"),
    [
        ("host/inject", 512 * 1024),
        ("host/submit", 512 * 1024),
        ("host/tools", 512 * 1024),
        ("host/notify", 64 * 1024),
        ("host/unknown", 64 * 1024),
    ],
)
@limit(
    "for `host/inject`, `host/submit`",
    "for the manifest, `host/tools`",
    "for `host/log`, `host/notify`, `$/progress`, an error reply, any other message",
)
@says(
    "What is refused is not decoded, and nothing else of the plugin is lost:",
    "a request: -32602 with the same sentence;",
)
async def test_sizes_of_requests(method: str, size: int) -> None:
    wire = Wire(uses=USES)
    async with host_of(wire) as (_, _seen):
        for more, refused in ((0, False), (1, True)):
            await wire.pour(padded(size + more, id=f"s-{more}", method=method, params={}))
            message = (await wire.reply(f"s-{more}"))["error"]["message"]
            assert message.startswith(f"it has {size + 1:,} bytes") is refused
        if method in LIMIT_BY_METHOD:
            assert f"may have {size:,}: " in message
        await wire.is_read()


@pytest.mark.parametrize("method", ["host/log", "$/progress"])
@limit("for `host/log`, `host/notify`, `$/progress`, an error reply, any other message")
@says("a notification: it counts as a violation.")
async def test_sizes_of_notifications(method: str) -> None:
    wire = Wire()
    async with host_of(wire) as (_, seen):
        size = 64 * 1024
        params = {"level": "info", "message": "x"} if method == "host/log" else {"id": 1}
        for more in (0, 1):
            await wire.pour(padded(size + more, method=method, params=params))
        await wire.is_read()
        assert seen.lines("info") == ["x"] * (method == "host/log")
        (line,) = seen.lines()
        assert f"{size + 1:,} bytes" in line


@limit(
    "for the result of a tool, the result of a command, the answer to a hook",
    "for `host/log`, `host/notify`, `$/progress`, an error reply, any other message",
)
@says("a reply: the host's request fails with a sentence that names the limit;")
async def test_sizes_of_replies() -> None:
    mib = 1024 * 1024
    wire = Wire(hears=["stop"], tools=[{"name": "mine"}], commands=[{"name": "go"}])
    wire.answers |= dict.fromkeys(("hook/stop", "tool/call", "command/run"), BY_HAND)
    async with (
        host_of(wire) as (host, seen),
        host.session() as session,
        session.turn("x") as turn,
    ):

        async def answered(do: Callable[[], Awaitable[object]], size: int, **reply: Any) -> Any:
            known = len(wire.got)
            found: list[Any] = []

            async def go() -> None:
                try:
                    found.append(await do())
                except HostError as error:
                    found.append(str(error))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(go)
                await wire.until(lambda: wire.got[known:])
                await wire.pour(padded(size, id=wire.got[known]["id"], **reply))
            return found[0]

        async def tool() -> str:
            return (await turn.call_tool("mine", {})).result.content

        async def command() -> str:
            return await session.run_command("go", "")

        assert await answered(tool, mib, result="x") == "x"
        # what is larger than any message may be is not read far enough to tell which it is
        most = "it has 1,048,577 bytes, at most 1,048,576 are allowed"
        assert most in await answered(tool, mib + 1, result="x")
        assert await answered(command, mib, result={"text": "x"}) == "x"
        refused = await answered(command, mib + 1, result={"text": "x"})
        assert most in refused
        assert await answered(turn.stop, mib, result={"continue_with": "x"}) == "x"
        assert await answered(turn.stop, mib + 1, result={"continue_with": "x"}) is None
        assert most in seen.problems[-1]
        many = [None] * 20_000
        result = {"content": "x", "data": many}
        assert "more than 20,000 values" in await answered(tool, 200_000, result=result)
        error = {"code": 1, "message": "short"}
        assert "short (1)" in await answered(tool, 64 * 1024, error=error)
        assert "shorten its message" in await answered(tool, 64 * 1024 + 1, error=error)


@limit("for the manifest, `host/tools`")
async def test_the_size_of_a_manifest() -> None:
    for more, state in ((0, "ready"), (1, "failed")):
        wire = Wire()
        size = 512 * 1024 + more
        reply = padded(size, id=1, result=wire.manifest)
        wire.answers["initialize"] = BY_HAND

        async def answer(of: Wire = wire, data: bytes = reply) -> None:
            await of.hears("initialize")
            await of.pour(data)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(answer)
            async with host_of(wire) as (host, _):
                assert host.plugins[0].state == state
                assert more == 0 or "declare fewer tools" in (host.plugins[0].why or "")


@limit(
    "nesting of a plugin's message",
    "one number in a plugin's message",
    "numbers in a plugin's message with an exponent of three digits, with one behind more than 18"
    " characters, or with a point and more than 32 characters",
)
@says(
    "Of a plugin's message the bytes of the whole JSON count, and the values in it: each object,"
    " array, string, number, `true`, `false` and `null`, and each name in an object; at most 20,000"
    " in any message.",
    "In a message of up to 1,024 bytes values and slow numbers are not counted.",
)
async def test_what_is_counted_in_a_message() -> None:
    wire = Wire(uses=USES)

    async def code(params: str, number: int, pad: str = " " * 1_024) -> str:
        text = (
            f'{{"jsonrpc":"2.0","id":"c-{number}","method":"host/notify","params":{params}{pad}}}'
        )
        await wire.pour(text.encode() + b"\n")
        return str((await wire.reply(f"c-{number}"))["error"]["message"])

    fits = "the params do not fit"
    async with host_of(wire):
        # the message and its params are two levels
        deep = "[" * 126 + "]" * 126
        assert fits in await code('{"a":' + deep + "}", 1)
        assert "nested over 128 levels" in await code('{"a":[' + deep + "]}", 2)
        assert fits in await code('{"a":' + "1" * 256 + "}", 3)
        assert "256 characters" in await code('{"a":' + "1" * 257 + "}", 4)
        many = ",".join(["1e100"] * 100)
        assert fits in await code('{"a":[' + many + "]}", 5)
        assert "exponent" in await code('{"a":[1e100,' + many + "]}", 6)
        for slow in ("1" * 19 + "e9", "1." + "1" * 31):
            assert "than a double" in await code('{"a":[' + slow + "," + many + "]}", 6)
        assert "256 characters" in await code('{"a":' + "1" * 257 + "}", 7, pad="")
        many = ",".join(["1e100"] * 101)
        assert fits in await code('{"a":[' + many + "]}", 10, pad="")
        # the message, four names, three texts, params, its name, and the list are 11
        values = ",".join(["null"] * 989)
        assert fits in await code('{"a":[' + values + "]}", 8)
        assert "1,001 values" in await code('{"a":[null,' + values + "]}", 9)


@says(
    "The id of a message over 1 MiB is looked for in its first and last 512 bytes: write it before"
    " the result, or behind it. If it is not found there, the message counts as a violation, and what"
    " waits for it times out.",
)
async def test_the_id_of_a_large_message(autojump_clock: MockClock) -> None:
    wire = Wire(tools=[{"name": "mine"}], answers={"tool/call": BY_HAND})
    large = json.dumps("x" * 1024 * 1024)
    async with turn_of(wire) as (turn, seen):
        for text, status in (
            (f'{{"jsonrpc":"2.0","id":@ID@,"result":{large}}}', "error"),
            (f'{{"jsonrpc":"2.0","error":null,"id":@ID@,"result":{large}}}', "error"),
            (f'{{"jsonrpc":"2.0","result":{large},"id":@ID@}}', "error"),
            (f'{{"result":{large},"id":@ID@,"error":null,"jsonrpc":"2.0"}}', "error"),
            (f'{{"jsonrpc":"2.0","result":{large},"id":@ID@,"more":{large}}}', "timed_out"),
        ):
            async with trio.open_nursery() as nursery:
                known = len(wire.sent("tool/call"))
                found: list[Any] = []

                async def call(into: list[Any] = found) -> None:
                    into.append(await turn.call_tool("mine", {}))

                nursery.start_soon(call)
                request = await wire.hears("tool/call", known + 1)
                await wire.pour(text.replace("@ID@", str(request["id"])).encode() + b"\n")
            assert found[0].status == status
        refused = [line for line in seen.lines() if line.startswith("a message was refused")]
        assert len(refused) == 5


@limit("one message of a plugin, refused or not")
async def test_the_largest_message_that_is_passed_over() -> None:
    size = 64 * 1024 * 1024
    for more in (0, 1):
        wire = Wire()
        async with host_of(wire) as (_, seen):
            await wire.pour(b"Content-Length: %d\r\n\r\n" % (size + more))
            if more == 0:
                piece = b" " * (1024 * 1024)
                for _ in range(64):
                    await wire.pour(piece)
                await wire.is_read()
                assert wire.starts == 1
            else:
                await wire.restarts()
                assert "a message over 67,108,864 bytes" in seen.problems[0]


# -- limits of declarations


def of_tools(count: int) -> Fields:
    return {"tools": [{"name": f"t{number}"} for number in range(count)]}


def of_schemas(*sizes: int) -> Fields:
    """Tools whose schemas have so many bytes."""
    bare = len('{"description":""}')
    return {
        "tools": [
            {"name": f"t{number}", "input_schema": {"description": "x" * (size - bare)}}
            for number, size in enumerate(sizes)
        ]
    }


def of_parts(count: int) -> Fields:
    """Tools whose schemas have so many schemas in them."""
    whole, rest = divmod(count, 200)
    counts = [200] * whole + [rest] * bool(rest)
    return {
        "tools": [
            {
                "name": f"t{number}",
                "input_schema": {"properties": {f"p{one}": {} for one in range(of - 1)}},
            }
            for number, of in enumerate(counts)
        ]
    }


def of_subscriptions(event: str, count: int) -> Fields:
    return {"subscriptions": [{"event": event}] * count}


def of_patterns(count: int, chars: int = 1) -> Fields:
    return {"subscriptions": [{"event": "stop", "match": {"platform": ["x" * chars] * count}}]}


@pytest.mark.parametrize(
    ("taken", "refused", "says"),
    [
        (of_subscriptions("stop", 256), of_subscriptions("stop", 257), "at most 256"),
        (of_subscriptions("turn_end", 4), of_subscriptions("turn_end", 5), "at most 4"),
        (of_subscriptions("subagent_stop", 4), of_subscriptions("subagent_stop", 5), "at most 4"),
        (of_subscriptions("submission_end", 4), of_subscriptions("submission_end", 5), "at most 4"),
        (
            of_subscriptions("agent_loop_stopped", 4),
            of_subscriptions("agent_loop_stopped", 5),
            "at most 4",
        ),
        (of_subscriptions("post_tool_call", 8), of_subscriptions("post_tool_call", 9), "at most 8"),
        (of_patterns(1_000), of_patterns(1_001), "at most 1,000"),
        (of_patterns(8, 1_024), of_patterns(1, 8_193), "at most 8,192"),
        (of_tools(512), of_tools(513), "at most 512"),
        (
            {"env": [{"name": f"A{n}"} for n in range(64)]},
            {"env": [{"name": f"A{n}"} for n in range(65)]},
            "at most 64",
        ),
        (
            {"uses": ["route"], "servers": [f"s{n}.lan" for n in range(16)]},
            {"uses": ["route"], "servers": [f"s{n}.lan" for n in range(17)]},
            "at most 16",
        ),
        (of_schemas(65_536), of_schemas(65_537), "65,537 bytes, over 65,536"),
        (
            {"config_schema": {"description": "x" * 65_518}},
            {"config_schema": {"description": "x" * 65_519}},
            "65,537 bytes, over 65,536",
        ),
        (of_parts(1_000), of_parts(1_001), "more than 1,000 schemas"),
    ],
    ids=[
        "all",
        "turn_end",
        "subagent_stop",
        "submission_end",
        "agent_loop_stopped",
        "post_tool_call",
        "patterns",
        "characters",
        "tools",
        "variables",
        "servers",
        "schema",
        "config",
        "parts",
    ],
)
@limit(
    "subscriptions of a plugin",
    "of these to `post_tool_call`; to one of `agent_loop_stopped`, `submission_end`,"
    " `turn_end`, `subagent_stop`",
    "patterns in all its subscriptions",
    "tools of a plugin in one scope",
    "environment variables that a plugin wants",
    "`servers` that a plugin wants",
    "`input_schema` of one tool, and `config_schema`",
    "schemas in the tools of one scope",
)
@says("what is over its [limit](#limits) fails too.")
async def test_limits_of_a_manifest(taken: Fields, refused: Fields, says: str) -> None:
    for manifest, state in ((taken, "ready"), (refused, "failed")):
        async with host_of(Wire(**manifest)) as (host, _):
            assert host.plugins[0].state == state
            assert state == "ready" or says in (host.plugins[0].why or "")
