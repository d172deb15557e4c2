"""A browser for the tests of the web UI, and a window per test that must stay free of errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, expect, sync_playwright

from tests.web.kit import NO_BROWSER, Service, browser_path, serving
from tompion.web.app import BUILT

MS = 60_000
HARMLESS = ("Failed to load resource: the server responded with a status of 4",)
"""Console messages about error responses that a test provokes."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = browser_path()
    if path is None:
        pytest.skip(NO_BROWSER)
    assert BUILT.joinpath("index.html").is_file(), "the web UI is not built: python hatch_build.py"
    expect.set_options(timeout=MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("web")) as service:
        yield service


@pytest.fixture
def service(running: Service) -> Iterator[Service]:
    """The service without schedules."""
    yield running
    for schedule in running.client.schedules.list(limit=1_000).items:
        running.client.delete(schedule.schedule_id, purge=True)


@pytest.fixture
def browser_errors() -> list[str]:
    """Errors in the window. A test that provokes an error removes it."""
    return []


@pytest.fixture
def window(browser: Browser, browser_errors: list[str]) -> Iterator[BrowserContext]:
    """A window in Berlin. The test fails on errors and on violations of the content security policy."""
    opened = browser.new_context(viewport={"width": 1440, "height": 900}, timezone_id="Europe/Berlin", locale="en-GB")
    opened.set_default_timeout(MS)

    def hear(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(HARMLESS):
            browser_errors.append(message.text)

    def refuse(dialog: Dialog) -> None:
        browser_errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    opened.on("console", hear)
    opened.on("weberror", lambda error: browser_errors.append(str(error.error)))
    opened.on("dialog", refuse)
    yield opened
    opened.close()
    assert browser_errors == []


@pytest.fixture
def page(window: BrowserContext, service: Service) -> Page:
    """An empty tab. The test opens a view in it."""
    tab = window.new_page()
    tab.goto("about:blank")
    return tab
