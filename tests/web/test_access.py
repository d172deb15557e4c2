"""Every view and dialog is accessible, by axe, in both themes and on all screens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.demo import furnish
from tests.web.kit import UI, Service, serving
from tests.web.screenshots import VIEWS, address, settle

AXE = UI / "node_modules" / "axe-core" / "axe.min.js"
RUN = "() => axe.run(document, { resultTypes: ['violations'] })"
BAD = ("serious", "critical")
NOT_THERE = (
    "/schedules/unknown",
    "/runs/none",
    "/workflows/none",
    "/nothing-here",
    "/calendars?calendar=bank-holidays",
)
WIDTHS = (400, 3_840)
Scheme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with demo data. The tests do not change it."""
    with serving(tmp_path_factory.mktemp("furnished")) as service:
        furnish(service)
        service.client.keys.create("ci", role="reader")
        yield service


@contextmanager
def opened(browser: Browser, scheme: Scheme = "light", width: int = 1440) -> Iterator[Page]:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce", locale="en-GB"
    )
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


def problems(page: Page) -> list[str]:
    """Return the serious findings of axe: rule and element."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    result: dict[str, Any] = page.evaluate(RUN)
    return [
        f"{item['id']}: {node['target']} {node.get('failureSummary', '')[:160]}"
        for item in result["violations"]
        if item["impact"] in BAD
        for node in item["nodes"][:3]
    ]


def too_wide(page: Page) -> list[str]:
    """Return the widths of the window at which the current view overflows."""
    hits = []
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("() => new Promise(requestAnimationFrame)")
        wide = page.evaluate("() => document.documentElement.scrollWidth")
        if wide > width:
            hits.append(f"{wide} pixels on a screen of {width}")
    page.set_viewport_size({"width": 1440, "height": 900})
    return hits


def looked_at(page: Page, *, widths: bool) -> list[str]:
    return [*problems(page), *(too_wide(page) if widths else ())]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_view_is_accessible(browser: Browser, furnished: Service, scheme: Scheme) -> None:
    assert AXE.is_file(), "axe-core is not installed: make ui-test"
    problems_by_view = {}
    addresses = [*(address(furnished, name) for name in VIEWS), *(f"{furnished.url}{path}" for path in NOT_THERE)]
    with opened(browser, scheme) as page:
        for where in addresses:
            page.goto(where)
            settle(page, level=None)
            problems_by_view[where] = looked_at(page, widths=scheme == "light")
    assert {where: item for where, item in problems_by_view.items() if item} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_dialog_is_accessible(browser: Browser, furnished: Service, scheme: Scheme) -> None:
    problems_by_view = {}
    with opened(browser, scheme) as page:
        for name, show in DIALOGS.items():
            show(page, furnished)
            expect(page.get_by_role("dialog").first).to_be_visible()
            expect(page.get_by_role("dialog").locator("[aria-busy=true], [aria-label=Loading]")).to_have_count(0)
            problems_by_view[name] = looked_at(page, widths=scheme == "light")
    assert {name: item for name, item in problems_by_view.items() if item} == {}


def _pause(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/schedules")
    page.get_by_role("button", name="Pause billing/invoices").click()
    expect(page.get_by_role("dialog").get_by_label("Reason")).to_be_focused()


def _resume(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/schedules/data%2Fwarehouse")
    page.get_by_role("button", name="Resume").click()


def _bulk(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/schedules?status=paused")
    page.get_by_role("button", name="Bulk actions").click()
    page.get_by_role("menuitem", name="Resume").click()
    expect(page.get_by_label("Affected schedules")).to_be_visible()
    expect(page.get_by_role("menu")).to_have_count(0)


def _spread(page: Page, service: Service) -> None:
    page.goto(service.url)
    page.get_by_role("button", name="Spread out…").first.click()
    expect(page.get_by_role("dialog").get_by_role("table").first).to_be_visible()


def _palette(page: Page, service: Service) -> None:
    page.goto(service.url)
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option").first).to_be_visible()


def _conflict(page: Page, service: Service) -> None:
    name = "billing/payouts"
    page.goto(f"{service.url}/schedules/billing%2Fpayouts/edit")
    page.get_by_label("Cron", exact=True).fill("*/6 * * * *")
    before = service.client.get(name).description
    service.client.patch(name, description=f"{before}.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog", name="Edit conflict")).to_be_visible()


DIALOGS = {
    "pause": _pause,
    "resume": _resume,
    "bulk": _bulk,
    "spread": _spread,
    "palette": _palette,
    "conflict": _conflict,
}


def test_the_sign_in_form_is_accessible(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> None:
    problems_by_view = {}
    schemes: tuple[Scheme, ...] = ("light", "dark")
    with serving(tmp_path_factory.mktemp("guarded"), "--auth", "required") as service:
        for scheme in schemes:
            with opened(browser, scheme) as page:
                page.goto(service.url)
                expect(page.get_by_label("API key or token")).to_be_visible()
                problems_by_view[scheme] = looked_at(page, widths=True)
    assert problems_by_view == {"light": [], "dark": []}


def test_nothing_is_cut_off_on_a_small_screen(browser: Browser, furnished: Service) -> None:
    """Once the states of runs, a badge and half of the tabs were cut off."""
    inside = "element => { const { left, right } = element.getBoundingClientRect(); return left >= 0 && right <= 400 }"
    whole = "element => element.scrollWidth <= element.clientWidth"
    with opened(browser, width=400) as page:
        page.goto(f"{furnished.url}/runs")
        settle(page)
        assert page.get_by_role("cell", name="Success").first.evaluate(inside)
        page.goto(f"{furnished.url}/schedules/billing%2Freminders/versions")
        settle(page)
        assert page.get_by_text("Current").evaluate(whole)
        tabs = page.get_by_role("navigation", name="Schedule sections").get_by_role("link").all()
        assert all(tab.evaluate(inside) for tab in tabs)
        page.goto(f"{furnished.url}/schedules")
        settle(page)
        row = page.locator("[role=rowgroup] [role=row]").first
        name, act = (row.get_by_role(role).first.bounding_box() for role in ("link", "button"))
        assert name is not None
        assert act is not None
        assert abs(name["y"] - act["y"]) < 12, "the actions are beside the name"


def test_on_a_small_screen_the_navigation_is_a_drawer(browser: Browser, furnished: Service) -> None:
    with opened(browser, width=400) as page:
        page.goto(f"{furnished.url}/schedules")
        expect(page.get_by_role("link", name="Runs", exact=True)).to_have_count(0)
        page.get_by_role("button", name="Open navigation menu").click()
        page.get_by_role("link", name="Runs", exact=True).click()
        expect(page.get_by_role("heading", name="Runs", level=1)).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_the_theme_is_stored(browser: Browser, furnished: Service) -> None:
    brightness = "() => getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).slice(0, 3).map(Number)"
    with opened(browser) as page:
        page.goto(f"{furnished.url}/schedules")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert sum(page.evaluate(brightness)) > 600
        page.get_by_role("button", name="Theme").click()
        page.get_by_role("menuitem", name="Dark").click()
        expect(page.get_by_role("button", name="Theme: Dark")).to_be_visible()
        assert sum(page.evaluate(brightness)) < 150
        page.reload()
        expect(page.get_by_role("button", name="Theme: Dark")).to_be_visible()
        assert sum(page.evaluate(brightness)) < 150
