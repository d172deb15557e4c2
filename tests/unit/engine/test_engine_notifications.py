"""Notifications in virtual time: which events write one, and how it is delivered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.unit.engine.harness import BEGIN, EngineHarness, kill
from tompion.config.settings import Settings
from tompion.executors.base import Completed, RunContext
from tompion.model.notification import Delivery, Notification, NotificationKind, NotificationRule
from tompion.model.run import RunState
from tompion.operations.resources import notifications
from tompion.operations.runs import callbacks, remote_workers
from tompion.operations.schedules import control
from tompion.runtime.clock import pause
from tompion.testing.faults import Fault, FaultyStore, InjectedFault

ARRIVED = Delivery(True, "the receiver responded with 200")
REFUSED = Delivery(False, "the receiver responded with 500")
FAILED = Completed(RunState.FAILED, error="boom")


class Sent:
    """One attempt to deliver a notification."""

    def __init__(self, at: float, notification_id: str, body: bytes) -> None:
        self.at = at
        self.notification_id = notification_id
        self.message: dict[str, Any] = json.loads(body)
        self.kind: str = self.message["type"]
        self.data: dict[str, Any] = self.message["data"]


class Recorder:
    """Records deliveries, and answers as the test configures."""

    def __init__(self, harness: EngineHarness, *rules: NotificationRule) -> None:
        self.harness = harness
        self.rules: Sequence[NotificationRule] = rules or (NotificationRule("ops"),)
        self.answer: Callable[[Sent], Delivery] = lambda _: ARRIVED
        self.takes_s = 0.0
        self.sent: list[Sent] = []
        self.closed = False

    async def send(self, rule_name: str, notification_id: str, body: bytes) -> Delivery:
        assert rule_name in {rule.name for rule in self.rules}
        sent = Sent(self.harness.clock.now() - BEGIN, notification_id, body)
        self.sent.append(sent)
        await pause(self.takes_s)
        return self.answer(sent)

    async def aclose(self) -> None:
        self.closed = True

    @property
    def kinds(self) -> list[str]:
        return [sent.kind for sent in self.sent]


def run_engines(harness: EngineHarness, seconds: float, *recorders: Recorder, **settings: Any) -> None:
    """Run one engine per recorder for some seconds."""

    async def scenario() -> None:
        for recorder in recorders:
            await harness.engine(Settings(**settings), sender=recorder).start()
        await pause(seconds)

    harness.run(scenario)


def notifications_of(harness: EngineHarness, **filters: Any) -> list[Notification]:
    return list(harness.call(notifications.list_notifications, limit=1_000, **filters).items)


def test_failed_run_has_one_notification(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *", max_attempts=3)
    harness.plan = lambda _: (1.0, FAILED)
    recorder = Recorder(harness)
    run_engines(harness, 120, recorder)
    (sent,) = recorder.sent
    assert sent.kind == "tompion.run.failed"
    assert sent.data == {
        "namespace": "default",
        "schedule_id": "report",
        "run_id": f"1-{int(BEGIN) + 30}-0",
        "run_at": "2027-01-15T08:01:00Z",
        "fire_at": "2027-01-15T08:01:00Z",
        "status": "FAILED",
        "attempt": 3,
        "reason": None,
        "error": "boom",
    }
    (notification,) = notifications_of(harness)
    assert (notification.notification_id, notification.status, notification.attempts) == (
        sent.notification_id,
        "DELIVERED",
        1,
    )
    assert recorder.closed


def test_notification_of_a_timeout_has_a_link(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *", max_execution_ms=1_000)
    harness.plan = lambda _: (60.0, Completed())
    recorder = Recorder(harness)

    async def scenario() -> None:
        await harness.engine(sender=recorder, public_url="https://tompion.example/").start()
        await pause(60)

    harness.run(scenario)
    assert recorder.sent[0].data["status"] == "TIMED_OUT"
    assert recorder.sent[0].data["link"] == f"https://tompion.example/api/v1/runs/1-{int(BEGIN) + 30}-0"


def test_nothing_is_written_without_rules(harness: EngineHarness) -> None:
    harness.create(cron="1,2 8 * * *", pause_on_failure=True)
    harness.plan = lambda _: (1.0, FAILED)

    async def scenario() -> None:
        await harness.engine().start()
        await pause(200)

    harness.run(scenario)
    assert notifications_of(harness) == []


def test_notification_has_no_payload_and_no_result(harness: EngineHarness) -> None:
    harness.create(cron="1,2 8 * * *", payload={"secret": "canary-payload"})
    harness.plan = lambda launch: (
        (1.0, FAILED) if launch.run_at.minute == 1 else (1.0, Completed(result='"canary-result"'))
    )
    recorder = Recorder(harness)
    run_engines(harness, 200, recorder)
    assert recorder.kinds == ["tompion.run.failed", "tompion.schedule.recovered"]
    assert "canary" not in json.dumps([sent.message for sent in recorder.sent])
    assert "canary" not in repr(notifications_of(harness))


def test_success_after_failures_is_a_recovery(harness: EngineHarness) -> None:
    harness.create(cron="1-4 8 * * *")
    harness.plan = lambda launch: (1.0, FAILED if launch.run_at.minute < 3 else Completed())
    recorder = Recorder(harness, NotificationRule("ops", frozenset({NotificationKind.RECOVERED})))
    run_engines(harness, 300, recorder)
    (sent,) = recorder.sent
    assert (sent.kind, sent.data["failures"], sent.data["run_at"]) == (
        "tompion.schedule.recovered", 2, "2027-01-15T08:03:00Z",
    )  # fmt: skip


def test_pause_after_a_failure_has_a_notification(harness: EngineHarness) -> None:
    harness.create(pause_on_failure=True)
    harness.plan = lambda _: (1.0, FAILED)
    recorder = Recorder(harness)
    run_engines(harness, 100, recorder)
    assert sorted(recorder.kinds) == ["tompion.run.failed", "tompion.schedule.paused"]
    paused = next(sent for sent in recorder.sent if sent.kind == "tompion.schedule.paused")
    assert paused.data["note"] == "paused after a failed run (FAILED): boom"


def test_missed_ticks_have_a_notification(harness: EngineHarness) -> None:
    harness.create(cron="* * * * *")
    recorder = Recorder(harness, NotificationRule("ops", frozenset({NotificationKind.MISSED})))

    async def scenario() -> None:
        await pause(600)
        await harness.engine(sender=recorder).start()
        await pause(5)

    harness.run(scenario)
    (sent,) = recorder.sent
    assert sent.kind == "tompion.ticks.missed"
    assert (sent.data["ticks"], sent.data["reason"], sent.data["until"]) == (9, "missed", "2027-01-15T08:09:00Z")


def test_pause_by_a_caller_has_no_notification(harness: EngineHarness) -> None:
    harness.create(on_resume="skip")
    recorder = Recorder(harness)

    async def scenario() -> None:
        await harness.engine(sender=recorder).start()
        harness.call(control.pause, "report")
        await pause(300)
        harness.call(control.resume, "report")
        await pause(5)

    harness.run(scenario)
    assert recorder.sent == []


def test_late_tick_matches_rules_with_a_lower_limit(harness: EngineHarness) -> None:
    """The first run takes long, and the second waits for it."""
    harness.create(cron="1,2 8 * * *", overlap_policy="queue")
    harness.plan = lambda launch: (200.0 if launch.run_at.minute == 1 else 1.0, Completed())
    rules = [
        NotificationRule(f"after-{ms}", frozenset({NotificationKind.LATE}), late_after_ms=ms)
        for ms in (60_000, 150_000)
    ]
    recorder = Recorder(harness, *rules)
    run_engines(harness, 300, recorder)
    (sent,) = recorder.sent
    assert (sent.kind, sent.data["run_at"], sent.data["late_ms"]) == (
        "tompion.run.late", "2027-01-15T08:02:00Z", pytest.approx(140_000, abs=1_000),
    )  # fmt: skip


def test_second_attempt_is_not_late(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *", max_attempts=3, retry_delay_ms=90_000)
    harness.plan = lambda _: (1.0, FAILED)
    recorder = Recorder(harness, NotificationRule("ops", frozenset({NotificationKind.LATE})))
    run_engines(harness, 600, recorder)
    assert len(harness.executor.executions) == 3
    assert recorder.sent == []


def test_late_run_of_a_remote_worker_has_a_notification_when_it_ends(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *", queue="remote")
    recorder = Recorder(harness, NotificationRule("ops", frozenset({NotificationKind.LATE})))

    async def scenario() -> None:
        await harness.engine(sender=recorder).start()
        await pause(130)
        worker = harness.call(remote_workers.register_worker, "elsewhere", queues=["remote"])
        (assignment,) = harness.call(remote_workers.claim_runs, worker.worker_id, queues=["remote"])
        await pause(10)
        assert recorder.sent == []
        harness.call(callbacks.report_run, assignment.token, "succeeded")
        await pause(10)

    harness.run(scenario)
    (sent,) = recorder.sent
    assert (sent.data["run_at"], sent.data["late_ms"]) == ("2027-01-15T08:01:00Z", pytest.approx(100_000, abs=100))


def test_notification_has_the_truncated_first_line_of_an_error(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (0.0, Completed(RunState.FAILED, error="x" * 2_000 + "\n  File 'secret.py', line 1"))
    recorder = Recorder(harness)
    run_engines(harness, 60, recorder)
    assert recorder.sent[0].data["error"] == "x" * 500 + "…"


def test_success_after_a_success_has_no_notification(harness: EngineHarness) -> None:
    harness.create(cron="1-3 8 * * *")
    harness.plan = lambda _: (0.0, Completed(result='"done"'))
    recorder = Recorder(harness)
    run_engines(harness, 240, recorder)
    assert len(harness.executor.executions) == 3
    assert recorder.sent == []


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (NotificationRule("ops", namespace="default"), {"etl-a", "etl-b", "report"}),
        (NotificationRule("ops", namespace="other"), set()),
        (NotificationRule("ops", schedule="etl-*"), {"etl-a", "etl-b"}),
        (NotificationRule("ops", label=("team", "a")), {"etl-a"}),
        (NotificationRule("ops", label=("team", None)), {"etl-a", "etl-b"}),
    ],
)
def test_rule_selects_schedules(harness: EngineHarness, rule: NotificationRule, expected: set[str]) -> None:
    harness.create("etl-a", cron="1 8 * * *", labels={"team": "a"})
    harness.create("etl-b", cron="1 8 * * *", labels={"team": "b"})
    harness.create("report", cron="1 8 * * *")
    harness.create("mute", cron="1 8 * * *", labels={"team": "a"}, notify=False)
    harness.plan = lambda _: (1.0, FAILED)
    recorder = Recorder(harness, rule)
    run_engines(harness, 60, recorder)
    assert {sent.data["schedule_id"] for sent in recorder.sent} == expected - {"mute"}


# --- delivery -----------------------------------------------------------------------------------------------------


def test_delivery_is_retried_with_the_same_id_and_body(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (0.0, FAILED)
    recorder = Recorder(harness)
    recorder.answer = lambda _: ARRIVED if len(recorder.sent) == 4 else REFUSED
    run_engines(harness, 120, recorder, notification_retry_ms=5_000)
    assert len({sent.notification_id for sent in recorder.sent}) == 1
    assert len({json.dumps(sent.message) for sent in recorder.sent}) == 1
    pauses = [after.at - before.at for before, after in zip(recorder.sent, recorder.sent[1:], strict=False)]
    assert pauses == pytest.approx([5, 10, 20], abs=1.1)
    (notification,) = notifications_of(harness)
    assert (notification.status, notification.attempts, notification.last_error) == ("DELIVERED", 4, None)


def test_notification_is_given_up_after_a_while_and_counted(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (0.0, FAILED)
    recorder = Recorder(harness)
    recorder.answer = lambda _: REFUSED
    run_engines(harness, 300, recorder, notification_retry_ms=5_000, notification_give_up_ms=60_000)
    (notification,) = notifications_of(harness, status="GIVEN_UP")
    assert (notification.attempts, notification.last_error, notification.next_try_at) == (4, REFUSED.message, None)
    assert [event.text for event in harness.events][-1].endswith("was given up: the receiver responded with 500")
    assert harness.engines[0].events.counts["notifications_given_up"] == 1
    assert harness.engines[0].events.counts["notifications_retried"] == 3


def test_permanent_failure_is_not_retried(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (0.0, FAILED)
    recorder = Recorder(harness)
    recorder.answer = lambda _: Delivery(False, "the receiver responded with 410", permanent=True)
    run_engines(harness, 300, recorder)
    assert len(recorder.sent) == 1
    assert notifications_of(harness)[0].status == "GIVEN_UP"


def test_crash_during_delivery_only_delays_a_notification(harness: EngineHarness) -> None:
    """The process dies while it delivers. The next one delivers the same notification after the lease has expired."""
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (0.0, FAILED)
    before, after = Recorder(harness), Recorder(harness)
    before.takes_s = 1e6

    async def scenario() -> None:
        first = harness.engine(sender=before)
        await first.start()
        await pause(35)
        await kill(first)
        harness.engines.remove(first)
        await harness.engine(sender=after).start()
        await pause(60)

    harness.run(scenario)
    assert [sent.notification_id for sent in before.sent] == [sent.notification_id for sent in after.sent]
    assert len(after.sent) == 1
    assert notifications_of(harness)[0].status == "DELIVERED"


def test_stopping_engine_releases_its_notifications_at_once(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (0.0, FAILED)
    before, after = Recorder(harness), Recorder(harness)
    before.takes_s = 1e6

    async def scenario() -> None:
        first = harness.engine(sender=before)
        await first.start()
        await pause(35)
        await first.stop(0)
        await harness.engine(sender=after).start()
        await pause(3)

    harness.run(scenario)
    assert len(after.sent) == 1


def test_two_instances_deliver_a_notification_once(harness: EngineHarness) -> None:
    for number in range(30):
        harness.create(f"report-{number}", cron="1 8 * * *")
    harness.plan = lambda _: (0.0, FAILED)
    recorders = [Recorder(harness), Recorder(harness)]
    for recorder in recorders:
        recorder.takes_s = 2.0
    run_engines(harness, 120, *recorders)
    sent = [attempt.notification_id for recorder in recorders for attempt in recorder.sent]
    assert len(sent) == len(set(sent)) == 30


def test_notification_of_an_unknown_rule_is_given_up(harness: EngineHarness) -> None:
    """One instance writes for ``ops`` and stops before it delivers. The other one does not have this rule."""
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (0.0, FAILED)
    knows, other = Recorder(harness), Recorder(harness, NotificationRule("other", frozenset({NotificationKind.LATE})))
    knows.takes_s = 1e6

    async def scenario() -> None:
        first = harness.engine(sender=knows)
        await first.start()
        await pause(35)
        await first.stop(0)
        settings = Settings(notification_give_up_ms=600_000, sweep_ms=60_000)
        await harness.engine(settings, sender=other).start()
        await pause(500)
        assert [notification.status for notification in notifications_of(harness)] == ["PENDING"]
        await pause(300)

    harness.run(scenario)
    (notification,) = notifications_of(harness)
    assert (notification.status, notification.last_error) == (
        "GIVEN_UP",
        "no running engine is configured with this notification rule",
    )
    assert other.sent == []
    assert harness.engines[1].events.counts["notifications_given_up"] == 1


def test_many_notifications_become_summaries(harness: EngineHarness) -> None:
    """Two hundred schedules fail in each of three minutes: a few notifications, and a summary with the counts."""
    for number in range(200):
        harness.create(f"report-{number:03}", cron="1-3 8 * * *")
    harness.plan = lambda _: (0.0, FAILED)
    recorder = Recorder(harness, NotificationRule("ops", frozenset({NotificationKind.FAILED}), max_per_minute=5))
    run_engines(harness, 400, recorder)
    summaries = [sent for sent in recorder.sent if sent.kind == "tompion.summary"]
    single = [sent for sent in recorder.sent if sent.kind == "tompion.run.failed"]
    assert len(single) + sum(sent.data["count"] for sent in summaries) == 600
    minutes = [int(sent.at + BEGIN) // 60 for sent in recorder.sent]
    assert max(minutes.count(minute) for minute in minutes) <= 5
    first = summaries[0].data
    assert first["namespace"] == "default"
    assert first["schedules"][0]["type"] == "tompion.run.failed"
    assert len(first["schedules"]) == 100
    assert first["more_schedules"] == first["count"] - 100
    states = [notification.status for notification in notifications_of(harness)]
    assert states.count("SUMMARIZED") == sum(sent.data["count"] for sent in summaries)
    ids = {sent.notification_id for sent in summaries}
    assert {notification.summary_id for notification in notifications_of(harness, status="SUMMARIZED")} == ids


def test_summary_has_one_line_per_schedule(harness: EngineHarness) -> None:
    harness.create(intervals="1s", end_at="2027-01-15T08:00:55Z")
    harness.plan = lambda _: (0.0, FAILED)
    recorder = Recorder(harness, NotificationRule("ops", frozenset({NotificationKind.FAILED}), max_per_minute=1))
    run_engines(harness, 120, recorder)
    (line,) = recorder.sent[-1].data["schedules"]
    assert (line["schedule_id"], line["count"]) == ("report", recorder.sent[-1].data["count"])


def test_hanging_receiver_delays_no_other(harness: EngineHarness) -> None:
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (0.0, FAILED)
    quick, slow = NotificationRule("quick"), NotificationRule("slow")
    recorder = Recorder(harness, slow, quick)
    send = recorder.send

    async def uneven(rule_name: str, notification_id: str, body: bytes) -> Delivery:
        if rule_name == "slow":
            await pause(1e6)
        return await send(rule_name, notification_id, body)

    recorder.send = uneven  # type: ignore[method-assign]  # as a receiver that does not answer
    run_engines(harness, 40, recorder)
    assert [(row.rule_name, row.status) for row in notifications_of(harness)] == [
        ("quick", "DELIVERED"), ("slow", "PENDING"),
    ]  # fmt: skip


def test_unwritten_outcome_has_no_notification(harness: EngineHarness) -> None:
    """The transaction fails every time, so neither the outcome nor the notification is written."""
    harness.create(cron="1 8 * * *")
    harness.plan = lambda _: (0.0, FAILED)
    recorder = Recorder(harness)
    broken = asyncio.Event()
    store = FaultyStore(
        harness.store, lambda _: InjectedFault(Fault.BUSY if broken.is_set() else Fault.NONE), lambda: None
    )

    async def scenario() -> None:
        engine = harness.engine(store=store, sender=recorder)
        await engine.start()
        harness.plan = _breaking(broken)
        await pause(60)
        assert notifications_of(harness) == []
        broken.clear()
        await pause(30)

    harness.run(scenario)
    assert recorder.kinds == ["tompion.run.failed"]


def _breaking(broken: asyncio.Event) -> Callable[[RunContext], tuple[float, Completed]]:
    def plan(_launch: RunContext) -> tuple[float, Completed]:
        broken.set()
        return 0.0, FAILED

    return plan
