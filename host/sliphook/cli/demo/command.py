"""`sliphook demo`: shows in ten seconds what plugins can do to an agent, and what they cannot."""

from __future__ import annotations

import click

from sliphook.cli.common import EXIT_FAILED, EXIT_OK, complain
from sliphook.cli.tracing import Tracing, trace_options


@click.command("demo")
@trace_options
def command(tracing: Tracing) -> int:
    """Watch an agent whose plugins deny, answer, hang and crash: about ten seconds.

    The plugin processes and the agent loop are real; the model follows a script, so the demo needs
    no network and no key. It checks itself: the exit status is 1 if something did not happen.
    """
    from sliphook.cli.running import Interruptible, run_trio

    from .narrator import Narrator
    from .stage import set_stage
    from .story import play
    from .timeline import failures, summary

    async def demo(running: Interruptible) -> int:
        with set_stage() as stage, tracing.open() as sink:
            story = await play(stage, sink, Narrator(whole=tracing.live), running)
        click.echo(summary(story))
        missing = failures(story)
        for failure in missing:
            complain(f"the demo did not go as it should: {failure}")
        return EXIT_FAILED if missing else EXIT_OK

    return run_trio(demo)
