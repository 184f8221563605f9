"""Secrets do not reach the trace, however JSON spells them."""

from __future__ import annotations

import itertools
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliphook.quoting import quote
from sliphook.trace.redact import REDACTED, Redactor, spelling
from sliphook.trace.redact.occurrences import Found, Secret, occurrences
from sliphook.trace.redact.secrets import SHORT, Secrets


@pytest.mark.parametrize(
    ("secret", "body", "expected"),
    [
        ("tok-123", b'{"a":"tok-123"}', b'{"a":"[redacted]"}'),
        (
            "tok-123",
            b'{"a":{"b":["x","Bearer tok-123!"]}}',
            b'{"a":{"b":["x","Bearer [redacted]!"]}}',
        ),
        ("tok-123", b'{"tok-123":1}', b'{"[redacted]":1}'),
        ("tok-123", rb'{"a":"{\"b\":\"tok-123\"}"}', rb'{"a":"{\"b\":\"[redacted]\"}"}'),
        ('p"w\\d', rb'{"a":"p\"w\\d"}', b'{"a":"[redacted]"}'),
        ('p"w\\d', rb'{"a":"{\"b\":\"p\\\"w\\\\d\"}"}', rb'{"a":"{\"b\":\"[redacted]\"}"}'),
        ("line\nline", rb'{"a":"line\nline"}', b'{"a":"[redacted]"}'),
        ("line\nline", rb'{"a":"line\u000aline"}', b'{"a":"[redacted]"}'),
        ("a/b/c/d", rb'{"a":"a\/b\/c/d"}', b'{"a":"[redacted]"}'),
        ("geheimé", rb'{"a":"geheim\u00E9"}', b'{"a":"[redacted]"}'),
        ("geheimé", '{"a":"geheimé"}'.encode(), b'{"a":"[redacted]"}'),
        ("key😀key", rb'{"a":"key\ud83d\ude00key"}', b'{"a":"[redacted]"}'),
        ("tok-123", b"a traceback with tok-123 in it", b"a traceback with [redacted] in it"),
        (
            "1234",
            b'{"pin":1234,"pins":[1234],"count":12345}',
            b'{"pin":"[redacted]","pins":["[redacted]"],"count":12345}',
        ),
        ("BEGIN KEY\nabcdefgh\nEND", b"the key: abcdefgh, END", b"the key: [redacted], END"),
        ("1234", b'{"pin": 1234\n}', b'{"pin": "[redacted]"\n}'),
        ("1234", b'{"t":1234.5,"u":0.1234}', b'{"t":1234.5,"u":0.1234}'),
        ("42", rb'{"a":"{\"pin\":42}"}', rb'{"a":"{\"pin\":\"[redacted]\"}"}'),
        ("42", b'{"a":"[42]"}', b'{"a":"[null]"}'),
        ("٤٧١١", "pin ٤٧١١".encode(), b"pin [redacted]"),
        ("1e20", b'{"pin":1e20}', b'{"pin":"[redacted]"}'),
        (
            "1",
            b'[1,11,1.1,1.,".1",0.1,"1","11",-1,1e1,1]',
            b'["[redacted]",11,1.1,1.,".1",0.1,"[redacted]","11",-1,1e1,"[redacted]"]',
        ),
        (
            "p\xa0w\x7f\x1bd",
            rb"p\xa0w\x7f\x1bd and p\u00a0w\u007f\u001bd",
            b"[redacted] and [redacted]",
        ),
        ("key\U000e0041key", rb"a 'key\U000E0041key'", b"a '[redacted]'"),
        ("key\U000e0041key", rb"\U00110041key\x4", rb"\U00110041key\x4"),
        ("key-\udcff\udc80", rb"stray: key-\xff\x80", b"stray: [redacted]"),
        (
            "tok\x1b-123",
            rb"{'a': 'tok\x1b-123', 'b': 'tok\\x1B-123'}",
            b"{'a': '[redacted]', 'b': '[redacted]'}",
        ),
        ("tok\x1b-123", "tok\\x1b-1… and tok\\x1…".encode(), "[redacted]… and tok\\x1…".encode()),
        ("tok-\x1b123", '{"a":"tok-\\u00…'.encode(), '{"a":"[redacted]\\u00…'.encode()),
        ("tok-123", "stray: Bearer tok-1…".encode(), "stray: Bearer [redacted]…".encode()),
        (
            "tok-123",
            'tok-… and "tok-12…" and to…'.encode(),
            '[redacted]… and "[redacted]…" and to…'.encode(),
        ),
        ("yes", b'{"yesterday":"yes"}', b'{"yesterday":"[redacted]"}'),
        (
            "yes",
            rb'{"a":"{\"b\":\"yes\"}","c":"yesterday"}',
            rb'{"a":"{\"b\":\"[redacted]\"}","c":"yesterday"}',
        ),
    ],
)
def test_a_secret_is_found_in_every_spelling(secret: str, body: bytes, expected: bytes) -> None:
    assert Redactor([secret]).data(body) == expected


def test_the_longer_of_two_secrets_goes_whole() -> None:
    assert Redactor(["abcd", "abcdefgh"]).text("abcdefgh abcd") == "[redacted] [redacted]"


def test_a_secret_may_become_known_later() -> None:
    redactor = Redactor()
    assert redactor.text("tok-123") == "tok-123"
    redactor.add(["tok-123", ""])
    assert redactor.text("tok-123") == "[redacted]"


def in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def in_json_of_any_letters(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def in_units(text: str) -> str:
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def in_units_of_capitals(text: str) -> str:
    return in_units(text).upper().replace("U", "u")


SPELLINGS = [in_json, in_json_of_any_letters, in_units, in_units_of_capitals]
letters = st.one_of(st.sampled_from('\\"/ \n\tbnu0041é😀[]'), st.characters(codec="utf-8"))
secrets = st.text(letters, min_size=6, max_size=30).filter(
    lambda secret: len(secret.replace("\\", "")) >= 4 and not secret.strip().isdigit()
)


@given(
    secret=secrets,
    before=st.text(letters, max_size=8),
    behind=st.text(letters, max_size=8),
    spellings=st.lists(st.sampled_from(SPELLINGS), max_size=4),
    others=st.lists(secrets, max_size=3),
)
def test_no_spelling_at_any_depth_hides_a_secret(
    secret: str,
    before: str,
    behind: str,
    spellings: list[Callable[[str], str]],
    others: list[str],
) -> None:
    spelled = secret
    for spell in spellings:
        spelled = spell(spelled)
    redacted = Redactor([*others, secret]).text(f"{before}{spelled}{behind}")
    assert REDACTED in redacted
    assert secret in REDACTED or spelled not in redacted.replace(REDACTED, "\0")


@given(
    secret=st.text(
        st.one_of(
            st.sampled_from('\\"x0\n\x08\x1b\x7f\x85\xa0\xad\ufeff\udc80é😀\U000e0041'),
            st.characters(exclude_characters="|…'"),
        ),
        min_size=8,
        max_size=30,
    ).filter(lambda secret: len(secret.replace("\\", "")) >= 4),
    before=st.integers(0, 50),
    behind=st.integers(0, 50),
    written=st.sampled_from([str, repr, in_json, in_json_of_any_letters]),
    limit=st.integers(40, 120),
)
def test_a_line_that_was_quoted_and_cut_shows_no_secret(
    secret: str, before: int, behind: int, written: Callable[[str], str], limit: int
) -> None:
    line = quote(written("|" * before + secret + "|" * behind), limit)
    shown = Redactor([secret]).text(line).replace(REDACTED, "").replace("'", "")
    left = re.sub(r"(\\[uxU]?[0-9a-f]{0,7})?…$", "", shown).strip("|")
    # of one that is cut so much may be seen
    assert len(spelling.stripped(spelling.decoded(left.encode()))) < SHORT


@given(text=st.text(st.sampled_from('abcd\\"u0041\n {}[],:…1😀'), max_size=200))
def test_a_text_without_a_secret_stays_as_it_is(text: str) -> None:
    redactor = Redactor(["token-xyz", "other-xyz-\\-more", "99", "qqq", "77777", "xyz\n\tq/\\"])
    assert redactor.text(text) == text


@given(
    value=st.recursive(
        st.one_of(st.text(letters), st.just("the token-xyz\\"), st.just("1234")),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(st.text(max_size=3), inner, max_size=3),
            inner.map(json.dumps),
        ),
        max_leaves=10,
    )
)
def test_json_stays_json(value: object) -> None:
    redactor = Redactor(["token-xyz\\", "\nab", '"/"/"', "1234", "xx"])
    json.loads(redactor.text(json.dumps(value)))


@given(
    secret=st.text(st.sampled_from("tokenXYZ"), min_size=8, max_size=600),
    before=st.integers(0, 20),
    limit=st.integers(0, 700),
    spell=st.sampled_from([str, in_units]),
)
def test_what_is_cut_shows_no_secret_in_part(
    secret: str, before: int, limit: int, spell: Callable[[str], str]
) -> None:
    spelled = spell(secret)
    whole = "." * before + spelled + "." * 20_000
    shown = Redactor([secret]).data(whole.encode(), limit)
    assert spelled[:1] not in shown.decode().replace(REDACTED, "")
    assert len(shown) <= limit + len(REDACTED)


def test_a_long_secret_is_hidden_as_far_as_it_is_shown() -> None:
    secret = "".join(f"n{number:03}" for number in range(100))
    shown = Redactor([secret]).text(f"a {secret[:300]} b {secret[:200]}… c {secret[:200]}")
    assert shown == f"a {REDACTED} b {REDACTED}… c {secret[:200]}"


def test_backslashes_alone_are_no_secret() -> None:
    assert Redactor(["\\\\\\\\", "a\\\\\\"]).text("a \\\\\\\\ a") == "a \\\\\\\\ a"


def test_of_two_secrets_that_overlap_nothing_is_left() -> None:
    assert Redactor(["abcdef", "defghi"]).text("abcdefghi") == REDACTED


def test_a_text_that_is_full_of_secrets_is_hidden_as_a_whole() -> None:
    redactor = Redactor(["abcd"])
    dots = "." * 100
    assert redactor.text("abcd " * 17) == f"{REDACTED} " * 17
    assert redactor.text("abcd " * 20) == REDACTED
    assert redactor.text(f"abcd{dots}" * 1_000) == f"{REDACTED}{dots}" * 1_000
    assert redactor.text(f"abcd{dots}" * 1_001) == REDACTED


def test_many_short_secrets_are_found_wherever_they_stand() -> None:
    secrets = [f"{number:03x}-"[:length] for number in range(700) for length in (2, 3, 4)]
    redactor = Redactor([*secrets, *(f"{secret}ab" for secret in secrets)])
    for secret in ("2bb-", "05aab", "05a-ab"):
        for before in range(5):
            text = f"{'.' * before}{secret}."
            assert redactor.text(text) == text.replace(secret, REDACTED), text
    for secret in ("2b", "05a"):
        assert redactor.text(f'{secret} "{secret}"') == f'{secret} "{REDACTED}"'


def _each(piece: bytes, numbers: int) -> bytes:
    return b"".join(piece % (number % numbers) for number in range(16_000))


@pytest.mark.parametrize(
    ("secrets", "text"),
    [
        ([f"x{number:04}" for number in range(10_000)], b"y" * 100_000),
        # their beginnings, and what has one of them inside of it
        ([f"x{number:04}" for number in range(10_000)], _each(b"x%03dz ", 1_000)),
        ([f"x{number:04}" for number in range(10_000)], b"x" * 100_000),
        ([f"to{number:04x}" for number in range(2_000)], _each(b"to%02xzz ", 256)),
        (
            [f"{number}" for number in range(10_000, 13_000)],
            _each(b"91%04d1 ", 3_000),
        ),
        (
            [f"{number}" for number in range(1_000_000, 1_003_000)],
            _each(b"9100%04d1 ", 3_000),
        ),
        ([f"{'1' * number}" for number in range(1, 41)], b"1" * 50_000 + b" 1" * 25_000),
        ([f"{'a' * at}b{'a' * (200 - at)}" for at in range(4, 196)], b"aaab" + b"a" * 100_000),
        ([f"{'ab' * number}c" for number in range(4, 120)], b"ababcababab" * 10_000),
    ],
    ids=[
        "other",
        "beginnings",
        "x",
        "alike",
        "numbers",
        "long numbers",
        "ones",
        "periods",
        "ends of periods",
    ],
)
def test_many_secrets_take_no_time_each(secrets: list[str], text: bytes) -> None:
    redactor = Redactor(secrets)
    began = time.thread_time()
    redactor.data(text)
    # one by one it is up to seconds
    assert time.thread_time() - began < 0.2


PERIODIC = [f"{'a' * at}b{'a' * (200 - at)}" for at in range(4, 196)]


def test_a_text_in_which_many_secrets_must_be_searched_for_one_by_one_is_hidden_as_a_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[Secret] = []

    def counted(secret: Secret, text: bytes, windows: Iterable[int]) -> Iterator[Found]:
        searched.append(secret)
        return occurrences(secret, text, windows)

    monkeypatch.setattr("sliphook.trace.redact.secrets.occurrences", counted)
    line = ("aaab" + "a" * 90) * 20
    assert Redactor(PERIODIC).text(line) == REDACTED
    assert searched == []
    few = PERIODIC[:4]
    assert Redactor(few).text(f"{line}. {few[2]}.") == f"{line}. {REDACTED}."
    assert len(searched) <= 4


def test_of_many_secrets_each_is_found_in_a_line() -> None:
    secrets = [f"token-{at:04}-{at:04}" for at in range(512)]
    redactor = Redactor([*secrets, *PERIODIC])
    for secret in secrets[::16]:
        assert redactor.text(f"x {secret} y") == f"x {REDACTED} y"
    for secret in PERIODIC[::16]:
        assert secret not in redactor.text(f"x {secret} y")


HEXES: list[Callable[[str], str]] = [
    lambda text: "".join(f"\\x{byte:02x}" if byte < 0x80 else chr(byte) for byte in map(ord, text)),
    lambda text: "".join(f"\\U{ord(char):08x}" for char in text),
    lambda text: text.replace("\\", "\\x5c"),
]


@given(
    known=st.lists(st.text("tokenXYZ", min_size=7, max_size=12), min_size=1, max_size=3),
    between=st.text(" .|", min_size=1, max_size=5),
    spellings=st.lists(st.sampled_from([in_units, str, *HEXES]), max_size=4),
    others=st.sampled_from([[], PERIODIC, [f"x{number:03}" for number in range(64)]]),
)
def test_each_of_several_secrets_is_hidden_in_a_chain_of_escapes_and_no_more_than_they_are(
    known: list[str],
    between: str,
    spellings: list[Callable[[str], str]],
    others: list[str],
) -> None:
    pieces = [*known, between]
    for spell in spellings:
        pieces = [spell(piece) for piece in pieces]
    *shown, gap = pieces
    assert Redactor([*others, *known]).text(gap.join(shown)) == gap.join([REDACTED] * len(shown))


@given(
    text=st.lists(
        st.sampled_from(["\\", "\\", "u0041", "x4", "1", "…", "U0001f600", "é", "\n"])
    ).map("".join),
    size=st.sampled_from([16, 40, 1_000]),
)
def test_each_byte_of_a_form_comes_from_a_part_of_the_text(text: str, size: int) -> None:
    data = text.encode()
    with patch.object(spelling, "PIECE", size):
        for form, pieces in (
            (spelling.stripped, spelling.stripped_pieces),
            (spelling.decoded, spelling.decoded_pieces),
        ):
            length = len(form(data))
            each = spelling.sources([(at, at + 1) for at in range(length)], pieces(data))
            parts = sorted(set(each))
            assert each == sorted(each)
            assert all(one[1] <= other[0] for one, other in itertools.pairwise(parts))
            assert b"".join(form(data[start:end]) for start, end in parts) == form(data)
            if length:
                whole = spelling.sources([(0, length)], pieces(data))
                assert whole == [(parts[0][0], parts[-1][1])]


def test_long_work_is_done_in_steps_with_pauses_between_them() -> None:
    pauses: list[None] = []
    redactor = Redactor(PERIODIC, pause=lambda: pauses.append(None))
    redactor.data(b"\\x41" * 50_000)
    assert len(pauses) >= 20


def found(secrets: Iterable[str], text: bytes) -> set[tuple[int, int, bytes]]:
    known = Secrets()
    known.add(secrets)
    return {(one.start, one.end, one.secret.text) for one in known.find(text)}


@given(
    secrets=st.sets(st.text("ab", min_size=2, max_size=9), max_size=12),
    text=st.text('ab"', max_size=60),
    before=st.sampled_from([0, 1, 32 * 1024 - 5, 32 * 1024 - 1, 32 * 1024]),
)
def test_among_many_short_secrets_the_same_are_found(
    secrets: set[str], text: str, before: int
) -> None:
    data = b"." * before + text.encode()
    many = [f"x{number:04}"[: 2 + number % 4] for number in range(64)]
    assert found([*secrets, *many], data) == found(secrets, data)


@given(
    secrets=st.sets(
        st.from_regex(r"-?[01]{1,9}(\.[01]{1,2})?(e[+-]?1)?", fullmatch=True), max_size=5
    ),
    text=st.text("01-.e+ ", max_size=60),
    before=st.sampled_from([0, 32 * 1024 - 5, 32 * 1024, 32 * 1024 + 256 - 5]),
)
def test_numbers_are_found_where_their_digits_do_not_go_on(
    secrets: set[str], text: str, before: int
) -> None:
    data = b"10.1" + b" " * before + text.encode()
    expected = {
        (one.start(), one.end(), number)
        for number in map(str.encode, secrets)
        for one in re.finditer(rb"(?<![0-9])(?<![0-9]\.)%b(?!\.?[0-9])" % re.escape(number), data)
    }
    assert found(secrets, data) == expected


def test_a_number_that_ends_with_a_piece_of_the_text_is_not_hidden_in_a_longer_one() -> None:
    text = b"98761234 ".ljust(32 * 1024 + 256 - 8, b".") + b"9876123455"
    assert Redactor(["98761234"]).data(text) == b"[redacted]" + text[8:]


def test_of_the_lines_of_secrets_a_limited_number_is_hidden_alone() -> None:
    texts = [
        "\n".join(f"line {text:02} {number:04} of a key" for number in range(200))
        for text in range(20)
    ]
    redactor = Redactor(texts)
    assert redactor.text("x line 00 0127 of a key") == f"x {REDACTED}"
    assert redactor.text("x line 00 0128 of a key") == "x line 00 0128 of a key"
    assert redactor.text("x line 07 0127 of a key") == f"x {REDACTED}"
    assert redactor.text("x line 08 0000 of a key") == "x line 08 0000 of a key"
    assert redactor.text(f"x {texts[19]}") == f"x {REDACTED}"


@pytest.mark.parametrize(
    "text",
    [
        b"\\" * 100_000,
        b"\\u0041" * 30_000,
        b"\\u" * 50_000,
        b"a" * 100_000,
        b"\\\\u00" * 25_000,
        b"\\x41" * 30_000,
        b"\\U0001f600" * 15_000,
        "\\u00…".encode() * 20_000,
    ],
)
def test_no_step_of_the_work_is_long(text: bytes) -> None:
    pieces = list(spelling.pieces(text))
    assert max(end - start for start, end in pieces) <= 32 * 1024
    assert b"".join(text[start:end] for start, end in pieces) == text
    assert b"".join(spelling.decoded(text[start:end]) for start, end in pieces) == spelling.decoded(
        text
    )
