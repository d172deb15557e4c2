"""Many schedules need no more requests and elements than few, and live updates do not leak memory.

``python -m bench.web`` measures times with 100,000 schedules.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, CDPSession, Page, Request, expect

from bench.engine.fill import Due, fill
from tests.web.kit import FREEZE, Service, serving

MANY = 3_000
FAR_S = 2_000_000_000
ROWS = "[role=rowgroup] [role=row]"
BURST, BURSTS = 25, 5
SCROLL = """async () => {
  window.scrollBy(0, 3000)
  await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))
}"""


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    home: Path = tmp_path_factory.mktemp("many")
    fill(f"sqlite:///{home}/web.db", MANY, Due(FAR_S, FAR_S + 100_000))
    with serving(home, "--no-engine") as started:
        yield started


@pytest.fixture
def view(browser: Browser) -> Iterator[Page]:
    opened = browser.new_context(viewport={"width": 1440, "height": 900})
    opened.add_init_script(FREEZE)
    yield opened.new_page()
    opened.close()


@pytest.fixture
def requests(view: Page) -> Counter[str]:
    """Number of requests by path of the API."""
    counts: Counter[str] = Counter()

    def count(request: Request) -> None:
        path = urlsplit(request.url).path
        if path.startswith("/api/v1/"):
            counts[path.removeprefix("/api/v1/")] += 1

    view.on("request", count)
    return counts


def shown(view: Page) -> None:
    expect(view.locator(f"{ROWS}[aria-busy=true]")).to_have_count(0)


def test_a_long_list_requests_what_is_visible(view: Page, crowded: Service, requests: Counter[str]) -> None:
    view.goto(f"{crowded.url}/schedules")
    expect(view.locator(ROWS).nth(5)).to_be_visible()
    shown(view)
    assert requests == {"session": 1, "events": 1, "schedules": 1, "schedules:summaries": 1, "schedules:count": 1}
    first = view.locator(ROWS).count()
    assert 10 < first < 60, "only the visible rows and a few more are rendered"
    requests.clear()
    view.evaluate(SCROLL)
    shown(view)
    assert requests["schedules"] <= 1
    assert requests["schedules:summaries"] <= 2
    assert view.locator(ROWS).count() < first * 2


def test_a_search_sends_one_request(view: Page, crowded: Service, requests: Counter[str]) -> None:
    view.goto(f"{crowded.url}/schedules")
    expect(view.locator(ROWS).nth(5)).to_be_visible()
    requests.clear()
    view.get_by_role("textbox", name="Search").fill(f"report-{MANY - 1}")
    expect(view.get_by_role("link", name=f"report-{MANY - 1}")).to_have_count(1)
    expect(view.locator(ROWS)).to_have_count(1)
    assert requests["schedules"] == 1, "one request for one input"


def test_the_overview_sends_each_request_once(view: Page, crowded: Service, requests: Counter[str]) -> None:
    view.goto(crowded.url)
    expect(view.get_by_role("link", name="Active")).to_contain_text(f"{MANY:,}")
    expect(view.locator("main [aria-busy=true]")).to_have_count(0)
    once = ("session", "events", "stats", "upcoming", "problems", "instances", "forecast")
    assert requests == dict.fromkeys(once, 1)


def test_a_row_shows_an_action_before_the_list_is_refetched(view: Page, crowded: Service) -> None:
    view.goto(f"{crowded.url}/schedules")
    shown(view)
    pause = view.get_by_role("button", name="Pause customer").first
    name = (pause.get_attribute("aria-label") or "").removeprefix("Pause ")
    pause.click()
    view.route("**/api/v1/schedules?*", lambda _: None)  # no answer any more
    view.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    paused = view.get_by_role("row").filter(has=view.get_by_role("link", name=name, exact=True))
    expect(paused).to_contain_text("Paused by")
    expect(view.get_by_role("dialog")).to_have_count(0)
    view.unroute_all(behavior="ignoreErrors")


def weight(session: CDPSession) -> dict[str, float]:
    """Return heap, nodes and listeners of the page after a garbage collection."""
    session.send("HeapProfiler.collectGarbage")
    metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    return {name: metrics[name] for name in ("JSHeapUsedSize", "Nodes", "JSEventListeners")}


def test_live_updates_do_not_leak_memory(view: Page, service: Service) -> None:
    """After the first updates the heap and the numbers of nodes and listeners stay constant."""
    service.client.create("busy", cron="0 0 1 1 *", function="tasks:work")
    session = view.context.new_cdp_session(view)
    session.send("HeapProfiler.enable")
    session.send("Performance.enable")
    view.goto(f"{service.url}/schedules/busy/runs")
    expect(view.get_by_role("heading", name="No runs yet")).to_be_visible()
    weights = []
    for number in range(1, BURSTS + 1):
        last = [service.client.trigger("busy") for _ in range(BURST)][-1]
        expect(view.locator(f"a[href*='{last.run_id}']").first).to_be_visible()
        expect(view.get_by_text(f"{number * BURST} succeeded")).to_be_visible()
        weights.append(weight(session))
    before, after = weights[2], weights[-1]  # after two the table is full
    grown = {name: after[name] / before[name] for name in before}
    assert max(grown.values()) < 1.15, grown
