"""The build hook of the web UI: when it builds, what it installs, and its errors. Checks of the built files."""

from __future__ import annotations

import gzip
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from tompion.web.app import BUILT

ROOT = Path(__file__).resolve().parents[2]
MAX_BYTES = 350 * 1024
MANTINE = ROOT / "src" / "tompion" / "web" / "ui" / "node_modules" / "@mantine" / "core" / "styles.css"
CLASS = re.compile(r"\bm_[0-9a-f]{6,8}\b")
"""The class names of Mantine's components."""


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The hook in a repository of its own, with a fake npm that records its calls."""
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
    monkeypatch.setattr(module, "npm", lambda *arguments, **_options: module.calls.append(arguments[:3]))
    monkeypatch.setattr(module, "calls", [], raising=False)
    monkeypatch.delenv(module.SKIP, raising=False)
    return module


INSTALL_BUILD = ("ci", "--ignore-scripts", "--omit=dev")
INSTALL_ALL = ("ci", "--ignore-scripts", "--no-audit")
BUILD = [("run", "types"), ("run", "build")]


def test_builds_once_with_the_packages_that_the_build_needs(hook: ModuleType) -> None:
    hook.build_ui()
    assert hook.calls == [INSTALL_BUILD, *BUILD]
    hook.build_ui()
    assert len(hook.calls) == 3


@pytest.mark.parametrize("name", ["src/main.tsx", "src/new.css", ".npmrc", "package.json"])
def test_builds_again_after_a_change_of_a_source(hook: ModuleType, name: str) -> None:
    hook.build_ui()
    hook.calls.clear()
    (hook.UI / name).write_text("changed")
    hook.build_ui()
    installs = [INSTALL_BUILD] if name in (".npmrc", "package.json") else []
    assert hook.calls == [*installs, *BUILD]


def test_builds_again_after_a_change_of_the_api(hook: ModuleType) -> None:
    hook.build_ui()
    hook.calls.clear()
    hook.DESCRIPTION.write_text('{"paths": {}}')
    hook.build_ui()
    assert hook.calls == BUILD


def test_installed_and_generated_files_are_not_sources(hook: ModuleType) -> None:
    hook.build_ui()
    hook.calls.clear()
    (hook.UI / "node_modules" / "react" / "index.js").write_text("another")
    hook.TYPES.parent.mkdir()
    hook.TYPES.write_text("generated")
    hook.build_ui()
    assert hook.calls == []


def test_installs_the_tools_only_for_checks_and_tests(hook: ModuleType) -> None:
    hook.build_ui()
    hook.calls.clear()
    hook.run_script("check")
    assert hook.calls == [INSTALL_ALL, ("run", "types"), ("run", "check")]
    hook.calls.clear()
    hook.run_script("test")
    assert hook.calls == [("run", "types"), ("run", "test")]


def test_the_build_uses_packages_that_are_installed_with_the_tools(hook: ModuleType) -> None:
    hook.run_script("check")
    hook.calls.clear()
    hook.build_ui()
    assert hook.calls == BUILD


def test_an_environment_variable_skips_the_build(hook: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hook.SKIP, "1")
    hook.build_ui()
    assert hook.calls == []


def test_a_failed_command_exits_with_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "package.json").write_text('{"scripts": {"build": "exit 3"}}')
    monkeypatch.setattr(module, "UI", tmp_path)
    with pytest.raises(SystemExit, match=r"^the web UI was not built: npm run failed \(3\)\. .*TOMPION_SKIP_UI=1.*$"):
        module.npm("run", "build")


def test_the_built_files_are_small() -> None:
    """The limit is for all files of the web UI, compressed as they are sent. Swagger UI is loaded by /docs/api only."""
    index = BUILT.joinpath("index.html")
    if not index.is_file():
        pytest.skip("the web UI is not built: python hatch_build.py")
    files = [index, *(file for file in BUILT.joinpath("assets").iterdir() if not file.name.startswith("apiDocs-"))]
    size = sum(len(gzip.compress(file.read_bytes())) for file in files)
    assert 50_000 < size <= MAX_BYTES, f"{size:,} bytes"


def test_every_component_in_use_has_its_styles() -> None:
    """Radios and switches once had no layout, because their shared styles are in another folder."""
    assets = BUILT / "assets"
    if not assets.is_dir() or not MANTINE.is_file():
        pytest.skip("the web UI is not built: python hatch_build.py")
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
