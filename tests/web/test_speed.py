"""With 100,000 schedules the page needs no more CPU than with 1,000, by the traces of the browser.

Elapsed times are only printed. The assertions do not depend on the load of the machine: CPU time of the page's thread,
requests, bytes and rows. ``python -m bench.web`` compares the times with the goals.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Response

from bench.engine.fill import Due, fill
from bench.web.browser_timing import first_paint, viewed, watch
from bench.web.fill import pause_some
from bench.web.measures import ACTS, LIST_SHOWN, OVERVIEW_SHOWN
from tests.web.kit import FREEZE, Service, serving

pytestmark = pytest.mark.slow

FEW, MANY = 1_000, 100_000
FAR_S = 2_000_000_000
ROWS = "document.querySelectorAll('[role=rowgroup] [role=row]').length"
CATEGORIES = ["devtools.timeline", "toplevel"]
TASK = "ThreadControllerImpl::RunTask"
RATIO, SLACK_MS = 2.0, 60
"""Limit of the CPU time with many schedules. The slack is for unrelated tasks in a trace."""
MAX_BYTES = 400_000
MAX_REQUESTS = {"overview": 45, "schedules": 45}
ROUNDS = 2


class Cost(NamedTuple):
    """CPU time of the page's thread in total, its longest task, and the time until the paint (NaN if not measured)."""

    cpu_ms: float
    longest_ms: float
    shown_ms: float


class Sizes(NamedTuple):
    """Requests and bytes of a view."""

    requests: Counter[str]
    bytes: int


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Service]]:
    """A service with few schedules and one with many. Some of them are paused."""
    homes: dict[int, Path] = {count: tmp_path_factory.mktemp(f"with{count}") for count in (FEW, MANY)}
    for count, home in homes.items():
        url = f"sqlite:///{home}/web.db"
        fill(url, count, Due(FAR_S, FAR_S + 100_000))
        pause_some(url)
    with serving(homes[FEW], "--no-engine") as few, serving(homes[MANY], "--no-engine") as many:
        yield {FEW: few, MANY: many}


@contextmanager
def window(browser: Browser, is_shown: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(60_000)
    context.add_init_script(FREEZE)
    page = context.new_page()
    watch(page, visible=is_shown)
    yield page
    context.close()


def cost(trace: bytes, shown_ms: float) -> Cost:
    """Return the CPU time of the main thread of a page, from a trace."""
    events: list[dict[str, Any]] = json.loads(trace)["traceEvents"]
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"].get("name") == "CrRendererMain"
    }
    tasks = [
        event.get("tdur", 0) / 1_000
        for event in events
        if event["name"] == TASK and event["ph"] == "X" and (event["pid"], event["tid"]) in main
    ]
    assert tasks, "the trace has no tasks of the page's thread"
    return Cost(sum(tasks), max(tasks), shown_ms)


def sizes(page: Page) -> tuple[Counter[str], list[Response]]:
    """Start counting the requests of a page."""
    requests: Counter[str] = Counter()
    answers: list[Response] = []

    def hear(response: Response) -> None:
        requests[urlsplit(response.url).path] += 1
        answers.append(response)

    page.on("response", hear)
    return requests, answers


def opened(browser: Browser, url: str, is_shown: str) -> tuple[Cost, Sizes, int]:
    """Open a view with an empty cache."""
    with window(browser, is_shown) as page:
        requests, answers = sizes(page)
        browser.start_tracing(page=page, categories=CATEGORIES)
        page.goto(url)
        seen = viewed(page, "visible")
        measured = cost(browser.stop_tracing(), seen)
        print(f"painted after {first_paint(page):.0f} ms", end=", ")  # noqa: T201 - times are printed, not asserted
        ended = [answer for answer in answers if not answer.url.endswith("/events")]
        sent = sum(answer.request.sizes()["responseBodySize"] for answer in ended)
        return measured, Sizes(requests, sent), int(page.evaluate(ROWS))


def report(what: str, few: Cost, many: Cost) -> None:
    text = ", ".join(
        f"{count:,}: {spent.cpu_ms:.0f} ms of CPU, {spent.longest_ms:.0f} in one task, shown in {spent.shown_ms:.0f} ms"
        for count, spent in ((FEW, few), (MANY, many))
    )
    print(f"{what}: {text}")  # noqa: T201 - times are printed, not asserted


def alike(few: Cost, many: Cost) -> bool:
    return many.cpu_ms <= RATIO * few.cpu_ms + SLACK_MS


@pytest.mark.parametrize(
    ("view", "path", "is_shown"), [("overview", "/", OVERVIEW_SHOWN), ("schedules", "/schedules", LIST_SHOWN)]
)
def test_first_view_cost(browser: Browser, stores: dict[int, Service], view: str, path: str, is_shown: str) -> None:
    (few, _, rows), (many, sent, more_rows) = (
        min(opened(browser, f"{service.url}{path}", is_shown) for _ in range(ROUNDS)) for service in stores.values()
    )
    report(view, few, many)
    assert alike(few, many)
    assert more_rows == rows, "the number of rows depends on the window only"
    assert sent.requests.total() <= MAX_REQUESTS[view], sent.requests
    assert max(sent.requests.values()) == 1, "no request is sent twice"
    assert sent.bytes < MAX_BYTES


def test_interaction_cost(browser: Browser, stores: dict[int, Service]) -> None:
    best: dict[int, dict[str, Cost]] = {count: {} for count in stores}
    for count, service in list(stores.items()) * ROUNDS:
        with window(browser, LIST_SHOWN) as page:
            page.goto(f"{service.url}/schedules")
            viewed(page, "visible")
            for what, act in ACTS.items():
                browser.start_tracing(page=page, categories=CATEGORIES)
                done = act(page, f"report-{count - 1}")
                measured = cost(browser.stop_tracing(), done.visible)
                best[count][what] = min(measured, best[count].get(what, measured))
                assert page.evaluate(ROWS) < 100, f"{what}: only visible rows are rendered"
    for what in ACTS:
        report(what, best[FEW][what], best[MANY][what])
    assert {what: best for what in ACTS if not alike(best[FEW][what], best[MANY][what])} == {}
