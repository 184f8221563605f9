"""`make release` notices what does not agree."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from tools import release

ROOT = Path(__file__).resolve().parents[2]
NAMED = ("pyproject.toml", "sdk/python/pyproject.toml", "sdk/node/package.json", "CHANGELOG.md")


def test_the_versions_agree() -> None:
    assert release.disagreements() == []


def test_what_names_another_version_is_named(tmp_path: Path) -> None:
    for name in NAMED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    package = json.loads((tmp_path / "sdk/node/package.json").read_text())
    version = package["version"]
    package["version"] = "9.9.9"
    (tmp_path / "sdk/node/package.json").write_text(json.dumps(package))
    pyproject = (tmp_path / "pyproject.toml").read_text()
    (tmp_path / "pyproject.toml").write_text(
        pyproject.replace(f"sliphook-sdk=={version}", "sliphook-sdk==9.9.8")
    )
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## 9.9.7\n\n### Host\n\n### SDK\n")
    assert release.disagreements(tmp_path) == [
        f"sdk/node/package.json has 9.9.9, pyproject.toml has {version}",
        f"the dependency sliphook-sdk of pyproject.toml has 9.9.8, pyproject.toml has {version}",
        f"CHANGELOG.md begins with 9.9.7, not with {version}",
        "CHANGELOG.md, 9.9.7: no section Protocol",
    ]
