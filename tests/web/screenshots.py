"""Screenshots of every view, light and dark, in ``docs/images/``: ``python -m tests.web.screenshots [name …]``."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.web.demo import furnish
from tests.web.kit import Service, browser_path, serving
from tests.web.palette import reduced

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
NEWEST = "the-newest-of-data-export"
VIEWS = {
    "overview": "/",
    "schedules": "/schedules",
    "schedule": "/schedules/data%2Fdaily-report",
    "schedule-runs": "/schedules/data%2Fexport/runs",
    "schedule-timeline": "/schedules/web%2Fthumbnails/timeline",
    "schedule-versions": "/schedules/billing%2Freminders/versions",
    "schedule-backfills": "/schedules/ops%2Fhealth/backfills",
    "schedule-adaptive": "/schedules/poll%2Forders/adaptive",
    "schedule-audit": "/schedules/billing%2Freminders/audit",
    "schedule-paused": "/schedules/data%2Fwarehouse",
    "editor": "/schedules/data%2Fdaily-report/edit",
    "new-schedule": "/new",
    "runs": "/runs",
    "run": f"/runs/{NEWEST}",
    "workflows": "/workflows",
    "workflow": "/workflows/ping",
    "calendars": "/calendars",
    "queues": "/queues",
    "instances": "/instances",
    "audit": "/audit",
    "keys": "/keys",
    "settings": "/settings",
}
DIALOG, SPREAD, LOGIN = "pause-dialog", "spread-dialog", "login"
URLS = {**VIEWS, DIALOG: "/schedules", SPREAD: "/"}
NARROW = ("overview", "schedules", "schedule", "editor")
WIDE = {"width": 1280, "height": 860}
TALL = {"overview": 1_400, "editor": 1_260}
"""Heights of the window for views that are shown as a whole."""
MS = 30_000
PHONE = {"width": 390, "height": 860}


def main(names: list[str]) -> None:
    """Start a service with demo data and take the screenshots of all views, or of the named ones."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    wanted = [name for name in URLS if not names or name in names]
    with tempfile.TemporaryDirectory() as home, serving(Path(home)) as service, sync_playwright() as playwright:
        furnish(service)
        service.client.keys.create("ci", role="editor")
        service.client.keys.create("grafana", role="reader")
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        for scheme in SCHEMES:
            _shoot(browser, service, scheme, wanted, WIDE, "")
            _shoot(browser, service, scheme, [name for name in NARROW if name in wanted], PHONE, "-narrow")
        if not names or LOGIN in names:
            _shoot_login(browser)
        browser.close()


def _shoot(
    browser: Browser,
    service: Service,
    scheme: Literal["light", "dark"],
    names: list[str],
    size: dict[str, int],
    suffix: str,
) -> None:
    context = browser.new_context(
        viewport={"width": size["width"], "height": size["height"]},
        color_scheme=scheme,
        timezone_id="Europe/Berlin",
        locale="en-GB",
        reduced_motion="reduce",
    )
    page = context.new_page()
    for name in names:
        page.set_viewport_size({"width": size["width"], "height": TALL.get(name, size["height"])})
        page.goto(address(service, name))
        settle(page)
        if name == DIALOG:
            page.get_by_role("button", name="Pause billing/payouts").click()
            page.get_by_role("dialog").get_by_label("Reason").fill("Maintenance of the bank's API")
        if name == SPREAD:
            page.get_by_role("button", name="Spread out…").first.click()
            expect(page.get_by_role("dialog").get_by_role("table").first).to_be_visible(timeout=MS)
            settle(page)
        if name == "schedule":
            page.get_by_role("button", name=re.compile("1 skipped")).first.click()
        if name == "editor":
            page.get_by_label("Cron", exact=True).fill("30 2 * * TUE-SUN")
            expect(page.get_by_label("Effect of this change")).to_contain_text("removed", timeout=MS)
        _keep(page, f"{name}-{scheme}{suffix}")
    context.close()


def _shoot_login(browser: Browser) -> None:
    """Take screenshots of the sign-in form."""
    with tempfile.TemporaryDirectory() as home, serving(Path(home), "--auth", "required") as guarded:
        for scheme in SCHEMES:
            context = browser.new_context(viewport={"width": 1280, "height": 860}, color_scheme=scheme)
            page = context.new_page()
            page.goto(guarded.url)
            expect(page.get_by_label("API key or token")).to_be_visible(timeout=MS)
            _keep(page, f"{LOGIN}-{scheme}")
            context.close()


def _keep(page: Page, name: str) -> None:
    path = IMAGES / f"{name}.png"
    path.write_bytes(reduced(page.screenshot()))
    print(f"{path.name}: {path.stat().st_size // 1024} KB", flush=True)  # noqa: T201 - progress of a command


def address(service: Service, name: str) -> str:
    """Return the URL of a view in a service with demo data."""
    path = URLS[name]
    if NEWEST in path:
        path = path.replace(NEWEST, service.client.runs.list("data/export", limit=1).items[0].run_id)
    return f"{service.url}{path}"


def settle(page: Page, level: int | None = 1) -> None:
    """Wait until the view is loaded. The view of something that does not exist has no heading of level 1."""
    expect(page.get_by_role("heading", level=level).first).to_be_visible(timeout=MS)
    expect(page.locator("[aria-busy=true]")).to_have_count(0, timeout=MS)
    page.evaluate("() => document.fonts.ready.then(() => new Promise(requestAnimationFrame))")


if __name__ == "__main__":
    main(sys.argv[1:])
