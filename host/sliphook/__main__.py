"""The command `sliphook`, also `python -m sliphook`, from the first moment of its process."""

import os
import sys


def main() -> int:
    """Run the command line on the process's own arguments.

    Ctrl+C may come while it is still being imported, and again when it has ended and the
    interpreter cleans up: neither is a traceback.

    Returns:
        The exit status, as `sliphook.cli.main.main` says; 130 on Ctrl+C.
    """
    try:
        import signal

        # ignored by who started us, it would hide how our children end, from us and from plugins
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # blocked by who started us, no signal would end us
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        from sliphook.cli.main import main as command_line

        status = command_line()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        return status
    except BaseException as error:
        if not _is_ctrl_c(error):
            raise
        sys.stderr.write("sliphook: interrupted\n")
        return 130


def _is_ctrl_c(error: BaseException | None) -> bool:
    """Whether this is Ctrl+C, or what Python has made of it.

    Up to 3.11 a class that is being made wraps what its descriptors raise: `Error calling
    __set_name__`.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__
    return error is not None


def _forget_the_current_folder() -> None:
    """Import nothing from the folder in which `python -m sliphook` is called.

    It may be anybody's, and may hold a `trio.py`. Python puts it first on its path, unless it was
    told not to (`-P`). A `sliphook.py` there has been run before this line.
    """
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    first = sys.path[0] if sys.path and not sys.flags.safe_path else None
    if first is not None and os.path.abspath(first) not in (own, os.path.dirname(__file__)):
        del sys.path[0]


if __name__ == "__main__":
    _forget_the_current_folder()
    sys.exit(main())
