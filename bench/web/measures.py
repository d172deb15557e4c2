"""Opens the web UI in a real browser and measures views, interactions and live updates with their memory."""

from __future__ import annotations

import gzip
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

from playwright.sync_api import Browser, Page, expect, sync_playwright

from bench.engine.peers.progress import Progress
from bench.engine.report import Goal, Row, Section
from bench.engine.stores import KINDS, NAMES, Stores
from bench.rest.measures import running
from bench.spec.report import Target
from bench.web.browser_timing import Interaction, first_paint, timed, viewed, watch
from bench.web.fill import insert_schedules
from tests.web.kit import browser_path, serving
from tompion.web.app import BUILT

VIEWS, LIVE = PARTS = ("views", "live")
PAINTED, SHOWN, ALL, ANSWERED = "painted ms", "shown ms", "all ms", "answered ms"
SIZE, HEAP, NODES, LISTENERS, EVENTS = "KB", "heap MB", "nodes", "listeners", "events"
FIRST_VIEW = Goal(Target("≤", 1_000), SHOWN)
AT_ONCE = Goal(Target("≤", 100), ANSWERED)
DONE = Goal(Target("≤", 100), SHOWN)
BUNDLE = Goal(Target("≤", 350), SIZE)
BURST = 30
MIB = 1024 * 1024
MS = 15_000

SECTION = "document.querySelector('[aria-label={}]')"
FILLED = "[...document.querySelectorAll('[role=rowgroup] [role=row]')]"
OVERVIEW_SHOWN = (
    "document.querySelectorAll('main section').length >= 6 && "
    "['Activity', 'Problems', 'Start delay', 'Instances'].every("
    "name => !document.querySelector(`[aria-label='${name}'] [aria-busy=true]`))"
)
OVERVIEW_ALL = f"{OVERVIEW_SHOWN} && !document.querySelector('main [aria-busy=true]')"
LIST_SHOWN = f"{FILLED}.length > 5 && {FILLED}.every(row => !row.ariaBusy)"
ONE_SHOWN = (
    "document.querySelector('h1')?.textContent.includes('/report-') && document.querySelector('[aria-label=Calendar]')"
)


class Scale(NamedTuple):
    """The extent of a measurement."""

    schedules: int
    rounds: int
    events: int
    minutes: float = 0


def sections(scale: Scale, parts: Sequence[str], progress: Progress) -> list[Section]:
    """Measure the requested parts."""
    figures = [_bundle()]
    with _browser() as browser:
        if VIEWS in parts:
            with Stores(progress) as stores:
                for kind in KINDS:
                    progress(f"{NAMES[kind]}: storing {scale.schedules:,} schedules …")
                    url = stores.migrated(kind)
                    insert_schedules(url, scale.schedules)
                    progress(f"{NAMES[kind]}: looking …")
                    with running("tompion", "serve", "--no-engine", "--port", "0", "--store", url) as address:
                        figures += _looked(browser, address, NAMES[kind], scale)
                    stores.drop(url)
        if LIVE in parts:
            progress(f"{scale.events:,} live updates …")
            figures.append(_live(browser, scale))
    return figures


@contextmanager
def _browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def _window(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(MS)
    yield context.new_page()
    context.close()


def _bundle() -> Section:
    """Measure the files of the web UI. The documentation of the API is a page of its own, and is not counted."""
    assets = [file for file in (BUILT / "assets").iterdir() if not file.name.startswith("apiDocs-")]
    files = [BUILT / "index.html", *assets]
    size = sum(len(gzip.compress(file.read_bytes())) for file in files) / 1024
    return Section("What is sent", (SIZE,), [Row("all of it, compressed", {SIZE: size}, BUNDLE)])


def _looked(browser: Browser, address: str, name: str, scale: Scale) -> list[Section]:
    views = [
        _opened(browser, f"{address}/", View("overview", OVERVIEW_SHOWN, OVERVIEW_ALL), scale.rounds),
        _opened(browser, f"{address}/schedules", View("schedules", LIST_SHOWN, LIST_SHOWN), scale.rounds),
    ]
    acts = _acted(browser, f"{address}/schedules", scale)
    note = f"median of {scale.rounds} rounds, each in a browser that has seen nothing yet"
    return [
        Section(f"First view, {name}", (PAINTED, SHOWN, ALL), views, [note]),
        Section(f"Interactions, {name}", (ANSWERED, SHOWN), acts, ["answered: the picture after the event"]),
    ]


class View(NamedTuple):
    """A view, with the expressions that are true when it is usable and when it is complete."""

    label: str
    visible: str
    all: str


def _opened(browser: Browser, url: str, view: View, rounds: int) -> Row:
    figures: list[tuple[float, float, float]] = []
    for _ in range(rounds + 1):
        with _window(browser) as page:
            watch(page, visible=view.visible, all=view.all)
            page.goto(url)
            figures.append((viewed(page, "visible"), viewed(page, "all"), first_paint(page)))
    seen, all_of_it, painted = (median(column) for column in zip(*figures[1:], strict=True))
    return Row(view.label, {PAINTED: painted, SHOWN: seen, ALL: all_of_it}, FIRST_VIEW)


def _acted(browser: Browser, url: str, scale: Scale) -> list[Row]:
    times_by_act: dict[str, list[Interaction]] = {}
    wanted = f"report-{scale.schedules - 1}"
    for _ in range(scale.rounds + 1):
        with _window(browser) as page:
            watch(page, visible=LIST_SHOWN)
            page.goto(url)
            viewed(page, "visible")
            for label, act in ACTS.items():
                times_by_act.setdefault(label, []).append(act(page, wanted))
    return [_act_row(label, times[1:]) for label, times in times_by_act.items()]


def _act_row(label: str, times: list[Interaction]) -> Row:
    answered, visible = (median(column) for column in zip(*times, strict=True))
    return Row(label, {ANSWERED: answered, SHOWN: visible}, AT_ONCE if label == SEARCH else DONE)


def _scroll(page: Page, _: str) -> Interaction:
    return timed(page, "scroll", lambda: page.mouse.wheel(0, 3_000), f"scrollY > 2000 && {LIST_SHOWN}")


def _pause(page: Page, _: str) -> Interaction:
    page.mouse.wheel(0, -9_000)
    page.wait_for_function("() => scrollY === 0")
    button = page.get_by_role("button", name="Pause customer").first
    name = (button.get_attribute("aria-label") or "").removeprefix("Pause ")
    button.click()
    send = page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True)
    return timed(page, "click", send.click, _row(name, "'Paused'"))


def _resume(page: Page, _: str) -> Interaction:
    expect(page.get_by_role("dialog")).to_have_count(0)
    button = page.get_by_role("button", name="Resume customer").first
    name = (button.get_attribute("aria-label") or "").removeprefix("Resume ")
    return timed(page, "click", button.click, "!" + _row(name, "'Paused'"))


def _row(name: str, text: str) -> str:
    """An expression: whether the row of a schedule has a text."""
    return f"{FILLED}.find(row => row.querySelector('a').textContent === {name!r})?.textContent.includes({text})"


def _filter(page: Page, _: str) -> Interaction:
    page.get_by_role("combobox", name="State").or_(page.get_by_role("textbox", name="State")).first.click()
    option = page.get_by_role("option", name="Paused")
    visible = f"{FILLED}.length > 0 && {FILLED}.every(row => row.textContent.includes('Paused'))"
    return timed(page, "click", option.click, visible)


def _search(page: Page, wanted: str) -> Interaction:
    page.get_by_role("button", name="Clear filters", exact=True).click()
    expect(page).not_to_have_url(re.compile("state="))
    typed = page.get_by_role("textbox", name="Search")
    return timed(
        page,
        "input",
        lambda: typed.fill(wanted),
        f"{FILLED}.length === 1 && {FILLED}[0].textContent.includes({wanted!r})",
    )


def _open(page: Page, wanted: str) -> Interaction:
    link = page.get_by_role("link", name=wanted)
    return timed(page, "click", link.click, ONE_SHOWN)


SEARCH = "search"
ACTS: dict[str, Callable[[Page, str], Interaction]] = {
    "scroll on by 50 rows": _scroll,
    "pause a row": _pause,
    "resume a row": _resume,
    "filter by state": _filter,
    SEARCH: _search,
    "open a row": _open,
}


def _live(browser: Browser, scale: Scale) -> Section:
    """Trigger runs from another client and measure the memory of the open UI after each burst."""
    with tempfile.TemporaryDirectory() as home, serving(Path(home)) as service, _window(browser) as page:
        service.client.create("busy", cron="0 0 1 1 *", function="tasks:work")
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.enable")
        session.send("Performance.enable")
        weights: list[dict[str, float]] = []
        begin, updates = time.perf_counter(), 0
        page.goto(f"{service.url}/schedules/busy/runs")
        while updates < scale.events or time.perf_counter() - begin < scale.minutes * 60:
            last = [service.client.trigger("busy") for _ in range(BURST)][-1]
            updates += BURST
            expect(page.locator(f"a[href*='{last.run_id}']").first).to_be_visible(timeout=MS)
            expect(page.get_by_text(f"{updates} succeeded")).to_be_visible(timeout=MS)
            session.send("HeapProfiler.collectGarbage")
            counters = session.send("Memory.getDOMCounters")
            metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
            heap = metrics["JSHeapUsedSize"] / MIB
            weights.append(
                {EVENTS: updates, HEAP: heap, NODES: counters["nodes"], LISTENERS: counters["jsEventListeners"]}
            )
    labels = ((1, "after the second burst"), (len(weights) // 2, "half way"), (-1, "at the end"))
    note = f"of one page that stays open, after collecting garbage; bursts of {BURST} runs by another client"
    return Section(
        "Live updates",
        (EVENTS, HEAP, NODES, LISTENERS),
        [Row(name, weights[at]) for at, name in labels],
        [note],
    )
