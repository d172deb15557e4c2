"""Timings of the browser: marks of its clock, paint times and event timings."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from playwright.sync_api import Page

MS = 15_000
SCRIPT = """
const painted = done => requestAnimationFrame(() => {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => done(performance.now())
  port2.postMessage(0)
})
const when = what => new Promise(done => {
  const look = () => what() ? painted(done) : requestAnimationFrame(look)
  look()
})
window.stopwatch = {
  when,
  views: {},
  start(kind, what) {
    this.slowest = 0
    const hear = done => event => done(event.timeStamp)
    const begun = new Promise(done => addEventListener(kind, hear(done), { capture: true, once: true }))
    const answered = begun.then(begin => new Promise(painted).then(end => end - begin))
    const visible = begun.then(begin => when(what).then(end => end - begin))
    this.found = null
    Promise.all([answered, visible]).then(found => { this.found = found })
  },
}
new PerformanceObserver(list => {
  for (const { duration } of list.getEntries()) stopwatch.slowest = Math.max(stopwatch.slowest ?? 0, duration)
}).observe({ type: 'event', durationThreshold: 16 })
"""


class Interaction(NamedTuple):
    """Milliseconds from an event to the next paint, and to the visible result."""

    answered: float
    visible: float


def watch(page: Page, **views: str) -> None:
    """Record in each opened page when an expression became true and was painted."""
    noted = "".join(
        f"stopwatch.when(() => {what}).then(at => {{ performance.mark({name!r}); stopwatch.views[{name!r}] = at }})\n"
        for name, what in views.items()
    )
    page.context.add_init_script(f"{{{SCRIPT}\n{noted}}}")


def viewed(page: Page, name: str) -> float:
    """Return when something was seen, in milliseconds since the navigation started."""
    page.wait_for_function("name => stopwatch.views[name] !== undefined", arg=name, timeout=MS)
    return float(page.evaluate("name => stopwatch.views[name]", name))


def first_paint(page: Page) -> float:
    """Return when the browser painted anything, in milliseconds since the navigation started."""
    return float(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"))


def timed(page: Page, event: str, act: Callable[[], object], visible: str) -> Interaction:
    """Perform an action and return the times until the next paint and until an expression became true."""
    page.evaluate(f"stopwatch.start({event!r}, () => {visible})")
    act()
    answered, done = page.wait_for_function("() => stopwatch.found", timeout=MS).json_value()
    return Interaction(max(answered, page.evaluate("stopwatch.slowest")), done)
