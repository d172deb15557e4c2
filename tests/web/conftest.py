"""A browser for all tests of the page, and for each a window that must stay without errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, expect, sync_playwright

from tests.web.kit import NO_BROWSER, Service, browser_path, serving
from tompion.web.app import BUILT

MS = 60_000
HARMLESS = ("Failed to load resource: the server responded with a status of 4",)
"""What a browser says of answers that a test asks for."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = browser_path()
    if found is None:
        pytest.skip(NO_BROWSER)
    assert BUILT.joinpath("index.html").is_file(), "the page has not been built: python hatch_build.py"
    expect.set_options(timeout=MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("web")) as started:
        yield started


@pytest.fixture
def service(running: Service) -> Iterator[Service]:
    """The service, without any schedules."""
    yield running
    for each in running.other.list_schedules(limit=1_000).items:
        running.other.delete(each.schedule_id, purge=True)


@pytest.fixture
def wrong() -> list[str]:
    """What has gone wrong in the window; a test that wants something to go wrong takes it out."""
    return []


@pytest.fixture
def window(browser: Browser, wrong: list[str]) -> Iterator[BrowserContext]:
    """A window in Berlin; nothing may go wrong in it, and no policy be violated."""
    opened = browser.new_context(viewport={"width": 1440, "height": 900}, timezone_id="Europe/Berlin", locale="en-GB")
    opened.set_default_timeout(MS)

    def hear(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(HARMLESS):
            wrong.append(message.text)

    def refuse(dialog: Dialog) -> None:
        wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    opened.on("console", hear)
    opened.on("weberror", lambda error: wrong.append(str(error.error)))
    opened.on("dialog", refuse)
    yield opened
    opened.close()
    assert wrong == []


@pytest.fixture
def page(window: BrowserContext, service: Service) -> Page:
    """The page of the service; it is opened by the test."""
    made = window.new_page()
    made.goto("about:blank")
    return made
