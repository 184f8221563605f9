"""The secrets of one session, each with the placeholder that stands for it."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

from kinds import FOUND_BY_CONTEXT, SHORTEST, Found, Kinds, SettingsError, check_kind

PLACEHOLDER = re.compile(r"REDACTED_([A-Z][A-Z0-9_]{0,31})_[0-9a-f]{12}")
PLACEHOLDER_CHARS = len("REDACTED__") + 32 + 12
MOST_LEARNED = 256
"""Secrets that a context has told, searched by value: each is one more search in each new text."""
MOST_SECRETS = 20_000
"""A text may hold any number of what looks like one; those beyond cannot be put back."""
MOST_SEEN_CHARS = 8 * 1024 * 1024
"""Twice what the host sends at once, so that a conversation is never forgotten while it is read."""


SHELL_READS = re.compile(r"[^\w@%+=:,./~^-]", re.ASCII)


class UnknownPlaceholder(Exception):
    """A placeholder of which this session knows no secret; str() is the placeholder."""


class ReadByShell(Exception):
    """A shell may run a part of the secret of a placeholder; str() is the placeholder."""


class Vault:
    """Redacts texts and puts secrets back. All of it is in memory, and goes with the session.

    Args:
        kinds: the patterns.
        named: the user's own values by name, see `named_values`.
        key: what placeholders are made with: the same secret has the same one after a restart.
    """

    def __init__(self, kinds: Kinds, named: Mapping[str, str], key: bytes) -> None:
        self._kinds = kinds
        self._key = key
        self._seen = Seen()
        self._lock = threading.Lock()
        self.secrets: dict[str, str] = {}
        self._learned: dict[str, str] = {}
        self._learned.update(named)
        self._named = frozenset(named)

    @property
    def learned(self) -> int:
        """How many values are searched; it grows when a text has told a new one."""
        return len(self._learned)

    def redacted(self, text: str) -> str | None:
        """The text with a placeholder for each secret; None if there is none."""
        with self._lock:
            if text not in self._seen:
                learned = self.learned
                became = self._redact(text)
                if self.learned > learned:  # the same secret may stand in it once more
                    became = self._redact(text)
                self._seen.add(text, became)
            return self._seen[text]

    def put_back(self, text: str, *, into_shell: bool = False) -> str | None:
        """The text with each secret in its place; None if there is no placeholder.

        Raises:
            UnknownPlaceholder: there is one of another session, or of before a restart.
            ReadByShell: a shell would get what somebody may have written as a command. The user's
                own values are trusted.
        """
        if "REDACTED_" not in text:
            return None

        def secret(match: re.Match[str]) -> str:
            known = self.secrets.get(match[0])
            if known is None:
                raise UnknownPlaceholder(match[0])
            if into_shell and known not in self._named and SHELL_READS.search(known):
                raise ReadByShell(match[0])
            return known

        with self._lock:
            back = PLACEHOLDER.sub(secret, text)
        return None if back == text else back

    def _redact(self, text: str) -> str | None:
        pieces: list[str] = []
        at = 0
        for found in self._covered(text):
            value = text[found.start : found.end]
            if found.kind in FOUND_BY_CONTEXT:
                self._learn(value, found.kind)
            pieces += [text[at : found.start], self._placeholder(value, found.kind)]
            at = found.end
        return "".join([*pieces, text[at:]]) if pieces else None

    def _covered(self, text: str) -> Iterator[Found]:
        """The secrets in the order of the text; those that overlap are one."""
        last: Found | None = None
        for one in sorted(_beside_placeholders(text, self._found_in(text))):
            if last is None or one.start >= last.end:
                if last is not None:
                    yield last
                last = one
            elif one.end > last.end:
                last = last._replace(end=one.end)
        if last is not None:
            yield last

    def _found_in(self, text: str) -> Iterator[Found]:
        yield from self._kinds.found_in(text)
        yield from self._values_in(text)

    def _values_in(self, text: str) -> Iterator[Found]:
        for value, kind in self._learned.items():
            at = text.find(value)
            while at >= 0:
                yield Found(at, at + len(value), kind)
                at = text.find(value, at + len(value))

    def _learn(self, value: str, kind: str) -> None:
        if value not in self._learned and len(self._learned) < len(self._named) + MOST_LEARNED:
            self._learned[value] = kind
            self._seen.forget(value)

    def _placeholder(self, value: str, kind: str) -> str:
        made = hmac.new(self._key, value.encode("utf-8", "surrogatepass"), hashlib.sha256)
        placeholder = f"REDACTED_{self._learned.get(value, kind)}_{made.hexdigest()[:12]}"
        if len(self.secrets) < MOST_SECRETS:
            self.secrets[placeholder] = value
        return placeholder


def _beside_placeholders(text: str, all_found: Iterable[Found]) -> Iterator[Found]:
    """What is found, without the placeholders in it: those were secrets, and are none any more."""
    taken = [match.span() for match in PLACEHOLDER.finditer(text)]
    for found in all_found:
        start = found.start
        for begin, end in taken[bisect_left(taken, (start - PLACEHOLDER_CHARS, 0)) :]:
            if begin >= found.end:
                break
            if begin - start >= SHORTEST:
                yield found._replace(start=start, end=begin)
            start = max(start, end)
        if found.end - start >= SHORTEST:
            yield found._replace(start=start)


class Seen:
    """Texts and what became of them: the last `MOST_SEEN_CHARS` to twice as many."""

    def __init__(self) -> None:
        self._new: dict[str, str | None] = {}
        self._old: dict[str, str | None] = {}
        self._chars = 0

    def __contains__(self, text: str) -> bool:
        if text not in self._new and text in self._old:
            self.add(text, self._old[text])
        return text in self._new

    def __getitem__(self, text: str) -> str | None:
        return self._new[text]

    def add(self, text: str, became: str | None) -> None:
        if self._chars > MOST_SEEN_CHARS:
            self._old, self._new, self._chars = self._new, {}, 0
        self._new[text] = became
        self._chars += len(text)

    def forget(self, value: str) -> None:
        """Forget each text that has this value in it."""
        for texts in (self._new, self._old):
            for text in [text for text in texts if value in text]:
                del texts[text]


def named_values(values: Mapping[str, str]) -> dict[str, str]:
    """The user's values, each with its name, and as they stand in JSON and in a URL.

    Raises:
        SettingsError: a name is no name, or a value is too short.
    """
    found: dict[str, str] = {}
    for name, value in values.items():
        check_kind("values", name)
        if len(value) < SHORTEST:
            raise SettingsError(f"values.{name} has less than {SHORTEST} characters")
        for written in _spellings(value):
            found.setdefault(written, name)
    return found


def _spellings(value: str) -> Iterator[str]:
    yield value
    for ascii_only in (True, False):
        in_json = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield from (in_json, in_json.replace("/", "\\/"))
    for in_url in (quote(value), quote(value, safe=""), quote_plus(value)):
        yield from (in_url, re.sub("%..", lambda byte: byte[0].lower(), in_url))
