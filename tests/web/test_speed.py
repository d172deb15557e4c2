"""With 100,000 schedules stored the page works no harder than with 1,000, as the traces of the browser tell.

What a trace says of the time is printed; what is asserted does not depend on who else uses the machine: the time that
the page's own thread was given, requests, bytes and rows.  ``python -m bench.web`` holds the times against the goals.
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
"""How much more of the processor many may take than few; the slack is for what happens to fall into a trace."""
MOST_BYTES = 400_000
MOST_REQUESTS = {"overview": 45, "schedules": 45}
ROUNDS = 2


class Cost(NamedTuple):
    """What something took: of the page's thread in all and at a stretch, and until it was painted (NaN: not timed)."""

    cpu_ms: float
    longest_ms: float
    shown_ms: float


class Sizes(NamedTuple):
    """What something sent for."""

    requests: Counter[str]
    bytes: int


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, Service]]:
    """A service with few schedules and one with many, each with some that are paused."""
    homes: dict[int, Path] = {count: tmp_path_factory.mktemp(f"with{count}") for count in (FEW, MANY)}
    for count, home in homes.items():
        url = f"sqlite:///{home}/web.db"
        fill(url, count, Due(FAR_S, FAR_S + 100_000))
        pause_some(url)
    with serving(homes[FEW], "--no-engine") as few, serving(homes[MANY], "--no-engine") as many:
        yield {FEW: few, MANY: many}


@contextmanager
def window(browser: Browser, shown: str) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(60_000)
    context.add_init_script(FREEZE)
    page = context.new_page()
    watch(page, visible=shown)
    yield page
    context.close()


def cost(trace: bytes, shown_ms: float) -> Cost:
    """Read off a trace how long the processor worked for the main thread of a page."""
    events: list[dict[str, Any]] = json.loads(trace)["traceEvents"]
    main = {
        (each["pid"], each["tid"])
        for each in events
        if each["name"] == "thread_name" and each["args"].get("name") == "CrRendererMain"
    }
    tasks = [
        each.get("tdur", 0) / 1_000
        for each in events
        if each["name"] == TASK and each["ph"] == "X" and (each["pid"], each["tid"]) in main
    ]
    assert tasks, "the trace says nothing of the page's thread"
    return Cost(sum(tasks), max(tasks), shown_ms)


def sizes(page: Page) -> tuple[Counter[str], list[Response]]:
    """Begin to count what a page sends for."""
    asked: Counter[str] = Counter()
    answers: list[Response] = []

    def hear(response: Response) -> None:
        asked[urlsplit(response.url).path] += 1
        answers.append(response)

    page.on("response", hear)
    return asked, answers


def opened(browser: Browser, url: str, shown: str) -> tuple[Cost, Sizes, int]:
    """Open a view in a browser that has seen nothing yet."""
    with window(browser, shown) as page:
        asked, answers = sizes(page)
        browser.start_tracing(page=page, categories=CATEGORIES)
        page.goto(url)
        seen = viewed(page, "visible")
        found = cost(browser.stop_tracing(), seen)
        print(f"painted after {first_paint(page):.0f} ms", end=", ")  # noqa: T201 - times are told, not judged
        ended = [each for each in answers if not each.url.endswith("/events")]
        sent = sum(each.request.sizes()["responseBodySize"] for each in ended)
        return found, Sizes(asked, sent), int(page.evaluate(ROWS))


def told(what: str, few: Cost, many: Cost) -> None:
    shown = ", ".join(
        f"{count:,}: {each.cpu_ms:.0f} ms of CPU, {each.longest_ms:.0f} at a stretch, shown in {each.shown_ms:.0f} ms"
        for count, each in ((FEW, few), (MANY, many))
    )
    print(f"{what}: {shown}")  # noqa: T201 - times are told, not judged


def alike(few: Cost, many: Cost) -> bool:
    return many.cpu_ms <= RATIO * few.cpu_ms + SLACK_MS


@pytest.mark.parametrize(
    ("view", "address", "shown"), [("overview", "/", OVERVIEW_SHOWN), ("schedules", "/schedules", LIST_SHOWN)]
)
def test_a_first_view(browser: Browser, stores: dict[int, Service], view: str, address: str, shown: str) -> None:
    (few, _, rows), (many, sent, more_rows) = (
        min(opened(browser, f"{service.url}{address}", shown) for _ in range(ROUNDS)) for service in stores.values()
    )
    told(view, few, many)
    assert alike(few, many)
    assert more_rows == rows, "as many rows are there as fit, however many are stored"
    assert sent.requests.total() <= MOST_REQUESTS[view], sent.requests
    assert max(sent.requests.values()) == 1, "nothing is asked for twice"
    assert sent.bytes < MOST_BYTES


def test_interactions(browser: Browser, stores: dict[int, Service]) -> None:
    best: dict[int, dict[str, Cost]] = {count: {} for count in stores}
    for count, service in list(stores.items()) * ROUNDS:
        with window(browser, LIST_SHOWN) as page:
            page.goto(f"{service.url}/schedules")
            viewed(page, "visible")
            for what, act in ACTS.items():
                browser.start_tracing(page=page, categories=CATEGORIES)
                done = act(page, f"report-{count - 1}")
                found = cost(browser.stop_tracing(), done.visible)
                best[count][what] = min(found, best[count].get(what, found))
                assert page.evaluate(ROWS) < 100, f"{what}: only what can be seen is there"
    for what in ACTS:
        told(what, best[FEW][what], best[MANY][what])
    assert {what: best for what in ACTS if not alike(best[FEW][what], best[MANY][what])} == {}
