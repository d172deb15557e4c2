"""Every view at 80 columns, with names that are too long for it."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tompion import Tompion
from tompion.cli.commands import instances, notifications, queues, stats, top
from tompion.cli.output import changes, console, views
from tompion.cli.snapshot import read_top_snapshot
from tompion.errors import TompionError

LONG = "reporting.department-of-long-names.nightly-warehouse-mirror.of-the-south-east"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A store with one of every resource, each with a long name."""
    path: Path = tmp_path_factory.mktemp("views") / "tompion.db"
    with Tompion(f"sqlite:///{path}", engine=False, actor="an-operator-with-a-long-name@example.com") as tompion:
        tompion.create(
            LONG,
            intervals="1m",
            function="tasks_of_the_department_of_long_names:nightly_warehouse_mirror",
            adaptive=True,
            description="a long description " * 10,
            labels={"team": LONG},
            payload={"text": LONG * 3},
        )
        tompion.create("other", cron="*/5 9-17 1-7,15-21 JAN-JUN MON-FRI", function="tasks:a")
        tompion.pause(LONG, note="a long note " * 10, until="2099-01-01T00:00:00Z")
        tompion.schedules.hint(LONG, interval_ms=120_000, reason="a long reason " * 10)
        tompion.trigger(LONG)
        tompion.runs.cancel(tompion.runs.list(LONG).items[0].run_id)
        tompion.trigger(LONG, overlap="skip")
        tompion.backfill("other", "2026-01-05T00:00:00Z", "2026-01-05T12:00:00Z")
        tompion.calendars.put({"name": LONG, "dates": ["2026-12-24"] * 1})
        tompion.workflows.put(LONG, {"function": "tasks:a"})
        tompion.queues.pause(LONG)
        yield tompion


VIEWS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], None]]] = {
    "schedules": (lambda home: home.schedules.list(), views.print_schedules),
    "count": (lambda home: home.schedules.count(text="o"), views.print_count),
    "same_spec": (lambda home: home.schedules.same_spec(LONG), views.print_same_spec),
    "schedule": (lambda home: home.get(LONG), views.print_schedule),
    "description": (lambda home: home.describe(LONG), views.print_description),
    "runs": (lambda home: home.runs.list(LONG), views.print_runs),
    "runs of all schedules": (
        lambda home: home.runs.recent(),
        lambda page: views.print_runs(page, of_many=True),
    ),
    "upcoming": (lambda home: home.upcoming(seconds=86_400 * 7), stats.print_upcoming),
    "stats": (lambda home: home.stats(), stats.print_stats),
    "notifications": (lambda home: home.notifications.list(), notifications.print_notifications),
    "run": (lambda home: home.runs.list(LONG).items[0], views.print_run),
    "backfills": (lambda home: home.schedules.backfills("other"), views.print_backfills),
    "history": (lambda home: home.schedules.history(LONG), changes.print_changes),
    "versions": (lambda home: home.schedules.versions("other"), views.print_versions),
    "audit": (lambda home: home.audit.list(), changes.print_changes),
    "queues": (lambda home: home.queues.list(), queues.print_queues),
    "instances": (lambda home: home.instances.list(), instances.print_instances),
    "dropped_ranges": (lambda home: home.schedules.dropped_ranges(LONG), views.print_dropped),
    "verification": (lambda home: home.schedules.verify("other"), views.print_verification),
}


def seen(monkeypatch: pytest.MonkeyPatch, width: int, show: Callable[[], None]) -> list[str]:
    """Return the lines on a terminal of this width."""
    out = io.StringIO()
    screen = Console(file=out, force_terminal=True, width=width, color_system=None, highlight=False)
    monkeypatch.setattr(console, "console", lambda *, stderr=False: screen)
    show()
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", VIEWS)
def test_views_fit_the_terminal(name: str, width: int, home: Tompion, monkeypatch: pytest.MonkeyPatch) -> None:
    ask, people = VIEWS[name]
    answer = ask(home)
    lines = seen(monkeypatch, width, lambda: people(answer))
    assert lines
    sentences = ("hint by", "no ", "there ")  # a terminal wraps these
    assert [line for line in lines if len(line) > width and not line.startswith(sentences)] == []


@pytest.mark.parametrize("width", [80, 120])
def test_a_frame_of_top_fits_the_terminal(width: int, home: Tompion, monkeypatch: pytest.MonkeyPatch) -> None:
    result = read_top_snapshot(home)
    lines = seen(monkeypatch, width, lambda: console.console().print(top.frame(result, width, 5)))
    assert max(map(len, lines)) <= width
    assert any("SKIPPED" in line for line in lines)


def test_every_error_class_has_an_exit_code() -> None:
    from tompion.cli.main import exit_code

    def kinds(kind: type[TompionError]) -> list[type[TompionError]]:
        return [kind, *(item for below in kind.__subclasses__() for item in kinds(below))]

    codes = {kind.__name__: exit_code(kind.__new__(kind)) for kind in kinds(TompionError)}
    assert {name for name, code in codes.items() if code == 5} == {"Unauthenticated", "Forbidden"}
    assert {name for name, code in codes.items() if code == 3} == {"NotFound"}
    assert {name for name, code in codes.items() if code == 6} == {"StoreUnavailable", "TooManyRequests"}
    assert {name for name, code in codes.items() if code == 7} == {"OutcomeUnknown"}
    assert set(codes.values()) == {2, 3, 4, 5, 6, 7}
