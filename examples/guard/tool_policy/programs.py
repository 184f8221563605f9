"""Programs that run other programs: how their words name them."""

from __future__ import annotations

from typing import NamedTuple


class Runner(NamedTuple):
    """How a command names the one that it runs: behind its options.

    Attributes:
        flags: options without a value.
        valued: options with one.
        skips: words of its own in front of the command.
    """

    flags: str = ""
    valued: str = ""
    skips: int = 0


RUNNERS = {
    "sudo": Runner(
        "-A -b -E -H -k -n -P -S --askpass --background --preserve-env --non-interactive",
        "-u -g -h -p -C -T -R -D -r -t --user --group --host --prompt --chroot --chdir --role",
    ),
    "doas": Runner("-n", "-u -C"),
    "env": Runner("- -i -0 -v --ignore-environment --null --debug", "-u -C --unset --chdir"),
    "nice": Runner(valued="-n --adjustment"),
    "ionice": Runner("-t --ignore", "-c -n --class --classdata"),
    "nohup": Runner(),
    "setsid": Runner("-c -f -w --ctty --fork --wait"),
    "stdbuf": Runner(valued="-i -o -e --input --output --error"),
    "timeout": Runner(
        "-f -p -v --foreground --preserve-status --verbose", "-k -s --kill-after --signal", 1
    ),
    "time": Runner("-p -a -v -q --portability --append --verbose", "-f -o --format --output"),
    "xargs": Runner(
        "-0 -r -t -p -x -o --null --no-run-if-empty --verbose --interactive --exit --open-tty",
        "-I -n -P -L -d -a -E -s --max-args --max-procs --max-lines --max-chars --delimiter"
        " --arg-file",
    ),
    "command": Runner("-p -v -V"),
    "builtin": Runner(),
    "exec": Runner("-c -l", "-a"),
    "coproc": Runner(),
    "busybox": Runner(),
    "toybox": Runner(),
    "chroot": Runner("--skip-chdir", "--userspec --groups", 1),
    "taskset": Runner("-a -c", "", 1),
    "flock": Runner("-s -x -e -n -u -o", "-w -E --timeout", 1),
    "npx": Runner("-y --yes -q --quiet --no-install", "-p --package"),
    "uv run": Runner("-q --frozen --locked --no-sync --isolated", "-p --python --with --group"),
    "poetry run": Runner(),
    "pipenv run": Runner(),
    "conda run": Runner("--no-capture-output", "-n -p --name --prefix"),
    "bundle exec": Runner(),
    "npm exec": Runner("-y --yes"),
    "pnpm exec": Runner(),
    "yarn exec": Runner(),
}
SHELLS = ("sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash")
SETS_VARIABLES = (
    *("export", "declare", "typeset", "readonly", "local", "read", "mapfile", "readarray"),
    "getopts",
)
SETS_BEHIND = {"printf": "-v", "wait": r"-\w*p|-n"}
"""Commands that set the variable behind an option."""
SETS_IN_FRONT = {
    **dict.fromkeys(("env", "sudo", "doas"), r"[^=]+="),
    **dict.fromkeys(("time", "coproc"), r"\w+(\[.*\])?\+?="),
}
"""Commands that take variables in front of the one that they run, and what those look like."""
CODE_LETTERS = {
    **dict.fromkeys(("python", "python2", "python3", "pypy", "pypy3"), "c"),
    **dict.fromkeys(("perl",), "eEMm"),
    **dict.fromkeys(("ruby", "lua", "luajit", "Rscript", "osascript"), "e"),
    **dict.fromkeys(("node", "bun"), "epr"),
    **dict.fromkeys(("php",), "rBRE"),
}
"""Interpreters, and the letters of the options that a piece of code, or code to load, follows."""
CODE_OPTIONS = {
    "git": "--config-env --exec-path --exec --upload-pack --receive-pack"
    " --extcmd --open-files-in-pager",
    "tar": "-I --use-compress-program --to-command --checkpoint-action --rsh-command -F",
    "rsync": "-e --rsh --rsync-path",
    "fd": "-x -X --exec --exec-batch",
    "fdfind": "-x -X --exec --exec-batch",
    "rg": "--pre --hostname-bin",
    "sort": "--compress-program",
    "zip": "-TT --unzip-command",
    "mapfile": "-C",
    "readarray": "-C",
    "hash": "-p",
    "man": "-P --pager -H --html",
}
"""Options of other programs behind which a command stands."""
CODE_WORDS = {
    "git": r"^-x|^(run|foreach|filter-branch|config)$|!|^ext::",
    **dict.fromkeys(
        ("make", "gmake"),
        r"[$`]|^[^-]\S*=.*[^\w./:,=+@%-]|(SHELL|FLAGS|MAKE)=|^-\w*[fE]|^--(ev|fi|mak)",
    ),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), r"system|\||getline|@load|-f|-i"),
    **dict.fromkeys(
        ("sed", "gsed"),
        r"(^|[;{}\n/\d$,!])\s*e|/\w*e\w*\s*($|[;}\n])|-f"
        r"|(^|[;{}\n\d$,!/ ])s(?P<sign>[^\w\s]|_).*(?P=sign)\w*e\w*\s*($|[;}\n])",
    ),
    **dict.fromkeys(("vim", "vi", "nvim", "ex", "view", "less"), r"!|\+|-c|-S|--cmd"),
}
"""Words of other programs that may run a command."""
OPAQUE = (
    *("ssh", "parallel", "screen", "tmux", "script", "at", "batch", "crontab", "expect", "gdb"),
    *("strace", "ltrace", "unshare", "nsenter", "su", "runuser", "systemd-run", "watch", "entr"),
    *("csh", "tcsh", "fish", "pwsh", "powershell", "cmd", "ed", "emacs", "tclsh", "guile", "deno"),
    *("bind", "complete", "compgen", "enable", "fc", "let", "jobs", "history"),
    *("pkexec", "chronic", "faketime", "fakeroot", "unbuffer", "linux32", "linux64", "setarch"),
    *("i386", "x86_64", "prlimit", "choom", "chrt", "numactl", "cpulimit", "eatmydata", "firejail"),
    *("bwrap", "proot", "dbus-run-session", "xvfb-run", "ssh-agent", "ld.so", "run-parts"),
    *("start-stop-daemon", "logsave", "caffeinate", "arch", "valgrind", "ld-linux-x86-64.so.2"),
)
