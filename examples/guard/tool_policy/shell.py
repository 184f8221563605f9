"""What a shell's text would do, as far as that can be known before it runs.

The text is parsed by tree-sitter-bash. bashlex was tried too: it knows no `case` and no `((`, gives
up where some hundred things are nested, and is under the GPL; tree-sitter takes all of bash in
linear time. It differs from bash in places, so what it leaves over or seems to have misread is
refused here: `Unparsable`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from .variables import calculates, evaluates, named_in_arithmetic, set_by_default, that_change
from .words import UNKNOWN_WORD, UNKNOWN_WORDS, Word, bare, quoted

MAX_BYTES = 16_384
"""What is wrong text takes the parser quadratic time: 1 s for so much."""
MAX_NODES = 20_000
MAX_DEPTH = 100

_LANGUAGE = Language(tree_sitter_bash.language())
_RESERVED = (
    *("!", "{", "}", "[[", "]]", "if", "then", "elif", "else", "fi", "do", "done", "case", "esac"),
    *("while", "until", "for", "select", "function", "in"),
)
_READS = ("read", "mapfile", "readarray")
_DELIMITER = re.compile(r"""\\?(\w+)|'([^'\\\n]+)'|"([^"\\$`\n]+)\"""")
_BLANK = re.compile(r"(?:^|[^\\])(?:\\\\)*\s")
_SUBSTITUTION = re.compile(r"(?:^|[^\\])(?:\\\\)*(?:`|\$\()")


class Unparsable(Exception):
    """It cannot be said what a shell would make of this."""


@dataclass(frozen=True)
class Command:
    """A command that may run, in whatever branch it stands; `stdin`: what it reads, if known."""

    words: tuple[Word, ...]
    stdin: Word | None = None


@dataclass(frozen=True)
class Redirect:
    """A file that is opened; `kind` is `read` or `write`."""

    kind: str
    target: Word


@dataclass(frozen=True)
class Unknown:
    """Something that only the run will show."""

    why: str


Effect = Command | Redirect | Unknown


def parse(text: str) -> list[Effect]:
    """All that the script may do, its branches, functions and substitutions too.

    Raises Unparsable.
    """
    source = text.encode()
    if len(source) > MAX_BYTES:
        raise Unparsable(f"the command has more than {MAX_BYTES:,} bytes")
    if "\0" in text:
        raise Unparsable("the command has a NUL")
    root = Parser(_LANGUAGE).parse(source).root_node
    if root.has_error:
        raise Unparsable("the command cannot be parsed")
    if root.descendant_count > MAX_NODES:
        raise Unparsable("the command has too many parts")
    reader = _Reader(source)
    reader.covers(root, 0, len(source))
    reader.visit(root, 0)
    return reader.effects


class _Reader:
    """Goes through one tree, and collects what it finds."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._calculates = self._evaluates = self._has_index = self._takes_text = False
        self.effects: list[Effect] = []

    def text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode()

    def covers(self, node: Node, begin: int, end: int) -> None:
        """Raise Unparsable if there is more than white space between the parts, or less."""
        at, before = begin, ""
        for part in (*node.children, None):
            until = part.start_byte if part else end
            begins = part and until == at and part.type in _BEGINS_A_WORD
            if begins and before in _ENDS_A_WORD and node.type in _HAS_WORDS:
                raise Unparsable("the command has words that a shell may read as one")
            before = part.type if part else ""
            gap = self._source[at:until]
            blank = gap.replace(b"\\\n", b"")
            if blank.strip(b" \t\n") or (gap and not blank and node.type != "string"):
                raise Unparsable("the command has a part that a shell may read in another way")
            if b"\n" in blank and node.type in _ONE_LINE:
                raise Unparsable("the command has lines that a shell may read apart")
            at = part.end_byte if part else end

    def visit(self, node: Node, depth: int) -> None:
        """Collect the effects of a node and of all in it."""
        if depth > MAX_DEPTH:
            raise Unparsable("the command is nested too deep")
        kind = node.type
        if not node.children:
            self._leaf(node)
        elif depth:
            self.covers(node, node.start_byte, node.end_byte)
        if kind == "redirected_statement":
            self._redirected(node)
        elif kind == "command" and (node.parent is None or not _is_body(node)):
            self._command(node, [], None)
        elif kind in ("declaration_command", "unset_command"):
            self._found(Command(tuple(self._words(node.children))))
        elif kind == "file_redirect":
            self._file(node)
        elif kind == "heredoc_redirect":
            self._ends(node)
        elif kind == "variable_assignment":
            self._assignment(node)
        elif kind == "command_substitution" and re.match(r"`.*\\", self.text(node), re.DOTALL):
            self._found(Unknown("it has a backslash between backquotes"))
        elif kind == "expansion" and self.text(node).endswith("@P}"):
            self._found(Unknown("it evaluates the text of a variable"))
        elif kind == "expansion" and "'" in self.text(node) and _parent(node) == "string":
            raise Unparsable("shells differ about a quote in ${}")
        self._variables(node)
        if kind in ("compound_statement", "test_command") and self.text(node)[:2] in ("((", "[["):
            self._commands_of_sh(self.text(node)[2:-2])
        for child in node.children:
            self.visit(child, depth + 1)
        text_counts = (self._calculates and self._has_index) or (
            self._evaluates and self._takes_text
        )
        if depth == 0 and text_counts:
            self._found(Unknown("it calculates with a text that may have commands in it"))

    def _variables(self, node: Node) -> None:
        """What it sets without a command, and whether it calculates with what texts say."""
        kind, text = node.type, self.text(node)
        self._calculates |= calculates(kind, text)
        self._evaluates |= evaluates(kind, text)
        if names := named_in_arithmetic(kind, text):
            self._sets(names)
        elif kind == "for_statement":
            values = node.children_by_field_name("value")
            self._sets(map(self.text, node.children_by_field_name("variable")))
            self._takes_text |= any(set(self.text(value)) & set("*?") for value in values)
        elif kind == "expansion":
            self._sets(set_by_default(text))
        self._takes_text |= kind == "command_substitution"

    def _sets(self, names: Iterable[str]) -> None:
        for name in that_change(names):
            self._found(Unknown(f"it sets {name}, which may change what runs"))

    def _commands_of_sh(self, text: str) -> None:
        """What sh runs where bash calculates or compares: it knows neither `((` nor `[[`."""
        for part in re.split(r"&&|\|\||[()]", text):
            if words := part.split():
                self._found(Command(tuple(map(Word, words))))

    def _found(self, effect: Effect) -> None:
        self.effects.append(effect)

    def _leaf(self, node: Node) -> None:
        """Raise Unparsable if a text has a substitution in it that the parser has not seen."""
        text = self.text(node)
        if node.type == "comment":
            before = self._source[: node.start_byte][-1:]
            if before not in b" \t\n;&|()":
                raise Unparsable("a comment may be none")
            return
        if node.type in ("word", "number", "variable_name") and _BLANK.search(text):
            raise Unparsable("the command has words that a shell may read apart")
        if node.type == "ansi_c_string" and "\\'" in text:
            raise Unparsable("shells differ about a quote in $''")
        literal = node.type in ("raw_string", "ansi_c_string", "heredoc_start", "heredoc_end")
        if node.type == "heredoc_body" and node.parent is not None:
            literal = _quoted_heredoc(node.parent)
        self._has_index |= node.is_named and node.type != "heredoc_body" and "[" in text
        if not literal and node.is_named and _SUBSTITUTION.search(text):
            raise Unparsable("the command has a substitution that a shell may read in another way")

    def _redirected(self, node: Node) -> None:
        """A command with redirections; words that stand behind a file's name are the command's."""
        body, stdin, more = node.child_by_field_name("body"), None, list[Node]()
        for redirect in node.children_by_field_name("redirect"):
            if redirect.type == "file_redirect":
                behind = _destinations(redirect)[1:]
                more += behind
                if behind and redirect.children[0].type in ("&>", "&>>"):
                    self._found(Command(tuple(self._words(behind))))  # `a & >b c` for a plain sh
            elif redirect.type == "herestring_redirect":
                stdin = self._word(redirect.children[-1])
            else:
                stdin = self._heredoc(redirect)
                for part in redirect.children:
                    if part.type == "file_redirect":
                        more += _destinations(part)[1:]
                    elif part.type in _WORDS:
                        more.append(part)
        if body is not None and body.type == "command":
            self._command(body, more, stdin)
        elif more:
            raise Unparsable("words stand behind a redirection")

    def _ends(self, node: Node) -> None:
        """Raise Unparsable if a here-document may end elsewhere."""
        parts = {part.type: part for part in node.children}
        start, end = parts["heredoc_start"], parts["heredoc_end"]
        delimiter = _DELIMITER.fullmatch(self.text(start))
        word = next(filter(None, delimiter.groups())) if delimiter else None
        lines = self._source[node.start_byte : end.end_byte].decode().split("\n")[1:]
        if "<<-" in parts:
            lines = [line.lstrip("\t") for line in lines]
        last = self._source[end.end_byte : end.end_byte + 1] in (b"", b"\n")
        if word is None or lines[-1:] != [word] or lines.count(word) > 1 or not last:
            raise Unparsable("a here-document may end elsewhere")

    def _heredoc(self, node: Node) -> Word:
        """What a here-document gives, if it has no expansions."""
        bodies = [part for part in node.children if part.type == "heredoc_body"]
        text = "".join(map(self.text, bodies))
        return Word(text) if _quoted_heredoc(node) or not set(text) & set("$`\\") else UNKNOWN_WORD

    def _command(self, node: Node, more: list[Node], stdin: Word | None) -> None:
        parts = list[Node]()
        for child in node.children:
            if child.type == "file_redirect":
                more = [*more, *_destinations(child)[1:]]
            elif child.type == "herestring_redirect":
                stdin = self._word(child.children[-1])
            elif child.type not in ("variable_assignment", "subshell"):
                parts.append(child)
        words = tuple(self._words([*parts, *more]))
        self._takes_text |= bool(words) and words[0].text in _READS
        if words and words[0].text in _RESERVED:
            raise Unparsable(f"{words[0].text} stands in the place of a command")
        self._found(Command(words, stdin))

    def _file(self, node: Node) -> None:
        targets = _destinations(node)
        operator = next((part.type for part in node.children if not part.is_named), "")
        target = self._word(targets[0]) if targets else UNKNOWN_WORD
        if operator in ("<&", ">&") and re.fullmatch(r"\d+-?|-", target.text):
            return
        if target.text not in ("/dev/null", "/dev/stdout", "/dev/stderr"):
            self._found(Redirect("read" if operator == "<" else "write", target))

    def _assignment(self, node: Node) -> None:
        self._sets(re.findall(r"^\w+", self.text(node)))
        self._has_index |= "$'" in self.text(node)

    def _words(self, nodes: list[Node]) -> Iterator[Word]:
        for node in nodes:
            if node.type == "variable_assignment":
                yield Word(self.text(node))
            elif node.type != "comment":
                yield self._word(node)

    def _word(self, node: Node) -> Word:
        """A word as the command gets it."""
        kind, text = node.type, self.text(node)
        if kind in ("command_name", "variable_name") and node.children:
            return self._word(node.children[0])
        if kind == "raw_string":
            return self._checked(Word(text[1:-1]))
        if kind == "string":
            parts = {child.type for child in node.children if child.is_named}
            if parts - {"string_content"}:
                return UNKNOWN_WORDS if "@" in text else UNKNOWN_WORD
            return self._checked(quoted(text[1:-1]))
        if kind == "concatenation":
            return self._checked(self._joined(node))
        if kind in ("word", "number", "variable_name") or not node.is_named:
            return self._checked(bare(text))
        return UNKNOWN_WORDS

    def _joined(self, node: Node) -> Word:
        """A word of several parts, such as `r''m`; braces make many words of it."""
        parts = [self._word(child) for child in node.children]
        bare = "".join(self.text(child) for child in node.children if child.type == "word")
        text = self.text(node)
        if "{" in bare and ("," in text or ".." in text or re.fullmatch(r"\{\w+\}", text)):
            return UNKNOWN_WORDS
        if not all(part.known for part in parts):
            return UNKNOWN_WORDS if any(part.many for part in parts) else UNKNOWN_WORD
        return Word("".join(part.text for part in parts), glob=any(part.glob for part in parts))

    def _checked(self, word: Word) -> Word:
        """The index of an array is evaluated, whatever quotes it stands in."""
        if "[" in word.text and ("$(" in word.text or "`" in word.text):
            self._found(Unknown("it has an index in which a command may stand"))
        self._has_index |= "[" in word.text and not word.glob
        return word


_WORDS = {
    *("word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation"),
    *("number", "expansion", "simple_expansion", "command_substitution", "process_substitution"),
    *("arithmetic_expansion", "brace_expression"),
}
_BEGINS_A_WORD = _WORDS | {"command_name"}
_ENDS_A_WORD = _BEGINS_A_WORD | {"variable_assignment", "file_redirect", "herestring_redirect"}
_ONE_LINE = (
    *("command", "declaration_command", "unset_command", "file_redirect", "herestring_redirect"),
    "redirected_statement",
)
_HAS_WORDS = (*_ONE_LINE, "for_statement", "array", "case_statement")


def _is_body(node: Node) -> bool:
    """Whether the command has redirections behind it, with which it was read."""
    parent = node.parent
    return (
        parent is not None
        and parent.type == "redirected_statement"
        and parent.child_by_field_name("body") == node
    )


def _parent(node: Node) -> str:
    return node.parent.type if node.parent is not None else ""


def _destinations(node: Node) -> list[Node]:
    return [part for part in node.children if part.is_named and part.type in _WORDS]


def _quoted_heredoc(node: Node) -> bool:
    """Whether nothing is expanded in a here-document."""
    starts = [part for part in node.children if part.type == "heredoc_start"]
    return bool(starts) and bool(set(starts[0].text or b"") & set(b"'\"\\"))
