"""Checks of the functions and sinks that a host is given, before it is made."""

from __future__ import annotations

from dataclasses import fields

from sliphook.session.arguments.functions import check_async, check_methods, check_plain
from sliphook.session.arguments.plain import check_flag
from sliphook.session.host import People
from sliphook.session.reports import Callbacks


def check_agent_code(
    people: People, callbacks: Callbacks, on_submit: object, trace: object, spans: object
) -> None:
    """Check all that a host calls of its agent's; `PluginHost` documents each.

    Raises:
        TypeError: one cannot be called in the way that it would be.
    """
    check_async("approver", people.approver)
    check_async("asker", people.asker)
    check_plain("can_ask", people.can_ask)
    check_flag("approver_queues", people.approver_queues)
    for field in fields(callbacks):
        check_plain(field.name, getattr(callbacks, field.name))
    check_plain("on_submit", on_submit)
    check_methods("trace", trace, "record", "hide")
    check_methods("spans", spans, "hook", "told", "span_of")
