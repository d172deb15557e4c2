"""The browser of the tests: found, installed, or missing with a helpful message."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.web.kit import INSTALLING, NO_BROWSER, browser_path

main: Callable[..., int] = INSTALLING["main"]
Command = tuple[str, ...]


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine on which nothing is installed but apt-get."""
    for name in ("TOMPION_TEST_BROWSER", "TOMPION_TEST_REQUIRE_BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    executable(tmp_path / "apt-get")
    return tmp_path


def executable(path: Path) -> None:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


def refuse(_: Command) -> bool:
    raise AssertionError("no command may run")


def test_an_installed_browser_is_used(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    executable(bare / "chromium")
    assert browser_path() == str(bare / "chromium")
    assert main(refuse, is_root=True) == 0
    assert capsys.readouterr() == ("", "")


def test_the_environment_names_another_browser(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(bare / "chromium")
    monkeypatch.setenv("TOMPION_TEST_BROWSER", "/opt/mine")
    assert browser_path() == "/opt/mine"


def test_root_installs_the_browser(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran: list[Command] = []

    def install(command: Command) -> bool:
        ran.append(command)
        if "install" in command:
            executable(bare / "chromium")
        return True

    assert main(install, is_root=True) == 0
    assert [command[1] for command in ran] == ["update", "install"]
    output, wrong = capsys.readouterr()
    assert "installing Debian's chromium" in output
    assert wrong == ""


@pytest.mark.parametrize("options", [{"is_root": False, "run": refuse}, {"is_root": True, "run": lambda _: False}])
def test_other_users_get_a_message_with_the_package(
    bare: Path, options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(options["run"], is_root=options["is_root"]) == 1
    assert capsys.readouterr().err.strip() == NO_BROWSER
    for hint in ("make browser", "root", "TOMPION_TEST_BROWSER"):
        assert hint in NO_BROWSER


def test_nothing_is_installed_without_apt(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (bare / "apt-get").unlink()
    assert main(refuse, is_root=True) == 1
    assert NO_BROWSER in capsys.readouterr().err


PLUGINS = ("-p", "no:xdist", "-p", "tests.support.browsers")
UI_TEST = """
def test_it(browser):
    pass
"""


@pytest.fixture
def without_browser(pytester: pytest.Pytester, bare: Path) -> pytest.Pytester:
    """A suite with two files of tests that need a browser, on a machine that has none."""
    pytester.makepyfile(test_one=UI_TEST, test_two=UI_TEST)
    return pytester


def test_skipped_tests_say_once_how_to_install_one(without_browser: pytest.Pytester) -> None:
    result = without_browser.runpytest("-ra", *PLUGINS)
    result.assert_outcomes(skipped=2)
    assert result.stdout.str().count("make browser") == 1


def test_required_browser_fails_the_run(without_browser: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOMPION_TEST_REQUIRE_BROWSER", "1")
    result = without_browser.runpytest(*PLUGINS)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*make browser*"])
