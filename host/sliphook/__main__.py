"""The command `sliphook`, also `python -m sliphook`, from the first moment of its process."""

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
        from sliphook.cli.main import main as command_line

        status = command_line()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        return status
    except KeyboardInterrupt:
        sys.stderr.write("sliphook: interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
