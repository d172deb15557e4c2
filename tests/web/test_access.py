"""Everybody can use it: no serious problem for assistive technology, on small and large screens, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from foliot.web import app as web
from tests.web.kit import Service

AXE = Path(web.__file__).parent / "ui" / "node_modules" / "axe-core" / "axe.min.js"
RUN = "() => axe.run(document, { resultTypes: ['violations'] })"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SERIOUS = ("serious", "critical")
ADDRESSES = (
    "/schedules",
    "/schedules/report",
    "/schedules/report/runs",
    "/schedules/report/timeline",
    "/schedules/report/versions",
    "/schedules/report/backfills",
    "/schedules/poll/adaptive",
    "/schedules/report/audit",
    "/schedules/report/json",
    "/schedules/nobody",
    "/runs",
    "/nothing-here",
)


@pytest.fixture
def seeded(service: Service) -> Service:
    """A service with a little of everything."""
    other = service.other
    other.create("report", cron="0 9 * * *", timezone="Europe/Berlin", function="tasks:work", labels={"team": "a"})
    other.patch("report", cron="0 10 * * *")
    other.create("fails", cron="0 9 * * *", function="tasks:fails", shadow=True)
    other.create("poll", intervals="1h", function="tasks:work", adaptive=True)
    other.hint("poll", interval_ms=7_200_000, ttl_ms=3_600_000)
    other.pause("fails", note="it fails", paused_by="ann", until="2030-01-01T00:00:00Z")
    for name in ("report", "fails"):
        other.trigger(name)
    other.backfill("report", "2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z")
    return service


@pytest.fixture(params=SCHEMES)
def shown(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    opened = browser.new_context(color_scheme=request.param, viewport={"width": 1440, "height": 900})
    yield opened.new_page()
    opened.close()


def problems(page: Page) -> list[str]:
    """What axe finds, as lines that say where."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate(RUN)
    return [
        f"{each['id']} ({each['impact']}): {node['target']} {node.get('failureSummary', '')[:160]}"
        for each in found["violations"]
        if each["impact"] in SERIOUS
        for node in each["nodes"][:3]
    ]


def test_axe_finds_no_serious_problem(shown: Page, seeded: Service) -> None:
    run = seeded.other.recent_runs().items[0]
    found = {}
    for address in (*ADDRESSES, f"/runs/{run.run_id}"):
        shown.goto(f"{seeded.url}{address}")
        expect(shown.get_by_role("heading").first).to_be_visible()
        expect(shown.locator("[aria-busy=true]")).to_have_count(0)
        found[address] = problems(shown)
    assert {address: each for address, each in found.items() if each} == {}


def test_axe_finds_no_serious_problem_in_dialogs(shown: Page, seeded: Service) -> None:
    shown.goto(f"{seeded.url}/schedules")
    shown.get_by_role("button", name="Pause report").click()
    expect(shown.get_by_role("dialog").get_by_label("Why")).to_be_focused()
    assert problems(shown) == []
    shown.keyboard.press("Escape")
    expect(shown.get_by_role("dialog")).to_have_count(0)
    shown.keyboard.press("Control+k")
    expect(shown.get_by_role("option").first).to_be_visible()
    assert problems(shown) == []


@pytest.mark.parametrize("width", [400, 3840])
def test_nothing_is_wider_than_the_screen(browser: Browser, seeded: Service, width: int) -> None:
    opened = browser.new_context(viewport={"width": width, "height": 900})
    page = opened.new_page()
    for address in ADDRESSES:
        page.goto(f"{seeded.url}{address}")
        expect(page.get_by_role("heading").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
    opened.close()


def test_on_a_small_screen_the_navigation_is_a_drawer(browser: Browser, seeded: Service) -> None:
    opened = browser.new_context(viewport={"width": 400, "height": 800})
    page = opened.new_page()
    page.goto(f"{seeded.url}/schedules")
    expect(page.get_by_role("link", name="Runs", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Navigation").click()
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    opened.close()


def test_dark_and_light_are_chosen_and_kept(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/schedules")
    surface = "getComputedStyle(document.body).backgroundColor"
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    light = page.evaluate(surface)
    page.get_by_role("button", name="Colours").click()
    page.get_by_role("menuitem", name="Dark").click()
    expect(page.get_by_role("button", name="Colours: Dark")).to_be_visible()
    dark = page.evaluate(surface)
    assert dark != light
    page.reload()
    expect(page.get_by_role("button", name="Colours: Dark")).to_be_visible()
    assert page.evaluate(surface) == dark
