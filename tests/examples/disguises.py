"""Ways to write `rm -rf victim`, and what a real shell makes of them."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st

WRAPPERS: tuple[Callable[[str], str], ...] = (
    lambda s: f"sh -c {shlex.quote(s)}",
    lambda s: f"bash -ec {shlex.quote(s)}",
    lambda s: f"eval {shlex.quote(s)}",
    lambda s: f"command eval {shlex.quote(s)}",
    lambda s: f"bash <<'EE'\n{s}\nEE\n",
    lambda s: f"bash -s <<'EE'\n{s}\nEE\n",
    lambda s: f"bash <<< {shlex.quote(s)}",
    lambda s: f"$({s}\n)",
    lambda s: f'echo "$({s}\n)"',
    lambda s: f"echo ${{zz:-$({s}\n)}}",
    lambda s: f"echo $((0$({s}\n)))",
    lambda s: f"[[ -z $({s}\n) ]]",
    lambda s: f"a=$({s}\n)",
    lambda s: f"a=(x $({s}\n))",
    lambda s: f"declare a=$({s}\n)",
    lambda s: f"cat <<EE\n$({s}\n)\nEE\n",
    lambda s: f"cat <({s}\n)",
    lambda s: f"({s}\n)",
    lambda s: f"{{ {s}\n}}",
    lambda s: f"true && {s}",
    lambda s: f"false || {s}",
    lambda s: f"{s} &\nwait",
    lambda s: f"if true; then {s}\nfi",
    lambda s: f"for i in 1; do {s}\ndone",
    lambda s: f"case x in x) {s}\n;; esac",
    lambda s: f"f() {{ {s}\n}}; f",
    lambda s: f"function f {{ {s}\n}}\nf",
    lambda s: f"trap {shlex.quote(s)} EXIT",
    lambda s: f"coproc {{ {s}\n}}; wait",
    lambda s: f"timeout 5 sh -c {shlex.quote(s)}",
    lambda s: f"env -S {shlex.quote('sh -c ' + shlex.quote(s))}",
    lambda s: f"find . -maxdepth 0 -exec sh -c {shlex.quote(s)} \\;",
    lambda s: f"echo {shlex.quote(s)} | sh",
    lambda s: f"echo {shlex.quote(s)} | xargs -0 sh -c",
    lambda s: f'x={shlex.quote(s)}; eval "$x"',
    lambda s: f"x={shlex.quote('a[$(' + s + ')]')}; echo $((x))",
    lambda s: f"echo {shlex.quote(s)} > zz.sh; . ./zz.sh",
    lambda s: f"echo 'a\\'; {s}",
    lambda s: f'echo ""#; {s}',
    lambda s: f"# zz\n{s}",
    lambda s: f"cat <<'E E'\nx\nE E\n{s}",
)
IN_FRONT = ("command ", "env ", "env - PATH=$PATH ", "nice ", "timeout 5 ", "nohup ", "time zz=1 ")
BETWEEN = (" ", "  ", "\t", " \\\n ", " >zz ", " </dev/null ", " 2>&1 ", " <<<zz ", "\\\n ")


@st.composite
def words(draw: st.DrawFn, word: str) -> str:
    """One word in one of the ways of a shell."""
    at = draw(st.integers(1, len(word) - 1))
    head, tail = word[:at], word[at:]
    ways = (
        word,
        f"'{word}'",
        f'"{word}"',
        f"{head}''{tail}",
        f'{head}"{tail}"',
        f"{head}\\{tail}",
        f"$'\\x{ord(word[0]):02x}'{word[1:]}",
        f"{head}$zz{tail}",
        f"${{zz:-{word}}}",
        f"$(echo {word})",
        f"`echo {word}`",
    )
    return draw(st.sampled_from(ways))


@st.composite
def scripts(draw: st.DrawFn) -> str:
    """A script that deletes `victim`, or tries to."""
    options = draw(
        st.sampled_from((["-rf"], ["-r", "-f"], ["--recursive", "--force"], ["--rec", "-vf"]))
    )
    plain = ["rm", *options, "victim"] if draw(st.booleans()) else ["rm", "victim", *options]
    script = draw(words(plain[0]))
    for word in plain[1:]:
        script += draw(st.sampled_from(BETWEEN)) + draw(words(word))
    script = draw(st.sampled_from(("", *IN_FRONT))) + script
    for wrap in draw(st.lists(st.sampled_from(WRAPPERS), max_size=3)):
        script = wrap(script)
    return script


def deletes(script: str, folder: Path) -> bool:
    """Whether a real bash deletes `victim` by it; anything else stays in the folder, too."""
    victim = folder / "victim"
    victim.mkdir(exist_ok=True)
    subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        # make runs the command with it, before it knows its own
        env={**os.environ, "SHELL": "/bin/sh"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return not victim.exists()
