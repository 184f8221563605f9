"""The folder of installed plugins: what is written is read again, and one program writes at a time.

A broken file affects only its plugin.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from sliphook.files import atomic
from sliphook.files.atomic import locked
from sliphook.plugin.spec import Override
from sliphook.registry import Broken, Registered, Registry, RegistryError
from sliphook_sdk.protocol import Manifest, Subscription, ToolSpec

from .installed import installed

MANIFEST = Manifest(
    protocol_version=1,
    name="guard",
    subscriptions=[Subscription(event="pre_tool_call", on_failure="closed")],
    # what TOML could not hold otherwise: null, every quote there is, and what it forbids
    tools=[
        ToolSpec(
            name="x",
            input_schema={"type": "object", "default": None, "a": "'''\"\"\"\\\x7f\n\u2028"},
        )
    ],
)


def plugin(name: str = "guard", manifest: Manifest = MANIFEST, **keys: Any) -> Registered:
    return installed(Path("/opt/guard"), manifest, name=name, sha256="ab" * 32, **keys)


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    return Registry(tmp_path / "plugins")


def test_what_is_written_is_read_again(registry: Registry) -> None:
    full = plugin(
        interpreter="/usr/bin/python3",
        grants=frozenset({"inject", "notify"}),
        env=("TOKEN", "KEY"),
        enabled=False,
        config={"list": [1, {"deep": True}], "text": "a\nb"},
        overrides={
            "stop": Override(priority=3),
            "pre_tool_call": Override(on_failure="open", off=True),
        },
        timeout_cap_s=2.5,
        sandbox=True,
    )
    assert registry.read() == []
    assert registry.add(full) == replace(full, order=1)
    assert registry.get("guard") == replace(full, order=1)
    file = registry.folder / "guard.toml"
    assert file.stat().st_mode & 0o777 == 0o600
    assert registry.folder.stat().st_mode & 0o777 == 0o700
    assert file.read_text().startswith("# Installed by `sliphook install`.")


def test_they_come_in_the_order_of_installation(registry: Registry) -> None:
    for name in ("zebra", "ant", "mole"):
        registry.add(plugin(name))
    registry.change("zebra", lambda one: replace(one, order=9))
    registry.remove("ant")
    registry.add(plugin("bee"))
    assert [(one.name, one.order) for one in registry.read() if isinstance(one, Registered)] == [
        ("mole", 3),
        ("zebra", 9),
        ("bee", 10),
    ]


def test_what_the_host_is_to_start(registry: Registry) -> None:
    registry.add(plugin("off", enabled=False))
    registry.add(
        plugin(
            env=("TOKEN", "UNSET"), grants=frozenset({"inject"}), config={"a": 1}, timeout_cap_s=1.0
        )
    )
    (registry.folder / "bad.toml").write_text("enabled = maybe")
    specs, broken = registry.specs({"TOKEN": "secret", "OTHER": "x"})
    (spec,) = specs
    assert (
        registry.specs({"TOKEN": "secret"})[0] == specs
    )  # so a host that is updated leaves it alone
    assert spec.name == "guard"
    assert spec.path == Path("/opt/guard")
    assert spec.config == {"a": 1}
    assert spec.env == {"TOKEN": "secret"}
    assert spec.grants == frozenset({"inject"})
    assert spec.timeout_cap_s == 1.0
    assert spec.sha256 == "ab" * 32
    assert spec.recorded == plugin().manifest
    assert broken == [
        Broken(
            "bad",
            registry.folder / "bad.toml",
            f"{registry.folder / 'bad.toml'}, line 1: it is no TOML: invalid value",
        )
    ]


def test_a_broken_file_loses_one_plugin(registry: Registry) -> None:
    registry.add(plugin("good"))
    for name in ("empty.toml", "Bad Name.toml", ".hidden.toml", "readme.txt"):
        (registry.folder / name).write_text("")
    (registry.folder / "folder.toml").mkdir()
    read = registry.read()
    assert [one.name for one in read if isinstance(one, Registered)] == ["good"]
    why = {one.name: one.why for one in read if isinstance(one, Broken)}
    assert why == {
        "Bad Name": "'Bad Name' is no name of a plugin; names match [a-z0-9][a-z0-9_-]{0,63}; "
        f"rename or remove {registry.folder}/Bad Name.toml",
        "empty": f"{registry.folder}/empty.toml: the key recorded is missing",
        "folder": f"{registry.folder}/folder.toml cannot be read: it is no regular file",
    }
    registry.remove("empty")
    with pytest.raises(RegistryError, match="it is no regular file"):
        registry.get("folder")
    with pytest.raises(RegistryError, match=r"folder\.toml is a folder; remove it by hand$"):
        registry.remove("folder")


@pytest.mark.parametrize("name", ["", "../x", "a/b", "A", "a" * 65, "a\n", "-a", "a.b", "ä", "a\0"])
def test_names_that_lead_elsewhere(registry: Registry, name: str) -> None:
    registry.add(plugin("good"))
    before = {path.name: path.read_bytes() for path in registry.folder.iterdir()}
    acts: tuple[Callable[[], object], ...] = (
        lambda: registry.get(name),
        lambda: registry.remove(name),
        lambda: registry.add(plugin(name)),
        lambda: registry.change(name, lambda one: one),
    )
    for act in acts:
        with pytest.raises(RegistryError, match="is no name of a plugin") as caught:
            act()
        assert "\n" not in str(caught.value)
    assert {path.name: path.read_bytes() for path in registry.folder.iterdir()} == before


def test_what_is_not_there(registry: Registry) -> None:
    with pytest.raises(
        RegistryError,
        match=r"^no plugin named guard is installed; `sliphook list` shows what is installed$",
    ):
        registry.get("guard")
    registry.add(plugin())
    with pytest.raises(
        RegistryError, match=r"^no plugin named gaurd is installed; did you mean guard\?$"
    ):
        registry.remove("gaurd")
    with pytest.raises(RegistryError, match="a plugin named guard is installed already"):
        registry.add(plugin())


def test_a_change_keeps_comments_and_says_what_it_cannot_do(registry: Registry) -> None:
    registry.add(plugin())
    file = registry.folder / "guard.toml"
    file.write_text(file.read_text().replace("enabled = true", "enabled = true # always"))
    assert registry.change("guard", lambda one: replace(one, order=7)).order == 7
    assert "enabled = true # always\norder = 7\n" in file.read_text()
    before = file.read_bytes()
    assert registry.change("guard", lambda one: one) == registry.get("guard")
    assert file.read_bytes() == before


def test_a_change_leaves_the_manifest_as_the_user_has_laid_it_out(registry: Registry) -> None:
    registry.add(plugin())
    file = registry.folder / "guard.toml"
    spaced = 'manifest = \'{ "protocol_version": 1, "name": "guard" }\'\n'
    file.write_text(file.read_text().partition("manifest = ")[0] + spaced)
    registry.change("guard", lambda one: replace(one, enabled=False))
    assert "enabled = false\n" in file.read_text()
    assert file.read_text().endswith(spaced)


@pytest.mark.parametrize(
    ("before", "after"), [(1, True), (1, 1.0), ([1], [True]), ({"deep": [0]}, {"deep": [False]})]
)
def test_what_python_takes_for_the_same_is_changed_all_the_same(
    registry: Registry, before: object, after: object
) -> None:
    registry.add(plugin(config={"key": before}))
    registry.change("guard", lambda one: replace(one, config={"key": after}))
    assert repr(registry.get("guard").config) == repr({"key": after})


def test_a_manifest_stands_in_the_file_without_escapes_of_toml(registry: Registry) -> None:
    """tomlkit reads a text with many escapes in quadratic time, and a plugin may send very many."""
    registry.add(
        plugin(
            manifest=Manifest(
                protocol_version=1, name="guard", description="'\\\n\x1b\u2028" * 30_000
            )
        )
    )
    assert "\nmanifest = '{" in (registry.folder / "guard.toml").read_text()
    assert (
        registry.change("guard", lambda one: replace(one, enabled=False)).manifest.description
        == "'\\\n\x1b\u2028" * 30_000
    )


def test_changes_at_the_same_time_are_made_one_after_the_other(registry: Registry) -> None:
    registry.add(plugin())

    def count() -> None:
        for _ in range(5):
            registry.change("guard", lambda one: replace(one, order=one.order + 1))

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert registry.get("guard").order == 16


def test_what_a_killed_writer_has_left_is_cleared_away(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.add(plugin())

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    def do_nothing(*_: object) -> None:
        pass

    with monkeypatch.context() as killed:
        killed.setattr("os.replace", die)
        killed.setattr("os.unlink", do_nothing)
        with pytest.raises(KeyboardInterrupt):
            registry.change("guard", lambda one: replace(one, order=7))
    assert len(os.listdir(registry.folder)) == 3
    assert registry.get("guard").order == 1
    registry.change("guard", lambda one: replace(one, order=8))
    assert sorted(os.listdir(registry.folder)) == [".lock", "guard.toml"]


def test_who_does_not_let_go_is_not_waited_for_for_ever(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(atomic, "SAY_S", 0.0)
    registry.add(plugin())
    busy = pytest.raises(
        atomic.Busy,
        match=rf"the process {os.getpid()} has been changing .* for 0\.05 s; try again when it is",
    )
    with locked(registry.folder), busy, locked(registry.folder, wait_s=0.05):
        raise AssertionError("there were two at once")
    registry.remove("guard")
    assert caplog.messages == [
        f"waiting for the process {os.getpid()}, which is changing {registry.folder};"
        " for 0.05 s at most"
    ]


def test_fifty_programs_change_it_at_once(registry: Registry) -> None:
    """Each waits for its turn, and none gives up."""

    def add(number: int) -> Registered:
        return registry.add(plugin(f"p{number}"))

    with ThreadPoolExecutor(50) as pool:
        # flock is between open files: threads are programs of their own to it
        list(pool.map(add, range(50)))
    assert sorted(one.order for one in registry.read() if isinstance(one, Registered)) == list(
        range(1, 51)
    )


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    registry = Registry(tmp_path / "file")
    with pytest.raises(RegistryError, match="cannot be read: Not a directory"):
        registry.read()
    with pytest.raises(RegistryError, match="cannot be changed: "):
        registry.add(plugin())


def test_files_that_others_could_change_are_not_believed(registry: Registry) -> None:
    registry.add(plugin("open"))
    registry.add(plugin("good"))
    file = registry.folder / "open.toml"
    file.chmod(0o606)
    assert [one.why for one in registry.read() if isinstance(one, Broken)] == [
        f"everybody may change {file} (-rw----rw-); run: chmod o-w {file}"
    ]
    file.chmod(0o600)
    file.rename(registry.folder / "elsewhere")
    file.symlink_to(registry.folder / "elsewhere")
    with pytest.raises(
        RegistryError,
        match=r"open\.toml is a symbolic link, which may lead anywhere; put the file itself there$",
    ):
        registry.get("open")
    before = {path.name: path.read_bytes() for path in registry.folder.iterdir()}
    registry.folder.chmod(0o777)
    for act in (lambda: registry.remove("good"), lambda: registry.add(plugin("new"))):
        with pytest.raises(RegistryError, match=r"everybody may change .*/plugins "):
            act()
    assert {path.name: path.read_bytes() for path in registry.folder.iterdir()} == before
