"""Programs that do not shake hands as they should."""

from __future__ import annotations

from typing import Any

from tests.torture.case import Case, Make, plain, python, sh


def _fails(name: str, make: Make, says: str, state: str = "failed") -> Case:
    return Case(
        "handshake",
        name,
        "left out and told why; others start",
        make,
        None,
        state,
        says,
        restarts=0,
    )


def _answers(name: str, result: str, says: str, state: str = "failed") -> Case:
    return _fails(name, python(f"reply(initialize(), {result})\nserve()"), says, state)


def _subscribes(name: str, subscription: dict[str, Any], says: str) -> Case:
    return _fails(name, python("greet()\nserve()", subscriptions=[subscription]), says)


def _starts(name: str, body: str, says: str | None = None, **manifest: Any) -> Case:
    return Case(
        "handshake", name, "starts all the same", python(body, **manifest), says=says, restarts=0
    )


CASES = (
    _fails("exits with 0", sh("exit 0"), "exited with status 0 before it answered initialize"),
    _fails("exits with 3", sh("exit 3"), "exited with status 3 before it answered initialize"),
    _fails(
        "exits after reading", python("initialize()\nsys.exit(4)"), "exited with status 4 before"
    ),
    _fails(
        "last words",
        sh("echo 'no licence found' >&2; exit 1"),
        "exited with status 1 .*no licence found",
    ),
    _fails("dies of a signal", sh("kill -SEGV $$"), "was killed by SIGSEGV before"),
    _fails(
        "explains itself, as if run by hand",
        sh("echo 'a plugin; try: sliphook fire --plugin PATH' >&2\nexit 2"),
        "exited with status 2 before it answered initialize; its last line on stderr: a plugin",
    ),
    _fails(
        "raises",
        python("initialize()\nraise ValueError('oh no')"),
        "exited with status 1 .*ValueError: oh no",
    ),
    _fails(
        "syntax error",
        plain("#!/usr/bin/env python3\nthis is no python\n"),
        "exited with status 1 .*SyntaxError",
    ),
    _fails("silent", sh("exec sleep 100"), "did not answer initialize within 10 s"),
    _fails(
        "silent and stubborn",
        python("signal.signal(15, signal.SIG_IGN)\ntime.sleep(100)"),
        "did not answer initialize within 10 s",
    ),
    _fails(
        "talks on stderr only",
        python("while True:\n    os.write(2, b'loading\\n')\n    time.sleep(.1)"),
        "did not answer initialize within 10 s.*loading",
    ),
    _fails(
        "closes stdout",
        python("initialize()\nos.close(1)\ntime.sleep(100)"),
        "closed its standard output",
    ),
    _fails(
        "closes stdin",
        python("os.close(0)\ntime.sleep(100)"),
        "did not answer initialize|closed its standard input",
    ),
    _fails(
        "speaks another version",
        python(
            "send(id=initialize(), error={'code': -32602, 'message': 'I speak version 9 "
            "only'})\nserve()"
        ),
        "refused to start: I speak version 9 only",
    ),
    _answers("says another version", "{**MANIFEST, 'protocol_version': 9}", "version"),
    _answers(
        "version of another type", "{**MANIFEST, 'protocol_version': '1'}", "protocol_version"
    ),
    _answers("no version", "{'name': 'bad'}", "protocol_version"),
    _answers("null", "None", "manifest|object"),
    _answers("a list", "[MANIFEST]", "manifest|object"),
    _answers("a string", "'ready'", "manifest|object"),
    _answers("no name", "{'protocol_version': 1}", "name"),
    _answers("name with a path", "{**MANIFEST, 'name': '../../etc'}", "name"),
    _answers("name of 1,000", "{**MANIFEST, 'name': 'b' * 1000}", "name"),
    _answers(
        "subscriptions of another type",
        "{**MANIFEST, 'subscriptions': {'stop': True}}",
        "subscriptions",
    ),
    _answers("tool without a name", "{**MANIFEST, 'tools': [{}]}", "tools|name"),
    _answers(
        "disables itself",
        "{**MANIFEST, 'disabled': 'no licence'}",
        "leaves itself out: no licence",
        "self_disabled",
    ),
    _answers(
        "9 MB of manifest", "{**MANIFEST, 'description': 'x' * 9_000_000}", "may have|are allowed"
    ),
    _subscribes("unknown hook", {"event": "pre_tool_cal"}, "pre_tool_call"),
    _subscribes("asks for an event", {"event": "turn_end", "mode": "hook"}, "turn_end"),
    _subscribes("misspelt field", {"event": "stop", "on_failur": "closed"}, "on_failure"),
    _subscribes("no time", {"event": "stop", "timeout_s": 0}, "timeout_s"),
    _subscribes("negative time", {"event": "stop", "timeout_s": -1}, "timeout_s"),
    _subscribes("time of another type", {"event": "stop", "timeout_s": "5"}, "timeout_s"),
    _subscribes("an hour", {"event": "stop", "timeout_s": 3600}, "timeout_s"),
    _starts(
        "unknown hook that is optional",
        "greet(subscriptions=[*MANIFEST['subscriptions'], {'event': 'no_such', 'optional': "
        "True}])\nserve()",
    ),
    _starts("banner", "raw(b'Welcome to bad 1.0!\\n\\n')\ngreet()\nserve()", "Welcome to bad"),
    _starts("slow", "time.sleep(1.5)\ngreet()\nserve()"),
    _starts(
        "answers twice", "id = initialize()\nreply(id, MANIFEST)\nreply(id, MANIFEST)\nserve()"
    ),
    _starts("framed", "id = initialize()\nraw(frame(dump(id=id, result=MANIFEST)))\nserve()"),
    _starts(
        "logs before",
        "send(method='host/log', params={'level': 'info', 'message': 'early bird'})\n"
        "greet()\nserve()",
        "early bird",
    ),
    _starts(
        "asks before it is ready",
        """
        send(id='early', method='host/notify', params={'level': 'info', 'message': 'hello'})
        id = initialize()
        answer = receive_reply()
        assert answer['error']['code'] == -32001, answer
        reply(id, MANIFEST)
        serve()
        """,
        uses=["notify"],
    ),
    _starts("answer to nothing first", "reply(77, {})\ngreet()\nserve()", "77"),
    _starts("unknown fields", "greet(colour='red', _meta={'a': 1})\nserve()"),
)
