"""Opening a host: side by side, bounded, and what does not start is named and left out."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import trio

from sliphook import PluginHost, PluginSpec
from tests.programs import WAIT_S, Workshop, until


class Problems(list[str]):
    """Lines for people about plugins."""

    def __call__(self, plugin: str, message: str) -> None:
        assert "\n" not in message
        self.append(message)


@pytest.fixture
def problems() -> Problems:
    return Problems()


async def test_they_start_side_by_side(shop: Workshop) -> None:
    """Each waits until all others run too: one after the other, none would ever be ready."""
    names = [f"p{number}" for number in range(8)]
    meet = f"set_flag(MANIFEST['name'])\nfor name in {names}: wait_for_flag(name)"
    programs = [shop.program(name, before=meet) for name in names]
    with trio.fail_after(WAIT_S):
        async with PluginHost([program.path for program in programs]) as host:
            assert [plugin.state for plugin in host.plugins] == ["ready"] * 8


async def test_one_that_cannot_start_is_reported_and_left_out(
    shop: Workshop, problems: Problems, tmp_path: Path
) -> None:
    healthy = shop.program("healthy", tools=["look"])
    paths = {
        "missing": tmp_path / "missing",
        "folder": tmp_path,
        "not executable": shop.program("plain").path,
        "no interpreter": shop.program("lost").path,
        "no #!": shop.program("bare").path,
        "crlf": shop.program("dos").path,
        "empty": shop.program("empty").path,
    }
    paths["not executable"].chmod(0o644)
    paths["no interpreter"].write_text("#!/no/such/interpreter\n")
    paths["no #!"].write_text("print(1)\n")
    paths["crlf"].write_text("#!/bin/sh\r\necho\r\n")
    paths["empty"].write_text("")
    with trio.fail_after(WAIT_S):
        async with PluginHost([*paths.values(), healthy.path], on_problem=problems) as host:
            assert [plugin.state for plugin in host.plugins] == ["failed"] * len(paths) + ["ready"]
            async with host.session() as session, session.turn("hello") as turn:
                assert (await turn.call_tool("look", {})).status == "ok"
            assert [plugin.restarts for plugin in host.plugins] == [0] * (len(paths) + 1)
    assert len(problems) == len(paths)
    for said in (
        "does not exist|no such file",
        "is a directory",
        "not executable",
        "/no/such/interpreter",
        "no #!|#! line",
        "CRLF|line end",
        "empty",
    ):
        assert any(one in problem for one in said.split("|") for problem in problems), (
            said,
            problems,
        )


HANDSHAKES = {
    "exits at once": (
        "sys.exit(0)",
        "failed",
        "exited with status 0 before it answered initialize",
    ),
    "exits with a word": ('os.write(2, b"no token\\n"); sys.exit(3)', "failed", "no token"),
    "dies by a signal": ("os.kill(os.getpid(), signal.SIGABRT)", "failed", "SIGABRT"),
    "speaks another version": (
        'reply(receive()["id"], {"protocol_version": 7, "name": "probe"})',
        "failed",
        "version 7",
    ),
    "refuses our version": (
        'send(id=receive()["id"], error={"code": -32602, "message": "I speak only version '
        '3"}); serve()',
        "failed",
        "I speak only version 3",
    ),
    "answers a string": ('reply(receive()["id"], "hello"); serve()', "failed", "manifest"),
    "answers null": ('reply(receive()["id"], None); serve()', "failed", "manifest|initialize"),
    "has no name": ('reply(receive()["id"], {"protocol_version": 1}); serve()', "failed", "name"),
    "has a bad name": (
        'reply(receive()["id"], {"protocol_version": 1, "name": "A B"}); serve()',
        "failed",
        "A B",
    ),
    "knows a hook that there is not": (
        'reply(receive()["id"], {"protocol_version": 1, "name": "probe", "subscriptions": '
        '[{"event": "pre_tool_cal"}]}); serve()',
        "failed",
        "did you mean pre_tool_call",
    ),
    "misspells on_failure": (
        'reply(receive()["id"], {"protocol_version": 1, "name": "probe", "subscriptions": '
        '[{"event": "stop", "on_failur": ""}]}); serve()',
        "failed",
        "on_failure",
    ),
    "leaves itself out": (
        'reply(receive()["id"], {"protocol_version": 1, "name": "probe", "disabled": "no git '
        'here"}); serve()',
        "self_disabled",
        "no git here",
    ),
    "wants a reserved tool": (
        'reply(receive()["id"], {"protocol_version": 1, "name": "probe", "tools": [{"name": '
        '"bash"}]}); serve()',
        "refused",
        "the agent",
    ),
    "wants a reserved command": (
        'reply(receive()["id"], {"protocol_version": 1, "name": "probe", "commands": '
        '[{"name": "stop"}]}); serve()',
        "failed|refused",
        "/stop",
    ),
    "sends nonsense": (
        'raw(b"Content-Length: x\\r\\n\\r\\n"); time.sleep(30)',
        "failed",
        "Content-Length",
    ),
    "closes its output": ("os.close(1); time.sleep(30)", "failed", "closed its standard output"),
    "closes its input": ("receive(); os.close(0); time.sleep(30)", "failed", "initialize"),
}


@pytest.mark.parametrize("case", HANDSHAKES)
async def test_a_handshake_that_fails(
    shop: Workshop, problems: Problems, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    main, state, why = HANDSHAKES[case]
    monkeypatch.setattr(
        "sliphook.plugin.instance.INITIALIZE_TIMEOUT_S", 1.0 if case == "closes its input" else 10.0
    )
    probe = shop.program(main=main)
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path], on_problem=problems, reserved_tools=["bash"]) as host:
            (plugin,) = host.plugins
            assert plugin.state in state.split("|")
            assert (plugin.restarts, host.tools()) == (0, [])
            assert plugin.why is not None
            assert any(one in plugin.why for one in why.split("|")), plugin.why
            await until(lambda: host.plugins[0].pid is None)
    assert len(problems) == 1
    assert any(one in problems[0] for one in why.split("|")), problems


async def test_a_silent_handshake(
    shop: Workshop, problems: Problems, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sliphook.plugin.instance.INITIALIZE_TIMEOUT_S", 0.3)
    silent = shop.program("silent", main="receive()\ntime.sleep(30)")
    began = time.monotonic()
    with trio.fail_after(WAIT_S):
        async with PluginHost([silent.path], on_problem=problems) as host:
            assert time.monotonic() - began < 9.0  # the host's own number is 10
            assert host.plugins[0].state == "failed"
    assert "did not answer initialize within 0.3 s" in problems[0]


async def test_a_banner_before_the_manifest(shop: Workshop) -> None:
    """Libraries print at import; stray lines must not cost the plugin its start."""
    probe = shop.program(before='raw(b"probe 1.0\\nloading {model}...\\n")', tools=["look"])
    with trio.fail_after(WAIT_S):
        async with PluginHost([probe.path]) as host:
            assert host.plugins[0].state == "ready"


async def test_of_one_name_the_one_installed_first_keeps_it(
    shop: Workshop, problems: Problems
) -> None:
    """Also where the other is quicker to start."""
    first = shop.program("first", tools=["look"], before="wait_for_flag('go')")
    second = shop.program("second", tools=["look"], before="set_flag('go')")
    third = shop.program("third", commands=[{"name": "go"}])
    fourth = shop.program("fourth", commands=[{"name": "go"}])
    with trio.fail_after(WAIT_S):
        async with PluginHost(
            [first.path, second.path, third.path, fourth.path], on_problem=problems
        ) as host:
            await until(
                lambda: (
                    [plugin.state for plugin in host.plugins]
                    == ["ready", "refused", "ready", "refused"]
                )
            )
            assert [(tool.name, tool.plugin) for tool in host.tools()] == [("look", "first")]
    assert len(problems) == 2
    assert any("look is taken by the plugin first" in problem for problem in problems)
    assert any("/go is taken by the plugin third" in problem for problem in problems)


async def test_tools_and_commands_come_in_the_order_of_installation(shop: Workshop) -> None:
    """The model is told the same at every start, whichever plugin is the quickest."""
    go = shop.flag("go")
    slow = shop.program(
        "slow", tools=["first"], commands=[{"name": "one"}], before="wait_for_flag('go')"
    )
    quick = shop.program("quick", tools=["second"], commands=[{"name": "two"}])
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            host = PluginHost([slow.path, quick.path])

            async def release() -> None:
                await until(lambda: [offer.name for offer in host.tools()] == ["second"])
                go.touch()

            nursery.start_soon(release)
            async with host:
                assert [offer.name for offer in host.tools()] == ["first", "second"]
                assert [offer.name for offer in host.commands()] == ["one", "two"]


async def test_one_plugin_under_two_names(shop: Workshop) -> None:
    """The name that the user has given it counts, not the one that it declares."""
    path = shop.program("probe").path
    with trio.fail_after(WAIT_S):
        async with PluginHost([PluginSpec(path, name=name) for name in ("probe", "again")]) as host:
            assert [(plugin.name, plugin.state) for plugin in host.plugins] == [
                ("probe", "ready"),
                ("again", "ready"),
            ]


async def test_a_plugin_knows_its_place(
    shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder, its environment and its descriptors, and that it is alone in its group."""
    monkeypatch.setenv("SECRET_OF_THE_AGENT", "x")
    monkeypatch.setenv("LC_NUMERIC", "C")
    before = """
    record({"cwd": os.getcwd(), "env": sorted(os.environ), "argv": len(sys.argv),
            "fds": sorted(map(int, os.listdir("/proc/self/fd"))),
            "alone": os.getpid() == os.getpgid(0) == os.getsid(0)})
    """
    probe = shop.program(before=before)
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        with trio.fail_after(WAIT_S):
            spec = PluginSpec(probe.path, name="installed", env={"TOKEN": "t", "LD_PRELOAD": "x"})
            async with PluginHost([spec], data_home=tmp_path / "data"):
                pass
    finally:
        os.close(reading)
        os.close(writing)
    facts = next(message for message in probe.messages() if "cwd" in message)
    assert facts["cwd"] == str(tmp_path / "data" / "installed")
    assert facts["argv"] == 1
    assert facts["alone"] is True
    assert [fd for fd in facts["fds"] if fd > 4] == []  # 3 is its log, 4 the listing
    assert {"PATH", "LC_NUMERIC", "TOKEN", "PYTHONUTF8"} <= set(facts["env"])
    assert not {"SECRET_OF_THE_AGENT", "LD_PRELOAD"} & set(facts["env"])


async def test_cancelled_while_it_opens(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sliphook.process.shutdown.EXIT_GRACE_S", 0.2)
    slow = shop.program("slow", before="time.sleep(30)")
    with trio.fail_after(WAIT_S), trio.move_on_after(0.3) as scope:
        async with PluginHost([slow.path]):
            pytest.fail("it has opened")
    assert scope.cancelled_caught


@pytest.mark.usefixtures("patient_ends")
async def test_one_that_has_not_declared_itself_is_sent_nothing_but_exit(shop: Workshop) -> None:
    main = (
        "receive()\nrequest('q', 'host/notify', level='info', message='x')\n"
        "while receive().get('method') != 'exit': pass\nreceive()"
    )
    slow = shop.program("slow", main=main)
    with trio.fail_after(WAIT_S), trio.CancelScope() as opening:

        async def give_up() -> None:
            await slow.has_reply("q")
            opening.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(give_up)
            async with PluginHost([slow.path]):
                pytest.fail("it has opened")
    assert slow.methods() == ["initialize", "exit", "EOF"]
    assert slow.replies()["q"]["error"]["code"] == -32001


async def test_a_path_that_no_file_can_have_fails_alone(shop: Workshop, problems: Problems) -> None:
    probe = shop.program(tools=["look"])
    with trio.fail_after(WAIT_S):
        async with PluginHost(["/bin/no\0such", probe.path], on_problem=problems) as host:
            assert [plugin.state for plugin in host.plugins] == ["failed", "ready"]
