"""Who else could change a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from sliphook.files import ownership
from sliphook.files.ownership import Step, steps_to, why_others_could_change, why_unsafe

FOLDER, FILE, LINK = stat.S_IFDIR, stat.S_IFREG, stat.S_IFLNK
ADA, EVE = 1000, 1001


def step(
    path: str = "/x",
    kind: int = FOLDER,
    mode: int = 0o755,
    owner: int = ADA,
    *,
    shared: bool = False,
) -> Step:
    return Step(path, kind | mode, owner, shared)


ROOT = step("/", owner=0)


@pytest.mark.parametrize(
    "steps",
    [
        [ROOT, step("/home", owner=0), step("/home/ada"), step("/home/ada/guard", FILE, 0o700)],
        [ROOT, step("/tmp", owner=0, mode=0o1777), step("/tmp/guard", FILE)],
        [
            ROOT,
            step("/opt", owner=0, mode=0o1777),
            step("/opt/guard", LINK, 0o777),
            step("/usr/guard", FILE, owner=0),
        ],
        [
            ROOT,
            step("/home/ada", mode=0o775),
            step("/home/ada/guard", FILE, 0o775),
        ],  # a group of her own
        [],
    ],
)
def test_no_other_user_could(steps: list[Step]) -> None:
    assert why_others_could_change(steps, ADA) is None


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (
            step("/home/eve", owner=EVE),
            "/home/eve belongs to eve, who could change it; it must belong to you (ada) or to root",
        ),
        (
            step("/x/guard", FILE, owner=EVE),
            "/x/guard belongs to eve, who could change it; it must belong to you (ada) or to root",
        ),
        (
            step("/tmp/link", LINK, 0o777, EVE),
            "/tmp/link belongs to eve, who could change it; it must belong to you (ada) or to root",
        ),
        (step("/x", mode=0o777), "everybody may change /x (drwxrwxrwx); run: chmod o-w /x"),
        (step("/x", FILE, 0o1777), "everybody may change /x (-rwxrwxrwt); run: chmod o-w /x"),
        (
            step("/x", mode=0o775, shared=True),
            "others may change /x (drwxrwxr-x, its group has other members); run: chmod g-w /x",
        ),
        (
            step("/x", FILE, 0o775, shared=True),
            "others may change /x (-rwxrwxr-x, its group has other members); run: chmod g-w /x",
        ),
        (
            step("/a\nb", mode=0o777),
            "everybody may change /a\\nb (drwxrwxrwx); run: chmod o-w /a\\nb",
        ),
    ],
)
def test_another_user_could(bad: Step, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "_name_of", {ADA: "ada", EVE: "eve", 0: "root"}.__getitem__)
    assert why_others_could_change([ROOT, bad, step("/x/y", FILE)], ADA) == why


def test_root_runs_what_is_roots_alone() -> None:
    assert why_others_could_change([ROOT, step("/guard", FILE, owner=ADA)], 0) is not None
    assert why_others_could_change([ROOT, step("/guard", FILE, owner=0)], 0) is None


def test_every_step_of_every_link_is_looked_at(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (real / "guard").write_text("")
    (tmp_path / "short").symlink_to("real/../real")
    (tmp_path / "long").symlink_to(tmp_path / "short")
    steps = [
        one.path
        for one in steps_to(tmp_path / "long" / "guard")
        if one.path.startswith(str(tmp_path) + "/")
    ]
    assert [path.removeprefix(f"{tmp_path}/") for path in steps] == [
        "long",
        "short",
        "real",
        "real",
        "real/guard",
    ]
    assert why_unsafe(tmp_path / "long" / "guard") is None
    real.chmod(0o777)
    assert (
        why_unsafe(tmp_path / "long" / "guard")
        == f"everybody may change {real} (drwxrwxrwx); run: chmod o-w {real}"
    )


def test_what_leads_nowhere_is_told_by_others(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    assert [
        why_unsafe(path) for path in (tmp_path / "circle", tmp_path / "none", Path("/a\0b"))
    ] == [None, None, None]
    with pytest.raises(OSError, match="circle"):
        list(steps_to(tmp_path / "circle"))


def test_an_unknown_group_is_shared() -> None:
    shared = ownership._is_shared  # pyright: ignore[reportPrivateUsage]
    assert shared(987_654, os.geteuid()) is True
