"""What a JSON text holds, found before it is decoded: values, levels, slow numbers, doubled names.

No loop in Python runs over what a plugin wrote: each step is one pass in C over a slice, and after
the slice in which a limit is passed nothing more is looked at. So a hostile text costs no more than
a usual one of the same length, and a text may be weighed piece by piece as it comes.
"""

from __future__ import annotations

from array import array
from itertools import accumulate
from typing import Final, Optional

from . import limits
from .names import DoubledName, doubled_name, split_at_quotes

_SLICE: Final = 16 * 1024
_BLANK: Final = b" \t\r\n"
_NOT_SEPARATORS: Final = bytes(set(range(256)) - set(b",:[{"))
_STEPS: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NOT_BRACKETS: Final = bytes(set(range(256)) - set(b"[{]}"))
_NUMBER: Final = b"0123456789+-.eE"
_NUMBERS_ALONE: Final = bytes(byte if byte in _NUMBER else 0x20 for byte in range(256)).replace(
    b"E", b"e"
)
_ALL_DIGITS: Final = bytes(0x30 if byte in _NUMBER else 0x20 for byte in range(256))
_TOO_LONG: Final = b"0" * (limits.MAX_NUMBER_CHARS + 1)
_WITH_E99: Final = b"0" * 209  # a number with so many digits, and an exponent of two
_ANY_DIGIT: Final = bytes.maketrans(b"123456789E", b"000000000e")
_MANTISSA_CHARS: Final = 18  # of a double before its exponent: 17 digits and a point
_FRACTION_CHARS: Final = 32  # of a number with a point; a double has up to 24


class Weight:
    """Counts what is in one JSON text. What is no JSON is counted in some way or other.

    Args:
        most_values: how many it may have.

    Attributes:
        values: objects, arrays, strings, numbers, `true`, `false` and `null`, and the names in
            objects; exact, and more once `excess` is set.
        excess: the first limit of all messages that is passed, as in "it has more than 20,000
            values"; None if none is.
    """

    __slots__ = (
        "_depth",
        "_escape",
        "_in_string",
        "_last",
        "_most_values",
        "_outside",
        "_run",
        "_slow",
        "_string",
        "_strings",
        "excess",
        "values",
    )

    def __init__(self, most_values: int = limits.MAX_MESSAGE_VALUES) -> None:
        self.values = 1
        self.excess: Optional[str] = None
        self._most_values = most_values
        self._in_string = False
        self._escape = b""  # half of an escape at the end of the last slice
        self._last = b""  # the last byte outside of strings
        self._run = b""  # the number at the end of the last slice, which may go on
        self._outside: list[bytes] = []  # with a quote for each string, the unfinished one too
        self._strings: list[bytes] = []
        self._string: list[bytes] = []  # pieces of the unfinished one
        self._depth = 0
        self._slow = 0

    def doubled_name(self) -> Optional[DoubledName]:
        """The first name that stands twice in one object of what came, or None."""
        return doubled_name(b"".join(self._outside), self._strings)

    def add(self, text: bytes) -> None:
        """Count the next piece of the text."""
        for at in range(0, len(text), _SLICE):
            if self.excess is not None:
                return
            self._add_slice(text[at : at + _SLICE])

    def _add_slice(self, text: bytes) -> None:
        outside = self._without_strings(text).translate(None, _BLANK)
        if not outside:
            return
        self._outside.append(outside)
        joined = self._last + outside
        self._last = outside[-1:]
        # each comma begins a value, each colon one more, each bracket too unless it is empty
        self.values += len(outside.translate(None, _NOT_SEPARATORS))
        self.values -= joined.count(b"[]") + joined.count(b"{}")
        # a text with more strings than values is no JSON
        if max(self.values, len(self._strings)) > self._most_values:
            self.excess = f"it has more than {self._most_values:,} values"
            return
        steps = outside.translate(_STEPS, _NOT_BRACKETS)
        if self._depth + len(steps) > limits.MAX_DEPTH and (
            self._depth + max(accumulate(array("b", steps)), default=0) > limits.MAX_DEPTH
        ):
            self.excess = f"it is nested over {limits.MAX_DEPTH} levels deep"
            return
        self._depth += 2 * steps.count(b"\x01") - len(steps)
        self._add_numbers(outside)

    def _without_strings(self, text: bytes) -> bytes:
        """The rest of a slice; a quote stands for each string that begins in it."""
        text = self._escape + text
        escape = (len(text) - len(text.rstrip(b"\\"))) % 2
        if escape:
            text = text[:-1]
        self._escape = b"\\" * escape
        parts = split_at_quotes(text)
        inside, outside = (parts[::2], parts[1::2])[:: 1 if self._in_string else -1]
        if self._in_string:
            self._string.append(inside.pop(0))
            if len(parts) == 1:
                return b""
            self._strings.append(b"".join(self._string))
        self._in_string ^= len(parts) % 2 == 0
        if self._in_string:
            self._string = [inside.pop()]
            outside.append(b"")
        self._strings += inside
        return b'"'.join(outside)

    def _add_numbers(self, outside: bytes) -> None:
        text = self._run + outside.translate(_NUMBERS_ALONE)
        numbers = text.split()
        self._run = b"" if not numbers or text.endswith(b" ") else numbers[-1]
        longest = max(map(len, numbers), default=0)
        if longest > limits.MAX_NUMBER_CHARS:
            self.excess = f"it has a number of more than {limits.MAX_NUMBER_CHARS} characters"
        if self._run:  # it is counted when all of it is there
            numbers.pop()
            text = text[: -len(self._run)]
        digits = text.translate(_ANY_DIGIT, b"+-")
        self._slow += digits.count(b"e000")
        if longest > _FRACTION_CHARS or (longest > _MANTISSA_CHARS and b"e0" in digits):
            self._slow += sum(map(_is_slow, numbers))
        if self._slow > limits.MAX_SLOW_NUMBERS:
            self.excess = (
                f"it has more than {limits.MAX_SLOW_NUMBERS} numbers with an exponent of three"
                " digits, or longer than a double is written"
            )


def _is_slow(number: bytes) -> bool:
    """Whether it is longer than a double is written, and has no exponent of three digits."""
    mantissa, has_exponent, exponent = number.strip(b"-").partition(b"e")
    if has_exponent:
        return len(mantissa) > _MANTISSA_CHARS and len(exponent.strip(b"+-")) < 3
    return len(mantissa) > _FRACTION_CHARS and b"." in mantissa


_LIGHT: Final = Weight()
"""Of every text that is too small to be weighed."""


def weigh(body: bytes, most_values: int = limits.MAX_MESSAGE_VALUES) -> Weight:
    """The weight of a whole text; not to be added to."""
    # a small text may pass two limits: with so many brackets, and with so long a number
    if len(body) > limits.UNWEIGHED_BYTES or (
        len(body) > limits.MAX_NUMBER_CHARS
        and (
            body.count(b"[") + body.count(b"{") > limits.MAX_DEPTH
            or _TOO_LONG in body.translate(_ALL_DIGITS)
        )
    ):
        weight = Weight(most_values)
        weight.add(body)
        return weight
    return _LIGHT


def has_long_number(text: bytes) -> bool:
    """Whether a number in a weighed JSON text may be out of the range of a double.

    True also where something in a string looks like that.
    """
    digits = text.translate(_ANY_DIGIT, b"+-")
    return b"e000" in digits or _WITH_E99 in digits
