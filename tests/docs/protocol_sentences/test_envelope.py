"""Envelope, error codes, and the table of who may send what and when."""

# An interrupt leaves a turn's block early; these tests know where it does.
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
import trio.testing
from trio.testing import MockClock

from tests.docs.test_protocol_examples import ERRORS

from .says import limit, says
from .wire import BY_HAND, NO_ARGUMENTS, Fields, Wire, host_of, own, turn_of

EXAMPLES = {one["error"]["code"]: one["error"] for one in map(json.loads, ERRORS)}
USES = ["notify", "tools", "inject", "interrupt"]


def request(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": "host/notify", **fields}).encode()


@pytest.mark.parametrize("params", ["", ',"params":null', ',"params":{}'])
@says("if a plugin leaves it out or sends null, it means `{}`.", "and gets one reply.")
async def test_params_that_are_left_out(params: str) -> None:
    wire = Wire(uses=["notify"])
    async with host_of(wire):
        wire.write('{"jsonrpc":"2.0","id":"a","method":"host/notify"' + params + "}\n")
        error = (await wire.reply("a"))["error"]
        await wire.is_read()
        assert len([one for one in wire.got if one.get("id") == "a"]) == 1
    assert error["code"] == -32602
    assert "missing required field `level`" in error["message"]


@says("Each direction has its own ids: the host's 7 and the plugin's 7 are unrelated.")
async def test_ids_of_both_sides() -> None:
    wire = Wire(hears=["stop"], answers={"hook/stop": BY_HAND})
    async with turn_of(wire) as (turn, _), trio.open_nursery() as nursery:
        nursery.start_soon(turn.stop)
        asked = await wire.hears("hook/stop")
        assert (await wire.ask("any", asked["id"]))["error"]["code"] == -32601
        wire.send(id=asked["id"], result={"continue_with": "more"})


@pytest.mark.parametrize("id", ["null", "1.5", "true", "[]"])
@says(
    "A plugin's ids MUST be integers or strings.",
    "A request with null, a fraction or a boolean as its id is answered with -32600 and the id"
    " null, and counts as a violation.",
)
async def test_ids_that_are_none(id: str) -> None:
    wire = Wire()
    async with host_of(wire) as (_, seen):
        wire.write('{"jsonrpc":"2.0","id":' + id + ',"method":"x"}\n')
        error = (await wire.reply(None))["error"]
        assert error["code"] == -32600
        assert error["message"] == f"an id is an integer or a string, not {id}"
        assert seen.lines() == [error["message"]]


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ('{"id":1,"method":"x"}', 'a message without "jsonrpc":"2.0"'),
        ('{"jsonrpc":"1.0","id":1,"method":"x"}', '"jsonrpc" is not "2.0" but'),
        ('{"jsonrpc":"2.0"}', "a message with neither a method nor an id"),
        ('{"jsonrpc":"2.0","id":1,"method":"x","params":[]}', "are not an object"),
        ('{"jsonrpc":"2.0","id":1,"method":"x","result":1}', "both a method and a result"),
        ('{"jsonrpc":"2.0","id":1}', "neither a method, a result nor an error"),
    ],
)
@says(
    "So is, and does, other JSON that is no valid message; if it has an id, that is answered.",
)
async def test_json_that_is_no_message(message: str, why: str) -> None:
    wire = Wire()
    async with host_of(wire) as (_, seen):
        wire.write(message + "\n")
        await wire.is_read()
        (reply,) = [one for one in wire.got if one.get("error", {}).get("code") == -32600]
        assert reply["id"] == (1 if '"id":1' in message else None)
        assert why in reply["error"]["message"]
        assert why in seen.lines()[0]


@says(
    "A plugin MUST NOT send a batch (an array of messages): it is answered with -32600.",
)
async def test_a_batch() -> None:
    wire = Wire()
    async with host_of(wire) as (_, seen):
        batch = b"[" + request(id=1) + b"]"
        wire.write(b"Content-Length: %d\r\n\r\n%b\n" % (len(batch), batch))
        assert (await wire.reply(None))["error"] == EXAMPLES[-32600]
        assert seen.lines() == [EXAMPLES[-32600]["message"]]
        wire.write(batch + b"\n")
        await wire.is_read()
        assert [one["error"] for one in wire.got if one.get("id", 0) is None] == [
            EXAMPLES[-32600]
        ] * 2


@says(
    "A message that has nothing but the id of a request under way is taken for its reply, which then"
    " fails, since some libraries leave out a result that is empty.",
)
async def test_a_reply_without_a_result() -> None:
    wire = Wire(tools=[{"name": "mine"}], answers={"tool/call": b'{"jsonrpc":"2.0","id":@ID@}\n'})
    async with turn_of(wire) as (turn, _):
        outcome = await turn.call_tool("mine", {})
    assert outcome.status == "error"
    assert "neither a method, a result nor an error" in outcome.result.content


@says(
    "A plugin MUST NOT use the id of a request again before the reply to it has come.",
    "Such a request gets no reply, since a reply would settle the first one.",
    "It is logged, and the third such request ends the connection.",
    "It has come when the host has written it, which it does at once if the plugin reads.",
)
async def test_an_id_that_is_still_under_way() -> None:
    wire = Wire(hears=["notification"])
    async with host_of(wire) as (host, seen), host.session() as session:
        for more, starts in ((2, 1), (1, 2)):
            wire.reading = trio.Event()
            for _ in range(40):  # as it does not read, no reply can be written
                session.notification("info", "x" * 10_000, "agent")
            wire.write((request(id="a") + b"\n") * (1 + more))
            await trio.testing.wait_all_tasks_blocked()
            wire.reading.set()
            if starts == 1:
                await wire.is_read()
                replies = [one for one in wire.got if one.get("id") == "a"]
                assert len(replies) == 1
                assert seen.lines() == ["the request id 'a' is still in flight"] * 2
            else:
                await wire.restarts()
    assert "the request id 'a' is still in flight" in seen.problems[0]


async def test_nothing_with_an_id_under_way_is_answered() -> None:
    """What is refused for another reason too would settle the first request as well."""
    never: tuple[str, ...] = (
        '{"jsonrpc":"2.0","id":"a","method":"host/notify","params":{"x":1,"x":2}}',
        '{"jsonrpc":"2.0","id":"a"}',
    )
    wire = Wire(uses=["ask"])

    async def asker(_: object) -> None:
        await trio.sleep_forever()

    async with host_of(wire, asker=asker) as (host, seen), host.session() as session:
        async with session.turn("x"):
            wire.send(
                id="a", method="host/ask", params={"session_id": session.session_id, "prompt": "?"}
            )
            for message in never:
                wire.write(message + "\n")
            await wire.is_read()
            assert [one for one in wire.got if one.get("id") == "a"] == []
            assert seen.lines() == ["the request id 'a' is still in flight"] * 2
        assert (await wire.reply("a"))["result"]["outcome"] == "interrupted"


@says(
    "A plugin MUST NOT reply to a request twice.",
    "A reply to an id that is already settled (answered, cancelled, timed out) is dropped.",
    "A reply to an id that was never sent is a violation.",
    "A reply to a fire whose turn has ended changes nothing.",
)
async def test_replies_that_settle_nothing() -> None:
    twice = b'{"jsonrpc":"2.0","id":@ID@,"result":"first"}\n' * 2
    wire = Wire(tools=[{"name": "mine"}], answers={"tool/call": twice})
    async with host_of(wire) as (host, seen), host.session() as session:
        async with session.turn("x") as turn:
            assert (await turn.call_tool("mine", {})).result.content == "first"
        async with session.turn("y") as turn, trio.open_nursery() as nursery:
            wire.answers["tool/call"] = BY_HAND
            nursery.start_soon(turn.call_tool, "mine", NO_ARGUMENTS)
            call = await wire.hears("tool/call", 2)
            session.interrupt()
        wire.send(id=call["id"], result="late")
        await wire.is_read()
        assert seen.lines() == []
        wire.send(id=999, result=None)
        await wire.is_read()
        assert seen.lines() == ["a reply to the request 999, which was never sent"]


@says(
    "A plugin MUST answer a request that it does not know with -32601, and MUST ignore a"
    " notification that it does not know.",
    "So does the host, and says once in the plugin's log which notification it ignores.",
)
async def test_what_the_host_does_not_know() -> None:
    wire = Wire()
    async with host_of(wire) as (_, seen):
        for method in ("host/nofity", "host/lgo", "host/lgo", "mine", "x" * 60_000):
            wire.send(method=method)
        assert (await wire.ask("host/nofity"))["error"] == EXAMPLES[-32601]
        shown = f"'{'x' * 59}…'"
        assert seen.lines() == [
            "the notification 'host/nofity' is unknown, and ignored; did you mean host/notify?",
            "the notification 'host/lgo' is unknown, and ignored; did you mean host/log?",
            "the notification 'mine' is unknown, and ignored",
            f"the notification {shown} is unknown, and ignored",
        ]
        for number in range(1_000):
            wire.send(method=f"mine/{number}")
            wire.send(method="$/cancelRequest", params={"id": number})
        await wire.is_read()
        assert len(seen.lines()) == 32, "and no more is kept of what a plugin makes up"


@says(
    "A plugin MUST ignore fields that it does not know, and take a value of an open set that it does"
    ' not know for "something else": both sides may gain new ones.',
    "So does the host.",
    "Elsewhere the host tells the plugin's log of an unknown field, once for each kind, unless its"
    " name begins with `_`.",
)
async def test_fields_of_tomorrow() -> None:
    wire = Wire(uses=["notify"], tools=[{"name": "mine", "colour": "red"}], of_tomorrow={})
    wire.answers["tool/call"] = {"content": "fine", "colour": "red"}
    async with host_of(wire) as (host, seen), host.session() as session, session.turn("x") as turn:
        assert (await turn.call_tool("mine", {})).result.content == "fine"
        reply = await wire.ask("host/notify", level="info", message="hi", colour="red")
        assert reply["result"] == {}
        wire.send(id=1, method="any", colour="red")
        assert (await wire.reply(1))["error"]["code"] == -32601
        said = len(seen.lines())
        assert any("colour" in line for line in seen.lines())
        wire.answers["tool/call"] = {"content": "fine", "colour": "red", "_own": 1}
        await turn.call_tool("mine", {})
        assert len(seen.lines()) == said
        assert not any("_own" in line for line in seen.lines())


@says(
    "**Two places are strict**: answers to hooks, and subscriptions.",
    "A misspelt `decision` or `on_failure` would open a guard, so there an unknown field is an error"
    " that names the nearest field.",
    "`_meta` is free in both.",
    "Any other field is a failed answer, and so is an unknown field or a value of the wrong type.",
)
async def test_the_two_strict_places() -> None:
    free = {"event": "pre_tool_call", "_meta": {"any": 1}}
    wire = Wire(subscriptions=[free])
    async with turn_of(wire) as (turn, _):
        for answer, why in (
            ({"_meta": [1]}, ""),
            ({"decison": "deny"}, "did you mean decision?"),
            ({"decision": "no"}, "Invalid enum value 'no'"),
            ({"continue_with": "x"}, "pre_tool_call takes no continue_with"),
            ({"reason": 7}, "Expected `str | null`, got `int`"),
        ):
            wire.answers["hook/pre_tool_call"] = answer
            outcome = await turn.call_tool("own", {}, run=own)
            assert (outcome.status == "denied") is bool(why)
            assert why in outcome.result.content
    other = Wire("other", subscriptions=[{"event": "pre_tool_call", "on_failur": "open"}])
    async with host_of(other) as (host, _):
        assert (host.plugins[0].why or "").endswith("did you mean on_failure?")


@says(
    "null means the same as absent in every optional field, also in nested ones.",
    '`""` does not.',
    "A required field takes null only if its type says so.",
)
async def test_null() -> None:
    """Every optional field of every message is in tests/vectors/results.json."""
    absent = ("subscriptions", "tools", "commands", "uses", "env", "config_schema", "version")
    wire = Wire()
    wire.manifest.update(dict.fromkeys(absent))
    async with host_of(wire) as (host, _):
        assert host.plugins[0].state == "ready"
    subscription = dict.fromkeys(
        ("mode", "match", "timeout_s", "on_failure", "include", "replaces")
    )
    wire = Wire(
        subscriptions=[{**subscription, "event": "stop"}],
        tools=[{"name": "mine", "description": None, "input_schema": None, "timeout_s": None}],
    )
    async with turn_of(wire) as (turn, seen):
        for answer, text in (
            ({"decision": None, "continue_with": None}, None),
            ({"continue_with": ""}, ""),
        ):
            wire.answers["hook/stop"] = answer
            assert await turn.stop() == text
        assert seen.problems == []
        for result, status in (
            ({"content": "x", "is_error": None, "data": None}, "ok"),
            ({"content": None}, "error"),
        ):
            wire.answers["tool/call"] = result
            assert (await turn.call_tool("mine", {})).status == status


@says(
    "A plugin MUST NOT write a name twice in one object, at any depth, escapes resolved.",
    "A reply with one fails the host's request, and the text says which name it is.",
    "A request is answered with -32602, or with -32600 if the name stands twice in the message"
    " itself.",
    "A notification is not taken, and is a violation; so is a message with `id` twice.",
)
async def test_a_name_twice() -> None:
    wire = Wire(hears=["pre_tool_call"], tools=[{"name": "mine"}], uses=["notify"])
    async with turn_of(wire) as (turn, seen):
        twice = (
            b'{"jsonrpc":"2.0","id":@ID@,"result":{"decision":"deny","\\u0064ecision":"allow"}}\n'
        )
        wire.answers["hook/pre_tool_call"] = twice
        outcome = await turn.call_tool("own", {}, run=own)
        assert outcome.status == "denied"
        assert "it has the name 'decision' twice in one object" in outcome.result.content
        deep = b'{"jsonrpc":"2.0","id":@ID@,"result":{"content":"x","data":[{"a":1,"a":1}]}}\n'
        wire.answers |= {"hook/pre_tool_call": None, "tool/call": deep}
        assert "the name 'a' twice" in (await turn.call_tool("mine", {})).result.content
        note = '"method":"host/notify","params":{"level":"info","message":"x"'
        wire.write('{"jsonrpc":"2.0","id":"a",' + note + ',"level":"info"}}\n')
        assert (await wire.reply("a"))["error"]["code"] == -32602
        wire.write('{"jsonrpc":"2.0","id":"b",' + note + '},"method":"x"}\n')
        assert (await wire.reply("b"))["error"]["code"] == -32600
        known = len(seen.lines())
        wire.write('{"jsonrpc":"2.0",' + note.replace("notify", "log") + ',"level":"info"}}\n')
        wire.write('{"jsonrpc":"2.0","id":"c","id":"d",' + note + "}}\n")
        await wire.is_read()
        assert (seen.lines("info"), seen.notices) == ([], [])
        assert ["twice in one object" in line for line in seen.lines()[known:]] == [True, True]
        assert {"c", "d"} & {str(one.get("id")) for one in wire.got} == set()


@says(
    "Requests overlap.",
    "How many are under way at once is up to the agent; the host sets no number.",
    "A plugin MAY reply in any order;",
)
async def test_requests_overlap() -> None:
    wire = Wire(tools=[{"name": "mine"}], answers={"tool/call": BY_HAND})
    found: dict[str, str] = {}

    async def call(text: str) -> None:
        outcome = await turn.call_tool("mine", {"text": text})
        found[text] = outcome.result.content

    async with turn_of(wire) as (turn, _), trio.open_nursery() as nursery:
        texts = [f"text {number}" for number in range(200)]
        for text in texts:
            nursery.start_soon(call, text)
        await wire.hears("tool/call", 200)
        for message in reversed(wire.sent("tool/call")):
            wire.send(id=message["id"], result=message["params"]["arguments"]["text"])
    assert found == {text: text for text in texts}


@says("A plugin that has tools and hooks MUST answer hooks while a tool runs.")
async def test_a_hook_during_a_tool(autojump_clock: MockClock) -> None:
    """One that waits for its own tool denies other calls by its silence."""
    wire = Wire(hears=["pre_tool_call"], tools=[{"name": "mine"}], answers={"tool/call": BY_HAND})
    async with turn_of(wire) as (turn, _), trio.open_nursery() as nursery:
        nursery.start_soon(turn.call_tool, "mine", NO_ARGUMENTS)
        await wire.hears("tool/call")
        wire.answers["hook/pre_tool_call"] = BY_HAND  # it is busy
        other = await turn.call_tool("own", {}, run=own)
        nursery.cancel_scope.cancel()
    assert other.status == "denied"
    assert "no answer within 5 s" in other.result.content


@says(
    "An event has no reply, so the host does not know when its handler is done: the next event or"
    " hook may come while it still runs.",
    "An SDK MAY run handlers one after another or at the same time.",
    "A **notification** has no `id` and gets no reply.",
    "An **event** is a notification: the host tells the plugin and does not wait.",
)
async def test_events_are_not_waited_for() -> None:
    """The plugin does nothing after the event but read, as one whose handler still runs."""
    wire = Wire(hears=["turn_start", "user_prompt_submit"])
    async with turn_of(wire) as (turn, _):
        assert not (await turn.submit()).denied
        assert wire.methods()[-2:] == ["event/turn_start", "hook/user_prompt_submit"]
        assert "id" not in wire.sent("event/turn_start")[0]


@says("A hook's time goes on while it waits for such a handler, so it SHOULD NOT wait for one.")
async def test_an_event_s_handler_that_holds_up_a_hook(autojump_clock: MockClock) -> None:
    """The plugin is at the event for 6 s, and then at once has the answer."""
    wire = Wire(hears=["turn_start", "user_prompt_submit"])
    wire.answers["hook/user_prompt_submit"] = BY_HAND

    async def at_the_event() -> None:
        await wire.hears("event/turn_start")
        await trio.sleep(6)
        asked = wire.sent("hook/user_prompt_submit")[0]
        wire.send(id=asked["id"], result={"decision": "deny", "reason": "too late"})

    async with turn_of(wire) as (turn, seen), trio.open_nursery() as nursery:
        nursery.start_soon(at_the_event)
        began = trio.current_time()
        assert not (await turn.submit()).denied
        assert trio.current_time() - began == pytest.approx(5, abs=0.1)
    assert any("no answer within 5 s" in line for line in seen.problems)


# -- one error of each code


@says(
    "What the host and a plugin send, one of each code.",
    "The messages are for people, and may change; the codes may not.",
    "-32603 is a plugin's.",
)
async def test_the_hosts_errors_are_those_of_the_page() -> None:
    """-32600, -32601 and -32001 have their own tests."""
    wire = Wire(uses=["notify", "inject"])
    async with host_of(wire) as (host, _), host.session() as session:
        here = session.session_id
        long = "x" * 65_537
        assert (await wire.ask("host/inject", 1, session_id=here, text=long))["error"] == (
            EXAMPLES[-32602]
        )
        assert (await wire.ask("host/inject", 2, session_id="s-0", text=""))["error"] == (
            EXAMPLES[-32002]
        )
        asked = await wire.ask("host/interrupt", 3, session_id=here, reason="")
        assert asked["error"] == EXAMPLES[-32003]
        for number in range(10):
            reply = await wire.ask("host/notify", f"n-{number}", level="info", message="hi")
            assert reply["result"] == {}
        reply = await wire.ask("host/notify", "n-11", level="info", message="hi")
        assert reply["error"] == EXAMPLES[-32004]


@says(
    "A plugin MAY send -32700 with the id null before it ends, if it could not read a message: the"
    " host logs it as a violation, and does not send it itself.",
)
async def test_a_plugin_that_could_not_read() -> None:
    wire = Wire()
    async with host_of(wire) as (_, seen):
        wire.send(id=None, error=EXAMPLES[-32700])
        await wire.is_read()
        (line,) = seen.lines()
        assert "an error reply without a usable id" in line
        assert "no JSON" in line
        wire.write(b"Content-Length: 2\r\n\r\n{x")
        await wire.restarts()
        assert all(one.get("error", {}).get("code") != -32700 for one in wire.got)


# -- who may send what, and when


@says(
    "| before `initialize`: the process has just been started | nothing before `initialize` | as in"
    " the next line |",
    "| `initialize` sent: until the host has read the manifest | nothing, perhaps `exit` | the reply"
    " to `initialize`: the manifest. `host/log`: kept. Any request: -32001. `$/progress`: ignored |",
    "There is no `initialized` message: the plugin is ready when the host has read the manifest, and"
    " the host reads the manifest before it looks at the plugin's next message.",
    "The host's first message, sent once to each process;",
    "| state | the host sends | what the plugin sends, and what becomes of it |",
)
async def test_before_the_manifest(autojump_clock: MockClock) -> None:
    wire = Wire(uses=["notify"], hears=["session_start"], answers={"initialize": BY_HAND})

    async def talk() -> None:
        await wire.until(lambda: wire.got)
        wire.send(method="host/log", params={"level": "info", "message": "early"})
        wire.send(method="$/progress", params={"id": 1, "message": "slowly"})
        early = {"level": "info", "message": "x"}
        assert (await wire.ask("host/notify", 1, **early))["error"] == EXAMPLES[-32001]
        await trio.sleep(1)
        assert [one.get("method") for one in wire.got if "method" in one] == ["initialize"]
        # in one write: the manifest counts before the next message is looked at
        manifest = json.dumps({"jsonrpc": "2.0", "id": 1, "result": wire.manifest})
        wire.write(manifest.encode() + b"\n" + request(id=2, params=early) + b"\n")
        assert (await wire.reply(2))["result"] == {}

    async with trio.open_nursery() as nursery:
        nursery.start_soon(talk)
        async with host_of(wire) as (host, seen):
            assert host.plugins[0].state == "ready"
            await wire.reply(2)
    assert seen.lines("info") == ["early"]
    assert seen.progress == []
    assert wire.methods() == ["initialize", "shutdown", "exit"]


@says(
    "| ready: until `shutdown` | all of [host to plugin](#host-to-plugin) but `initialize` | a reply:"
    " settles its request. All of [plugin to host](#plugin-to-host), as far as it is granted, else"
    " -32003 |",
)
async def test_when_it_is_ready() -> None:
    wire = Wire(uses=USES, grants=frozenset(["notify"]), tools=[{"name": "mine"}])
    wire.answers["tool/call"] = "fine"
    async with host_of(wire) as (host, seen), host.session() as session, session.turn("x") as turn:
        here = session.session_id
        assert (await turn.call_tool("mine", {})).result.content == "fine"
        wire.send(method="host/log", params={"level": "info", "message": "logged"})
        assert "result" in await wire.ask("host/notify", 1, level="info", message="hi")
        refused: tuple[tuple[int, str, Fields], ...] = (
            (2, "host/tools", {"tools": []}),
            (3, "host/inject", {"session_id": here, "text": ""}),
            (4, "host/interrupt", {"session_id": here, "reason": ""}),
        )
        for id, method, params in refused:
            assert (await wire.ask(method, id, **params))["error"]["code"] == -32003
        assert seen.lines("info") == ["logged"]


@says(
    "| in shutdown: from `shutdown` to `exit` | replies; `$/cancelRequest` for `shutdown`, if there"
    " is no reply within 1.5 s | a reply to a request that is still under way counts. `host/log`,"
    " `host/notify`, `host/inject` and `host/interrupt`: as before, so that a handler of `turn_end`"
    " may ask. `host/tools`, `host/submit`, `host/ask` and `host/answer`: -32001 |",
    "| after `exit`: standard input is at its end | nothing | what was written before the process"
    " ended is read: replies count, `host/log` is kept. A request gets no reply |",
    "Any request may be [cancelled](#cancel-and-interrupt), `ping` and `shutdown` too: each has a"
    " timeout.",
    "A request that is still under way at `shutdown` MAY be answered until the process ends; what"
    " has no answer by then has failed: of a tool the model reads an error,",
    "It waits up to 1.5 s for what is queued and for the reply; then it sends `exit` and closes"
    " standard input.",
    "So at `exit` a plugin MAY leave out replies that it has not written yet; what it has written"
    " counts.",
)
@limit("answer to `shutdown`")
async def test_in_shutdown_and_after_exit(autojump_clock: MockClock) -> None:
    wire = Wire(
        tools=[{"name": name} for name in ("one", "two", "never")],
        answers={"tool/call": BY_HAND, "shutdown": BY_HAND},
        uses=[*USES, "submit", "approve", "ask"],
    )
    wire.stays = True
    found: Fields = {}

    async def call(name: str) -> None:
        found[name] = await turn.call_tool(name, {})

    async with (
        host_of(wire) as (host, seen),
        host.session() as session,
        session.turn("x") as turn,
        trio.open_nursery() as nursery,
    ):
        for name in ("one", "two", "never"):
            nursery.start_soon(call, name)
            await wire.hears("tool/call", 1 + len(wire.sent("tool/call")))
        ids = {one["params"]["name"]: one["id"] for one in wire.sent("tool/call")}
        nursery.start_soon(host.disable, "probe")
        shutdown = await wire.hears("shutdown")
        began = trio.current_time()
        wire.send(method="host/log", params={"level": "info", "message": "ending"})
        wire.send(id=ids["one"], result="in shutdown")
        wire.send(id=3, method="host/notify", params={"level": "info", "message": "x"})
        assert (await wire.reply(3))["result"] == {}
        assert (await wire.ask("host/tools", "3b", tools=[]))["error"]["code"] == -32001
        asked = await wire.ask("host/inject", "3c", session_id=session.session_id, text="x")
        assert asked["result"] == {"queued": True}
        here = {"session_id": session.session_id}
        asked = await wire.ask("host/answer", "3d", **here, question_id="q", choice="allow")
        assert asked["error"]["code"] == -32001
        asked = await wire.ask("host/submit", "3f", session_key="main", text="x")
        assert asked["error"]["code"] == -32001
        assert (await wire.ask("host/ask", "3e", **here, prompt="?"))["error"]["code"] == -32001
        assert (await wire.ask("unknown", 4))["error"]["code"] == -32601
        await wire.hears("exit")
        assert trio.current_time() - began == pytest.approx(1.5, abs=0.01)
        cancelled = wire.params("$/cancelRequest")
        assert cancelled == [{"id": shutdown["id"]}]
        wire.send(method="host/log", params={"level": "info", "message": "last words"})
        wire.send(id=ids["two"], result="after exit")
        wire.send(id="5", method="host/notify", params={"level": "info", "message": "x"})
        wire.process.end(0)
    assert seen.lines("info") == ["ending", "last words"]
    assert [found[name].result.content for name in ("one", "two")] == ["in shutdown", "after exit"]
    assert found["never"].status == "error"
    assert "5" not in [one.get("id") for one in wire.got]
    assert wire.methods()[-1] == "exit"


@says("of a hook `on_failure` decides.")
async def test_a_hook_at_the_end() -> None:
    wire = Wire(hears=["pre_tool_call", "stop"])
    wire.answers |= {"hook/pre_tool_call": BY_HAND, "hook/stop": BY_HAND}
    found: list[Any] = []

    async def call() -> None:
        found.append((await turn.call_tool("shell", {}, run=own)).status)

    async def stop() -> None:
        found.append(await turn.stop())

    async with (
        host_of(wire) as (host, _),
        host.session() as session,
        session.turn("x") as turn,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(call)
        nursery.start_soon(stop)
        await wire.hears("hook/pre_tool_call")
        await wire.hears("hook/stop")
        await host.disable("probe")
    assert wire.methods()[-2:] == ["shutdown", "exit"]
    assert sorted(found, key=str) == [None, "denied"]


@says(
    "From ready on a request with an unknown method is answered with -32601.",
    "In every state an unknown notification is ignored, and a reply to an id never sent is a"
    " violation.",
)
async def test_in_every_state() -> None:
    wire = Wire(answers={"initialize": BY_HAND, "shutdown": BY_HAND})

    async def say(number: int) -> None:
        wire.send(method="unknown/told")
        wire.send(id=900 + number, result=None)
        code = -32001 if number == 1 else -32601
        assert (await wire.ask("unknown/asked", number))["error"]["code"] == code

    async def talk() -> None:
        message = await wire.hears("initialize")
        await say(1)
        wire.send(id=message["id"], result=wire.manifest)
        await say(2)
        message = await wire.hears("shutdown")
        await say(3)
        wire.send(id=message["id"], result=None)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(talk)
        async with host_of(wire) as (_, seen):
            await wire.reply(2)
    assert seen.lines() == [
        "the notification 'unknown/told' is unknown, and ignored",
        *(f"a reply to the request {900 + number}, which was never sent" for number in (1, 2, 3)),
    ]
