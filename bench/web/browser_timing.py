"""Time as the browser tells it: marks of its own clock, its paint times, and what it says of each event."""

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
    const shown = begun.then(begin => when(what).then(end => end - begin))
    this.found = null
    Promise.all([answered, shown]).then(found => { this.found = found })
  },
}
new PerformanceObserver(list => {
  for (const { duration } of list.getEntries()) stopwatch.slowest = Math.max(stopwatch.slowest ?? 0, duration)
}).observe({ type: 'event', durationThreshold: 16 })
"""


class Interaction(NamedTuple):
    """How many milliseconds after an event the page had answered it with a picture, and shown what was asked."""

    answered: float
    shown: float


def watch(page: Page, **views: str) -> None:
    """Let each page that is opened note when an expression became true, and that was painted."""
    noted = "".join(
        f"stopwatch.when(() => {what}).then(at => {{ performance.mark({name!r}); stopwatch.views[{name!r}] = at }})\n"
        for name, what in views.items()
    )
    page.context.add_init_script(f"{{{SCRIPT}\n{noted}}}")


def viewed(page: Page, name: str) -> float:
    """Return when something was seen, in milliseconds since the page was asked for."""
    page.wait_for_function("name => stopwatch.views[name] !== undefined", arg=name, timeout=MS)
    return float(page.evaluate("name => stopwatch.views[name]", name))


def first_paint(page: Page) -> float:
    """Return when the browser painted anything, in milliseconds since the page was asked for."""
    return float(page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"))


def timed(page: Page, event: str, act: Callable[[], object], shown: str) -> Interaction:
    """Do something that begins with an event, and return how long the page took until an expression became true."""
    page.evaluate(f"stopwatch.start({event!r}, () => {shown})")
    act()
    answered, done = page.wait_for_function("() => stopwatch.found", timeout=MS).json_value()
    return Interaction(max(answered, page.evaluate("stopwatch.slowest")), done)
