"""Programs that answer what was not asked, or ask under ids that are none."""

from __future__ import annotations

from tests.torture.case import HASTY_S, Case, on_hook, python
from tests.torture.stage import Stage

_QUIET = "never settles another's request; the right answer counts"


def _reads(name: str, body: str, says: str | None = None) -> Case:
    return Case("ids", name, _QUIET, on_hook(body + "\nreply(id, {})"), says=says, restarts=0)


def _asks(name: str, id: str) -> Case:
    """A request whose id cannot be used is refused with the id null."""
    asked = b'{"jsonrpc":"2.0","id":%s,"method":"host/notify","params":{}}\n' % id.encode()
    body = f"raw({asked!r})\nanswer = receive_reply()\n"
    body += "assert answer['id'] is None and answer['error']['code'] == -32600, answer"
    return Case(
        "ids",
        name,
        "refused with -32600 and the id null",
        on_hook(body + "\nreply(id, {})"),
        restarts=0,
    )


def _may_ask(name: str, id: str) -> Case:
    body = f"asked = {id}\n"
    body += "send(id=asked, method='no/such', params={})\nanswer = receive_reply()\n"
    body += "assert answer['id'] == asked and answer['error']['code'] == -32601, answer"
    return Case(
        "ids", name, "answered under the same id", on_hook(body + "\nreply(id, {})"), restarts=0
    )


async def _answers_late(stage: Stage) -> None:
    await stage.until(lambda: stage.sightings.late > 0, "the late answer")


async def _answers_cancelled(stage: Stage) -> None:
    await stage.interrupt()
    await stage.until(lambda: stage.sightings.late > 0, "the answer to the cancelled request")


CASES = (
    _reads("unknown", "reply(999_999, {'decision': 'deny'})", "999999"),
    _reads("zero", "reply(0, {})", "request 0"),
    _reads("negative", "reply(-id, {})"),
    _reads("null", "reply(None, {})"),
    _reads("a fraction", "reply(id + 0.5, {})"),
    _reads(
        "the same as a fraction",
        'raw(b\'{"jsonrpc":"2.0","id":%d.0,"result":{"decision":"deny"}}\\n\' % id)',
    ),
    _reads("true", "reply(True, {})"),
    _reads("a list", "reply([id], {})"),
    _reads("an object", "reply({'id': id}, {})"),
    _reads("the same as a string", "reply(str(id), {'decision': 'deny'})"),
    _reads("a huge number", "reply(10 ** 30, {})"),
    _reads("an answered one", "reply(1, {'name': 'other'})"),
    _reads(
        "all that another plugin could have",
        "for other in range(id + 1, id + 50): reply(other, {'decision': 'deny'})",
    ),
    Case(
        "ids",
        "answered twice",
        "the first counts, the second is dropped",
        on_hook("reply(id, {})\nreply(id, {'decision': 'deny'})"),
        restarts=0,
    ),
    Case(
        "ids",
        "answered a hundred times",
        "late answers are dropped quietly",
        on_hook("for _ in range(500): reply(id, {})"),
        restarts=0,
        act=_answers_late,
    ),
    Case(
        "ids",
        "after the timeout",
        "the timeout has decided, the answer is dropped",
        on_hook("time.sleep(.8)\nreply(id, {'decision': 'deny'})", timeout_s=HASTY_S),
        "timed_out",
        restarts=0,
        act=_answers_late,
    ),
    Case(
        "ids",
        "after the cancel",
        "a cancelled request is settled, its answer is dropped",
        python(
            """
            greet()
            reply(hook(), {})
            while True:
                message = receive()
                method, params = str(message.get('method')), message.get('params') or {}
                if method == '$/cancelRequest':
                    reply(params['id'], {'decision': 'deny'})
                elif method.startswith('hook/') and params.get('text') != 'hold':
                    reply(message['id'], {})
                else:
                    polite(message)
            """
        ),
        restarts=0,
        act=_answers_cancelled,
    ),
    _asks("asks under null", "null"),
    _asks("asks under true", "true"),
    _asks("asks under a fraction", "1.5"),
    _asks("asks under a list", "[1]"),
    _may_ask("asks under a string", "'a b'"),
    _may_ask("asks under an empty string", "''"),
    _may_ask("asks under a negative number", "-7"),
    _may_ask("asks under the hook's own id", "id"),
    _may_ask("asks under a string of 128", "'x' * 128"),
    _asks("asks under a string of 129", f'"{"x" * 129}"'),
    _reads(
        "the same id again and again",
        "for _ in range(300):\n    send(id='again', method='no/such')\n"
        "    assert receive_reply()['id'] == 'again'",
    ),
    _reads(
        "cancels what was not asked",
        "for wrong in (None, 5, 'x', [], {}):\n"
        "    send(method='$/cancelRequest', params={'id': wrong})\n"
        "send(method='$/cancelRequest')",
    ),
    _reads(
        "progress of nothing",
        "for wrong in (None, 0, 999, 'x', [], {}):\n"
        "    send(method='$/progress', params={'id': wrong, 'fraction': 9e99})",
    ),
)
