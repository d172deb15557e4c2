"""System endpoints: events, the iCalendar feed and the configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from threading import Event, Thread
from typing import Any

import pytest

from tests.support.service import SECONDS, Http, Served, runner_of
from tompion.api.rest import system_endpoints
from tompion.api.rest.ical_feed import MAX_LINE_BYTES
from tompion.config.loader import load
from tompion.config.settings import Settings
from tompion.model.insight import ScheduleEdit
from tompion.model.schedule import Run
from tompion.operations.context import OperationContext
from tompion.operations.insight import change_feed, upcoming
from tompion.operations.insight.change_feed import FeedPage, poll_changes
from tompion.operations.schedules import control, crud
from tompion.store.base import Store, Transaction
from tompion.store.postgres.driver import PostgresStore

HOURLY = {"cron": "0 * * * *", "function": "tasks:work"}


class Listening:
    """A listener to live changes."""

    def __init__(self, url: str, namespace: str = "default", key: str | None = None) -> None:
        host, port = url.removeprefix("http://").split(":")
        self._connection = HTTPConnection(host, int(port), timeout=SECONDS)
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        self._connection.request("GET", f"/api/v1/events?namespace={namespace}", headers=headers)
        self.answer: HTTPResponse = self._connection.getresponse()
        assert self.next()[0] == "hello"

    def next(self) -> tuple[str, Any]:
        """The next event and its data."""
        lines: dict[str, str] = {}
        while line := self.answer.readline().decode().rstrip("\n"):
            name, _, value = line.partition(": ")
            lines[name] = value
        return lines["event"], json.loads(lines["data"])

    def until(self, kind: str, **wanted: object) -> Any:
        """The first event of a kind that is about something."""
        while True:
            event, data = self.next()
            if event == kind and wanted.items() <= data.items():
                return data

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def listening(url: str) -> Iterator[Listening]:
    listener = Listening(url)
    yield listener
    listener.close()


def ask(store: Store, operation: Any, *args: Any, namespace: str = "default", **kwargs: Any) -> Any:
    """Have an operation done."""
    sent = store.write(
        lambda transaction: operation(OperationContext(transaction, Settings(), namespace), *args, **kwargs)
    )
    return sent.result(SECONDS)


def test_listeners_receive_edits_and_runs(http: Http, listening: Listening) -> None:
    assert listening.answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    http("PUT", "/api/v1/schedules/other?namespace=b", HOURLY)
    http("PUT", "/api/v1/schedules/report", HOURLY)
    edit = listening.until("edit")
    assert (edit["schedule_id"], edit["operation"], edit["actor"]) == ("report", "upsert", "local")
    assert edit["conflict_token"] == 1
    run = http("POST", "/api/v1/schedules/report/trigger", {}).json
    event = listening.until("run")
    assert (event["run_id"], event["status"]) == (run["run_id"], "ENQUEUED")
    http("DELETE", "/api/v1/schedules/report")
    assert listening.until("run", run_id=run["run_id"])["status"] == "CANCELLED"


def test_shutdown_ends_the_streams(store: Store) -> None:
    served = Served(runner_of(store))
    listener = Listening(served.url)
    served.close()
    assert listener.answer.read() == b""
    listener.close()


def test_a_slow_commit_is_not_missed_by_the_feed(migrated_url: str) -> None:
    """The row with the lower number is committed after the higher one was read."""
    store = PostgresStore(migrated_url)
    first = ask(store, poll_changes)
    numbered, may_commit = Event(), Event()

    def slow(transaction: Transaction) -> None:
        crud.create(OperationContext(transaction, Settings()), "slow", **HOURLY)
        numbered.set()
        assert may_commit.wait(SECONDS)

    sent = store.write(slow)
    assert numbered.wait(SECONDS)
    other = PostgresStore(migrated_url)
    ask(other, crud.create, "quick", **HOURLY)
    second = ask(other, poll_changes, first.seen)
    assert edited(second) == ["quick"]
    may_commit.set()
    sent.result(SECONDS)
    third = ask(other, poll_changes, second.seen)
    assert edited(third) == ["slow"]
    assert edited(ask(other, poll_changes, third.seen)) == []
    store.close()
    other.close()


def edited(looked: FeedPage) -> list[str]:
    return [update.schedule_id for _, update in looked.updates if isinstance(update, ScheduleEdit)]


def test_the_end_of_an_old_run_is_sent(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_feed, "REREAD_ROWS", 1)
    seen = ask(store, poll_changes).seen
    ask(store, crud.create, "report", **HOURLY)
    runs = [ask(store, control.trigger, "report", request_id=f"r{number}") for number in range(4)]
    looked = ask(store, poll_changes, seen)
    assert [update.run_id for _, update in looked.updates if isinstance(update, Run)] == [run.run_id for run in runs]
    ask(store, crud.delete, "report")
    after = ask(store, poll_changes, looked.seen)
    ended = {update.run_id: update.status for _, update in after.updates if isinstance(update, Run)}
    assert ended == {run.run_id: "CANCELLED" for run in runs}
    assert not ask(store, poll_changes, after.seen).updates


def test_a_slow_listener_gets_a_reset(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_feed, "MAX_ROWS", 2)
    monkeypatch.setattr(change_feed, "REREAD_ROWS", 1)
    seen = ask(store, poll_changes).seen
    ask(store, crud.create, "report", **HOURLY)
    for number in range(5):
        ask(store, control.trigger, "report", request_id=f"r{number}")
    looked = ask(store, poll_changes, seen)
    assert (looked.updates, looked.behind) == ((), True)
    ask(store, crud.create, "later", **HOURLY)
    assert edited(ask(store, poll_changes, looked.seen)) == ["later"]


def test_recent_changes_are_sent_to_a_new_listener(url: str, http: Http) -> None:
    """To the first who listens and to the next: what they have read may be older than that."""
    http("PUT", "/api/v1/schedules/elsewhere?namespace=b", HOURLY)
    http("PUT", "/api/v1/schedules/report", HOURLY)
    run = http("POST", "/api/v1/schedules/report/trigger", {}).json
    listeners = [Listening(url) for _ in range(2)]
    for one in listeners:
        assert one.until("run")["run_id"] == run["run_id"]
        assert one.until("edit")["schedule_id"] == "report"
    late = Listening(url)
    assert late.until("run")["run_id"] == run["run_id"]
    for one in (*listeners, late):
        one.close()


def test_old_changes_are_not_sent_to_a_new_listener(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(store, crud.create, "report", **HOURLY)
    ask(store, control.trigger, "report")
    assert len(ask(store, poll_changes).updates) == 3
    monkeypatch.setattr(change_feed, "RECENT_MS", -60_000)
    assert not ask(store, poll_changes).updates


def test_many_listeners_share_one_poll(url: str, http: Http) -> None:
    listeners = [Listening(url) for _ in range(20)]
    edits: list[Any] = []
    threads = [Thread(target=lambda one=one: edits.append(one.until("edit"))) for one in listeners]
    for thread in threads:
        thread.start()
    http("PUT", "/api/v1/schedules/report", HOURLY)
    for thread in threads:
        thread.join(SECONDS)
    assert len(edits) == len(listeners)
    for one in listeners:
        one.close()


def test_the_feed_has_the_upcoming_ticks(http: Http) -> None:
    http("PUT", "/api/v1/schedules/a%2C%20long%3B%20name%20" + "%C3%BC" * 40, {**HOURLY, "cron": "0 12 * * *"})
    http("PUT", "/api/v1/schedules/hourly", HOURLY)
    answer = http("GET", "/api/v1/calendar.ics?days=1")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/calendar; charset=utf-8")
    lines = answer.body.split(b"\r\n")
    assert all(len(line) <= MAX_LINE_BYTES for line in lines)
    unfolded = answer.body.decode().replace("\r\n ", "").split("\r\n")
    assert f"SUMMARY:a\\, long\\; name {'ü' * 40}" in unfolded
    assert unfolded.count("SUMMARY:hourly") == 24
    assert "DTSTART:20270115T120000Z" in unfolded
    one = http("GET", "/api/v1/calendar.ics?days=1&schedule_id=hourly")
    assert one.body.count(b"BEGIN:VEVENT") == 24
    assert http("GET", "/api/v1/calendar.ics?schedule_id=missing").status == 404
    assert http("GET", "/api/v1/calendar.ics?days=0").json["field"] == "days"


def events_of(answer: Any) -> list[str]:
    text = answer.body.decode().replace("\r\n ", "")
    return [line.partition(":")[2] for line in text.split("\r\n") if line.startswith("SUMMARY")]


def test_a_busy_schedule_does_not_crowd_out_others_in_the_feed(http: Http, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_endpoints, "MAX_FEED_EVENTS", 20)
    http("PUT", "/api/v1/schedules/busy", {"cron": "* * * * * *", "function": "tasks:work"})
    http("PUT", "/api/v1/schedules/daily", {"cron": "0 7 * * *", "function": "tasks:work"})
    answer = http("GET", "/api/v1/calendar.ics?days=9")
    assert events_of(answer) == [*["busy"] * 9, "busy …", *["daily"] * 9]
    text = answer.body.decode().replace("\r\n ", "")
    assert "X-TOMPION-INCOMPLETE:1 schedule has more ticks than are here\r\n" in text
    assert text.count("DESCRIPTION:This schedule has more ticks") == 1
    alone = http("GET", "/api/v1/calendar.ics?days=9&schedule_id=daily").body.decode()
    assert "INCOMPLETE" not in alone
    assert "DESCRIPTION" not in alone


def test_a_feed_of_many_schedules_has_ticks_of_each_and_counts_the_truncated(
    http: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_endpoints, "MAX_FEED_EVENTS", 3)
    monkeypatch.setattr(upcoming, "MAX_SCHEDULES", 2)
    for name in ("a", "b", "c"):
        http("PUT", f"/api/v1/schedules/{name}", HOURLY)
    answer = http("GET", "/api/v1/calendar.ics")
    assert len(events_of(answer)) == 2 * upcoming.MIN_SHARE
    text = answer.body.decode().replace("\r\n ", "")
    remark = "2 schedules have more ticks than are here\\; there are more schedules than are here"
    assert f"X-WR-CALDESC:{remark}\r\n" in text


def test_the_feed_refuses_unknown_parameters(http: Http) -> None:
    refused = http("GET", "/api/v1/calendar.ics?day=3")
    assert (refused.status, refused.json["field"]) == (400, "day")


def test_paused_schedules_have_no_upcoming_ticks(http: Http) -> None:
    http("PUT", "/api/v1/schedules/hourly", HOURLY)
    assert len(http("GET", "/api/v1/upcoming?seconds=7200").json["ticks"]) == 2
    http("POST", "/api/v1/schedules/hourly/pause", {})
    assert http("GET", "/api/v1/upcoming?seconds=7200").json["ticks"] == []


def test_upcoming_has_the_time_until_which_it_is_complete(http: Http) -> None:
    http("PUT", "/api/v1/schedules/hourly", HOURLY)
    http("PUT", "/api/v1/schedules/often", {**HOURLY, "cron": "*/10 * * * *"})
    listed = http("GET", "/api/v1/upcoming?seconds=7200&limit=4").json
    assert [(tick["schedule_id"], tick["run_at"][11:16]) for tick in listed["ticks"]] == [
        ("often", "08:10"),
        ("often", "08:20"),
        ("often", "08:30"),
        ("often", "08:40"),
    ]
    assert listed["complete_until"] == "2027-01-15T08:49:59.999000Z"


def test_the_configuration_shows_no_password(store: Store) -> None:
    served = Served(runner_of(store), load({}, {"store": "postgresql://u:hidden@127.0.0.1/x"}))
    http = Http(served.url)
    response = http("GET", "/api/v1/config")
    http.close()
    served.close()
    assert b"hidden" not in response.body
    (port,) = [setting for setting in response.json["values"] if setting["name"] == "port"]
    assert (port["value"], port["origin"]) == (8640, "default")
