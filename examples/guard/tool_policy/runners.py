"""Commands that run other commands: what they would run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .programs import (
    CODE_LETTERS,
    CODE_OPTIONS,
    CODE_WORDS,
    OPAQUE,
    RUNNERS,
    SETS_BEHIND,
    SETS_IN_FRONT,
    SETS_VARIABLES,
    SHELLS,
    Runner,
)
from .shell import Command, Effect, Unknown, Unparsable, parse
from .variables import changes_what_runs
from .words import UNKNOWN_WORD, UNKNOWN_WORDS, Word

MAX_NESTED = 8
MAX_EFFECTS = 2_000


def effects(text: str) -> list[Effect]:
    """All that a script may do, and what the commands in it would run.

    Raises Unparsable.
    """
    found = list[Effect]()
    for effect in _effects(text, 0):
        found.append(effect)
        if len(found) > MAX_EFFECTS:
            raise Unparsable("the command does too many things")
    return found


def effects_of_words(words: Sequence[str]) -> list[Effect]:
    """The same for a command that comes as a list of words, without a shell."""
    return list(_with_inner(Command(tuple(map(Word, words))), 0))


def _effects(text: str, depth: int) -> Iterator[Effect]:
    if depth > MAX_NESTED:
        raise Unparsable("scripts are nested too deep")
    for effect in parse(text):
        if isinstance(effect, Command):
            yield from _with_inner(effect, depth)
        else:
            yield effect


def _with_inner(command: Command, depth: int) -> Iterator[Effect]:
    """A command, and what it runs."""
    if depth > MAX_NESTED:
        raise Unparsable("commands are nested too deep")
    yield command
    if not command.words:
        return
    first, *rest = command.words
    if not first.known or first.glob or first.text.startswith("-"):
        yield Unknown("which command it is will only be known when it runs")
        return
    name = first.text.rpartition("/")[2]
    if name in SETS_VARIABLES:
        yield from _sets(rest)
    elif rest and re.match(SETS_BEHIND.get(name, "(?!)"), rest[0].text):
        yield from _sets([Word(re.sub(r"^-\w*[vp]", "", one.text), one.known) for one in rest[:3]])
    if rest and (both := f"{name} {rest[0].text}") in RUNNERS:
        yield from _run_by(both, RUNNERS[both], rest[1:], depth)
    elif name in RUNNERS:
        yield from _run_by(name, RUNNERS[name], rest, depth)
    elif name in SHELLS:
        yield from _shell(name, rest, command.stdin, depth)
    elif name == "eval":
        yield from _script(rest, name, depth)
    elif name == "trap":
        operands = [word for word in rest if word.text not in ("-", "--", "")]
        if len(operands) > 1:
            yield from _script(operands[:1], name, depth)
    elif name == "alias":
        for word in rest:
            yield from _script([Word(word.text.partition("=")[2], word.known)], name, depth)
    elif name in (".", "source"):
        yield Unknown("it runs a file, which is not looked at")
    elif name in ("find", "gfind"):
        yield from _find(rest, depth)
    elif interpreter := next((one for one in CODE_LETTERS if _is_version_of(one, name)), None):
        if _has_code(rest, CODE_LETTERS[interpreter]):
            yield Unknown(f"{name} runs code that is not looked at")
    elif name in OPAQUE or _may_run(name, rest):
        yield Unknown(f"{name} may run other commands, which are not looked at")


def _run_by(name: str, runner: Runner, words: list[Word], depth: int) -> Iterator[Effect]:
    """What `sudo`, `env`, `xargs` and their like run."""
    if name == "env" and words and re.match(r"-\w*S|--s", words[0].text):
        text = re.sub(r"-\w*?S|--split-string=?", "", words[0].text, count=1)
        yield from _script([Word(text, words[0].known), *words[1:]], name, depth)
        return
    left, why = _behind_options(words, runner)
    while left and left[0].known and re.match(SETS_IN_FRONT.get(name, "(?!)"), left[0].text):
        yield from _sets(left[:1])
        left = left[1:]
    left = left[runner.skips :]
    if name == "command" and any(re.match(r"-\w*[vV]", word.text) for word in words[:1]):
        return
    if why:
        yield Unknown(f"{name}: {why}")
    elif left and left[0].text in ("{", "(", "!"):
        raise Unparsable(f"{name} in front of a group")
    elif left:
        if name == "xargs":
            mark = _replaced(words[: -len(left)])
            left = [UNKNOWN_WORD if mark and mark in one.text else one for one in left]
            left = [*left, UNKNOWN_WORDS]
        yield from _with_inner(Command(tuple(left)), depth + 1)


def _replaced(options: list[Word]) -> str:
    """The mark in a command of `xargs -I` in the place of which its input stands."""
    for at, word in enumerate(options):
        if found := re.match(r"-\w*I(.*)", word.text, re.DOTALL):
            return found[1] or "".join(one.text for one in options[at + 1 : at + 2])
    return ""


def _behind_options(words: list[Word], runner: Runner) -> tuple[list[Word], str | None]:
    """The words behind the options, and why they are not to be trusted if they are not."""
    flags, valued = runner.flags.split(), runner.valued.split()
    at = 0
    while at < len(words):
        word = words[at]
        if not word.known:
            return [], "its options will only be known when it runs"
        if word.text == "--":
            return words[at + 1 :], None
        if not word.text.startswith("-") or (word.text == "-" and "-" not in flags):
            return words[at:], None
        at += 1
        option, equals, _ = word.text.partition("=")
        if option.startswith("--"):
            if option in valued:
                at += not equals
            elif option not in flags:
                return [], f"its option {option} is not known here"
            continue
        if re.fullmatch(r"-\d+", option) and "-n" in valued:
            continue
        for index, letter in enumerate(word.text[1:], 2):
            if f"-{letter}" in valued:
                at += index == len(word.text)
                break
            if f"-{letter}" not in flags:
                return [], f"its option -{letter} is not known here"
    return [], None


def _shell(name: str, words: list[Word], stdin: Word | None, depth: int) -> Iterator[Effect]:
    """What `sh -c`, or a shell that reads its input, runs."""
    from_text, at = False, 0
    while at < len(words) and words[at].known and re.match(r"[-+].", words[at].text):
        option = words[at].text
        at += 1
        if option == "--":
            break
        if option.startswith("--"):
            at += option in ("--rcfile", "--init-file")
            continue
        from_text |= option[0] == "-" and "c" in option
        at += len(re.findall("[oO]", option))
    operands = words[at:]
    if from_text:
        yield from _script(operands[:1] or [UNKNOWN_WORD], name, depth)
    elif operands:
        yield Unknown(f"{name} runs a file, which is not looked at")
    else:
        yield from _script([stdin or UNKNOWN_WORD], name, depth)


def _script(words: list[Word], name: str, depth: int) -> Iterator[Effect]:
    """What a text runs that a command hands to a shell."""
    if all(word.known and not word.glob for word in words):
        yield from _effects(" ".join(word.text for word in words), depth + 1)
    else:
        yield Unknown(f"what {name} runs will only be known when it runs")


def _sets(words: list[Word]) -> Iterator[Effect]:
    refers = any(re.match(r"-\w*n", word.text) for word in words)
    for word in words:
        name = re.match(r"\w*=(\w+)$" if refers and "=" in word.text else r"(\w*)", word.text)
        if not word.known:
            yield Unknown("which variables it sets will only be known when it runs")
        elif name and changes_what_runs(name[1]):
            yield Unknown(f"it sets {name[1]}, which may change what runs")


def _find(words: list[Word], depth: int) -> Iterator[Effect]:
    if any(word.many for word in words):
        yield Unknown("what find does will only be known when it runs")
    for at, word in enumerate(words):
        if word.text in ("-exec", "-execdir", "-ok", "-okdir"):
            inner = list[Word]()
            for one in words[at + 1 :]:
                if one.text in (";", "+"):
                    break
                inner.append(UNKNOWN_WORD if "{}" in one.text else one)
            yield from _with_inner(Command(tuple(inner)), depth + 1)


def _is_version_of(interpreter: str, name: str) -> bool:
    return re.fullmatch(re.escape(interpreter) + r"[\d.]*", name) is not None


def _has_code(words: list[Word], letters: str) -> bool:
    """Whether an interpreter is given code in its words, or reads it from its input."""
    for before, word in zip([UNKNOWN_WORD, *words], words, strict=False):
        if before.text in ("-W", "-X", "-I", "-C") and not word.text.startswith("-"):
            continue  # the value of that
        if not word.known or word.text in ("-", "--eval", "--print", "--require", "--import"):
            return True
        if word.text in ("-V", "-v", "-h", "--version", "--help", "-m"):
            return False
        if not word.text.startswith("-"):
            return False
        if not word.text.startswith("--") and set(word.text) & set(letters):
            return True
        if word.text.startswith(("--eval=", "--print=", "--require=", "--import=")):
            return True
    return True


def _may_run(name: str, words: list[Word]) -> bool:
    """Whether one of the words may be a command of its own."""
    options = CODE_OPTIONS.get(name, "").split()
    pattern = CODE_WORDS.get(name)
    if name == "git" and any(one.text.startswith("-c") for one in _in_front(words)):
        return True  # its settings name editors, pagers and aliases
    for before, word in zip([UNKNOWN_WORD, *words], words, strict=False):
        if before.text == "-m":
            continue  # a message
        if (options or pattern) and not word.known:
            return True
        if any(_is_option(word.text, option) for option in options):
            return True
        if pattern and re.search(pattern, word.text):
            return True
    return False


def _in_front(words: list[Word]) -> Iterator[Word]:
    """The options of git itself."""
    left = iter(words)
    for word in left:
        if not word.text.startswith("-"):
            return
        yield word
        if word.text in ("-C", "--git-dir", "--work-tree", "--namespace"):
            next(left, None)


def _is_option(text: str, option: str) -> bool:
    if option.startswith("--"):
        given = text.partition("=")[0]
        return len(given) > 3 and option.startswith(given)
    return text.startswith(option)
