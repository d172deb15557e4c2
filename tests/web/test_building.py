"""The hook that builds the page: when it builds, when it does not, and what it says if it cannot."""

from __future__ import annotations

import gzip
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tompion.web.app import BUILT

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 350 * 1024
MANTINE = ROOT / "src" / "tompion" / "web" / "ui" / "node_modules" / "@mantine" / "core" / "styles.css"
CLASS = re.compile(r"\bm_[0-9a-f]{6,8}\b")
"""How Mantine names the classes of its components."""


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The hook, in a repository of its own in which nothing is built, and npm only takes notes."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    ui = tmp_path / "src" / "tompion" / "web" / "ui"
    for name in ("package.json", "package-lock.json", ".npmrc", "src/main.tsx", "node_modules/react/index.js"):
        (ui / name).parent.mkdir(parents=True, exist_ok=True)
        (ui / name).write_text(name)
    described = tmp_path / "docs" / "reference" / "openapi.json"
    described.parent.mkdir(parents=True)
    described.write_text("{}")
    built = ui.parent / "static"
    built.mkdir()
    for name, value in (("ROOT", tmp_path), ("UI", ui), ("BUILT", built), ("DESCRIPTION", described)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(module, "TYPES", ui / "src" / "api" / "schema.d.ts")
    monkeypatch.setattr(module, "npm", lambda *given: module.asked.append(given[:2]))
    monkeypatch.setattr(module, "asked", [], raising=False)
    monkeypatch.delenv(module.SKIP, raising=False)
    return module


def test_it_builds_once(hook: ModuleType) -> None:
    hook.build_page()
    assert [each[0] for each in hook.asked] == ["ci", "run", "run"]
    hook.build_page()
    assert len(hook.asked) == 3


@pytest.mark.parametrize("name", ["src/main.tsx", "src/new.css", ".npmrc", "package.json"])
def test_a_changed_source_is_built_again(hook: ModuleType, name: str) -> None:
    hook.build_page()
    hook.asked.clear()
    (hook.UI / name).write_text("changed")
    hook.build_page()
    installs = [("ci", "--ignore-scripts")] if name in (".npmrc", "package.json") else []
    assert hook.asked == [*installs, ("run", "types"), ("run", "build")]


def test_a_changed_api_is_built_again(hook: ModuleType) -> None:
    hook.build_page()
    hook.asked.clear()
    hook.DESCRIPTION.write_text('{"paths": {}}')
    hook.build_page()
    assert hook.asked == [("run", "types"), ("run", "build")]


def test_what_npm_and_the_build_make_is_no_source(hook: ModuleType) -> None:
    hook.build_page()
    hook.asked.clear()
    (hook.UI / "node_modules" / "react" / "index.js").write_text("another")
    hook.TYPES.parent.mkdir()
    hook.TYPES.write_text("made")
    hook.build_page()
    assert hook.asked == []


def test_nobody_has_to_have_the_page(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hook.SKIP, "1")
    hook.build_page()
    assert hook.asked == []


def test_what_fails_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "package.json").write_text('{"scripts": {"build": "exit 3"}}')
    monkeypatch.setattr(module, "UI", tmp_path)
    with pytest.raises(
        SystemExit, match=r"^the page could not be built: npm run failed \(3\); .*TOMPION_SKIP_PAGE=1.*$"
    ):
        module.npm("run", "build")


def test_the_page_is_small() -> None:
    """All of it, compressed as it is sent."""
    index = BUILT.joinpath("index.html")
    if not index.is_file():
        pytest.skip("the page has not been built: python hatch_build.py")
    files = [index, *BUILT.joinpath("assets").iterdir()]
    size = sum(len(gzip.compress(file.read_bytes())) for file in files)
    assert 50_000 < size <= MOST_BYTES, f"{size:,} bytes"


def test_every_component_that_is_used_has_its_styles() -> None:
    """Radios and switches stood without any layout: what they share with others lies in another folder."""
    assets = BUILT / "assets"
    if not assets.is_dir() or not MANTINE.is_file():
        pytest.skip("the page has not been built: python hatch_build.py")
    scripts, styles = (
        {
            name
            for file in assets.iterdir()
            if file.name.endswith(kind)
            for name in CLASS.findall(file.read_text(encoding="utf-8"))
        }
        for kind in (".js", ".css")
    )
    styled = set(CLASS.findall(MANTINE.read_text(encoding="utf-8")))
    assert len(scripts & styled) > 50
    assert (scripts & styled) - styles == set()
