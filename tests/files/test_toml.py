"""TOML that people edit: every mistake is named with its file, its line and what would be right."""

from __future__ import annotations

import codecs
import os
import time
from pathlib import Path

import pytest

from sliphook.files.toml import (
    TomlError,
    _line_of_long_key,  # pyright: ignore[reportPrivateUsage]
    line_of,
    parse_toml,
    read_toml,
)
from sliphook.registry.keys import PluginKeys, check_plugin_keys

RECORDED = """\
[recorded]
path = "/bin/guard"
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
installed = 2026-01-01T00:00:00Z
manifest = '{"protocol_version":1,"name":"guard"}'
"""
WHOLE = """\
grants = ["inject"]
timeout_cap_s = 2
[config]
a = {b = [1, 2.5, true, "x"]}
[hooks.stop]
off = true
"""
FILE = Path("guard.toml")


def read(text: str) -> PluginKeys:
    return parse_toml(text, PluginKeys, FILE, check_plugin_keys)


def test_a_whole_file_is_read() -> None:
    keys = read(WHOLE + RECORDED)
    assert keys.grants == {"inject"}
    assert keys.timeout_cap_s == 2.0
    assert keys.config == {"a": {"b": [1, 2.5, True, "x"]}}
    assert keys.overrides["stop"].off is True
    assert keys.recorded.path == "/bin/guard"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("enabled = flase", "line 1: it is no TOML: invalid value"),
        ("a = 1\na = 2", "line 2: it is no TOML: cannot overwrite a value"),
        ("x = '''", "at its end: it is no TOML: "),
        (
            "enabled = true\nenabeld = false",
            "line 2: enabeld: there is no such key; did you mean enabled?",
        ),
        (
            "zzz = 1",
            "line 1: zzz: there is no such key; there are enabled, order, grants, env, servers, "
            "timeout_cap_s, sandbox, pin, config, hooks, recorded",
        ),
        ('enabled = "yes"', "line 1: enabled: it must be true or false, and is the text 'yes'"),
        ("order = 1.5", "line 1: order: it must be a whole number, and is 1.5"),
        ("order = true", "line 1: order: it must be a whole number, and is true"),
        ("timeout_cap_s = [1]", "line 1: timeout_cap_s: it must be a number, and is a list"),
        ("timeout_cap_s = 0", "line 1: timeout_cap_s: 0 is no timeout: give 0.05 to 600 seconds"),
        (
            "timeout_cap_s = nan",
            "line 1: timeout_cap_s: nan is no timeout: give 0.05 to 600 seconds",
        ),
        (
            'grants = "inject"',
            "line 1: grants: it must be a list, in [ ], and is the text 'inject'",
        ),
        (
            'grants = ["injekt"]',
            "line 1: grants: the text 'injekt' does not go there; did you mean inject?",
        ),
        (
            "grants = [1]",
            "line 1: grants: 1 does not go there; there are notify, tools, inject, interrupt",
        ),
        ("grants = {a = 1}", "line 1: grants: it must be a list, in [ ], and is a table"),
        ('env = ["A", 1]', "line 1: env: it must be text in quotes, and is 1"),
        (
            "[hooks]\n'x` - at `$.hooks' = {off = 3}",
            "line 2: hooks.x` - at `$.hooks.off: it must be true or false, and is 3",
        ),
        (
            "'x` - at `$.hooks' = 1",
            "line 1: x` - at `$.hooks: there is no such key; there are enabled, order,",
        ),
        (
            'env = ["LD_PRELOAD"]',
            "line 1: env: LD_PRELOAD is never given to a plugin: it would change which code "
            "runs there",
        ),
        ('env = ["A B"]', "line 1: env: 'A B' is no name of an environment variable"),
        ("config = 1", "line 1: config: it must be a table, and is 1"),
        ("[config]\na = 1\nb.c = nan", "line 3: config.b.c: nan is no number that JSON has"),
        (
            "[config]\nwhen = [2026-01-01]",
            "line 2: config.when: JSON has no dates; write it in quotes: '2026-01-01'",
        ),
        ("[config]\nn = 99999999999999999999", "line 2: config.n: the number is too large"),
        (
            "[hooks.pre_tool_cal]",
            "line 1: hooks.pre_tool_cal: there is no such hook or event; did you mean "
            "pre_tool_call?",
        ),
        (
            '\n[hooks.stop]\non_failure = "open"\nof = true',
            "line 4: hooks.stop.of: there is no such key; did you mean off?",
        ),
        (
            '[hooks]\nstop = {on_failure = "shut"}',
            "line 2: hooks.stop.on_failure: the text 'shut' does not go there; there are "
            "open, closed",
        ),
        (
            '[hooks.stop]\non_failure = "closed"',
            "line 2: hooks.stop.on_failure: closed needs a hook that can deny, and stop cannot",
        ),
        ("hooks = []", "line 1: hooks: it must be a table, and is a list"),
    ],
)
def test_a_mistake_is_named(text: str, error: str) -> None:
    with pytest.raises(TomlError) as caught:
        read(f"{text}\n{RECORDED}")
    assert str(caught.value).startswith(f"guard.toml, {error}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            "[recorded]",
            "[other]",
            "guard.toml, line 1: other: there is no such key; did you mean order?",
        ),
        (
            'path = "/bin/guard"',
            'path = "guard"',
            "guard.toml, line 2: recorded.path: 'guard' is no absolute path",
        ),
        (
            'path = "/bin/guard"\n',
            "",
            "guard.toml, line 1: recorded: it needs path and sha256, or else made",
        ),
        (
            "2026-01-01T00:00:00Z",
            "true",
            "guard.toml, line 4: recorded.installed: it must be a date and time, and is true",
        ),
        (
            '"' + "0" * 64,
            '"0' * 1,
            "guard.toml, line 3: recorded.sha256: it must be 64 digits 0-9a-f",
        ),
        (
            "2026-01-01T00:00:00Z",
            "'yesterday'",
            "guard.toml, line 4: recorded.installed: Invalid RFC3339 encoded datetime",
        ),
        (
            "path =",
            "by = 1\npath =",
            "guard.toml, line 2: recorded.by: there is no such key;"
            " there are path, sha256, interpreter, size, made, installed, manifest",
        ),
        (
            '"name"',
            '"nome"',
            "guard.toml, line 5: recorded.manifest: it is no manifest: Object missing "
            "required field `name`",
        ),
    ],
)
def test_a_mistake_in_what_is_recorded(old: str, new: str, error: str) -> None:
    assert old in RECORDED
    with pytest.raises(TomlError) as caught:
        read(RECORDED.replace(old, new, 1))
    assert str(caught.value) == error


def test_a_missing_table_has_no_line() -> None:
    with pytest.raises(TomlError, match=r"^guard\.toml: the key recorded is missing$"):
        read("enabled = true")


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (("a",), 2),
        (("text",), 3),
        (("hooks", "one", "priority"), 6),
        (("config",), 7),
        (("config", "inline"), 8),
        (("config", "inline", "list"), 8),
        (("pieces",), 10),
        (("pieces", "first", "x"), 11),
        (("pieces", "second"), 15),
        (("pieces", "second", "y"), 16),
        (("nowhere",), None),
        ((), None),
    ],
)
def test_the_line_of_a_key(keys: tuple[str, ...], line: int | None) -> None:
    text = """\
# comment
a = 1
text = '''
x
'''
hooks.one.priority = 3
[config]
inline = {q = 1, list = [1,
2]}
[pieces.first]
x = 3

[other]
x = 1
[pieces.second]
y = 2
"""
    assert line_of(text, keys) == line


def test_a_file_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "guard.toml"
    with pytest.raises(FileNotFoundError):
        read_toml(file, PluginKeys)
    os.mkfifo(file)
    with pytest.raises(TomlError, match=r"guard\.toml cannot be read: it is no regular file$"):
        read_toml(file, PluginKeys)
    file.unlink()
    file.write_bytes(b"# fine\n# \xff\n")
    with pytest.raises(TomlError, match=r"guard\.toml, line 2: it is no UTF-8$"):
        read_toml(file, PluginKeys)
    open_files = len(os.listdir("/dev/fd"))
    file.unlink()
    file.mkdir()
    with pytest.raises(TomlError, match=r"guard\.toml cannot be read: it is no regular file$"):
        read_toml(file, PluginKeys)
    assert len(os.listdir("/dev/fd")) == open_files
    file.rmdir()
    file.write_bytes(codecs.BOM_UTF8 + b"enabled = 1\r\n")
    with pytest.raises(TomlError, match=r"guard\.toml, line 1: enabled: it must be true or false"):
        read_toml(file, PluginKeys)
    file.write_text("a = " + "[" * 100_000)
    with pytest.raises(TomlError, match=r"guard\.toml(,| is nested)"):
        read_toml(file, PluginKeys)


def test_a_value_nested_too_deeply_is_an_error_of_the_file() -> None:
    deep = "config.a = " + "[" * 1500 + "]" * 1500 + "\n"
    with pytest.raises(TomlError, match=r"^guard\.toml is nested too deeply$"):
        read(deep + RECORDED)


def test_a_number_of_very_many_digits_is_an_error_of_the_file() -> None:
    with pytest.raises(TomlError, match=r"^guard\.toml has a number of more digits than can be"):
        read(f"config.a = {'9' * 5_000}\n" + RECORDED)


def test_a_file_below_what_is_no_folder_is_missing() -> None:
    with pytest.raises(FileNotFoundError):
        read_toml(Path("/dev/null/config.toml"), PluginKeys)


@pytest.mark.parametrize("key", ["a", '"a.b"', "'a'"])
@pytest.mark.parametrize("place", ["{} = 1", "[{}]", "x = {{ {} = 1 }}"])
def test_a_key_of_many_parts_is_refused_before_it_takes_long(key: str, place: str) -> None:
    text = "# a text\n" + place.format(" . ".join([key] * 20_000))
    with pytest.raises(TomlError, match=r"guard\.toml, line 2: a key has more than 100 parts"):
        read(text)


@pytest.mark.parametrize("unit", ["a", "a.", '"', "'", '"."', "a ", ". ", '"\\', "a. b, "])
def test_to_look_for_long_keys_takes_time_by_the_size_of_the_file(unit: str) -> None:
    text = unit * (2**19 // len(unit))
    began_s = time.thread_time()
    _line_of_long_key(text)
    assert time.thread_time() - began_s < 2.0


def test_a_key_may_have_parts_and_a_text_dots() -> None:
    dots = ".".join(["a b"] * 300)
    keys = read(f'[config]\n{".".join(["a"] * 90)} = "{dots}"\n' + RECORDED)
    assert "a" in keys.config


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "guard.toml"
    file.write_text("#" * (2**20 + 1))
    with pytest.raises(TomlError, match=r"guard\.toml is over 1 MiB; keep what is long in a file"):
        read_toml(file, PluginKeys)


def test_of_a_long_file_no_line_is_searched() -> None:
    text = "".join(f"a{number} = 1\n" for number in range(7_000)) + "[x]\ny = 1\n"
    assert line_of(text[-60_000:].partition("\n")[2], ("x", "y")) is not None
    assert line_of(text, ("x", "y")) is None
