"""What somebody outside is told, in virtual time: what makes a notice, and how it is delivered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.unit.engine.kit import BEGIN, World, die
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
    """A try to deliver a notice."""

    def __init__(self, at: float, notification_id: str, body: bytes) -> None:
        self.at = at
        self.notification_id = notification_id
        self.message: dict[str, Any] = json.loads(body)
        self.kind: str = self.message["type"]
        self.data: dict[str, Any] = self.message["data"]


class Recorder:
    """Remembers what it was to deliver, and answers as a test wants."""

    def __init__(self, world: World, *rules: NotificationRule) -> None:
        self.world = world
        self.rules: Sequence[NotificationRule] = rules or (NotificationRule("ops"),)
        self.answer: Callable[[Sent], Delivery] = lambda _: ARRIVED
        self.takes_s = 0.0
        self.sent: list[Sent] = []
        self.closed = False

    async def send(self, rule_name: str, notification_id: str, body: bytes) -> Delivery:
        assert rule_name in {rule.name for rule in self.rules}
        sent = Sent(self.world.clock.now() - BEGIN, notification_id, body)
        self.sent.append(sent)
        await pause(self.takes_s)
        return self.answer(sent)

    async def aclose(self) -> None:
        self.closed = True

    @property
    def kinds(self) -> list[str]:
        return [sent.kind for sent in self.sent]


def told(world: World, seconds: float, *couriers: Recorder, **settings: Any) -> None:
    """Let engines run for a while, each with its courier."""

    async def story() -> None:
        for courier in couriers:
            await world.engine(Settings(**settings), sender=courier).start()
        await pause(seconds)

    world.run(story)


def kept(world: World, **given: Any) -> list[Notification]:
    return list(world.ask(notifications.list_notifications, limit=1_000, **given).items)


def test_a_run_that_fails_for_good_is_told_once(world: World) -> None:
    world.create(cron="1 8 * * *", max_attempts=3)
    world.plan = lambda _: (1.0, FAILED)
    courier = Recorder(world)
    told(world, 120, courier)
    (sent,) = courier.sent
    assert sent.kind == "tompion.run.failed"
    assert sent.data == {
        "namespace": "default",
        "schedule_id": "report",
        "run_id": f"1-{int(BEGIN) + 30}-0",
        "nominal": "2027-01-15T08:01:00Z",
        "fire_at": "2027-01-15T08:01:00Z",
        "state": "FAILED",
        "attempt": 3,
        "reason": None,
        "error": "boom",
    }
    (notification,) = kept(world)
    assert (notification.notification_id, notification.state, notification.attempts) == (
        sent.notification_id,
        "DELIVERED",
        1,
    )
    assert courier.closed


def test_a_run_that_times_out_is_told_with_a_link(world: World) -> None:
    world.create(cron="1 8 * * *", max_execution_ms=1_000)
    world.plan = lambda _: (60.0, Completed())
    courier = Recorder(world)

    async def story() -> None:
        await world.engine(sender=courier, public_url="https://tompion.example/").start()
        await pause(60)

    world.run(story)
    assert courier.sent[0].data["state"] == "TIMED_OUT"
    assert courier.sent[0].data["link"] == f"https://tompion.example/api/v1/runs/1-{int(BEGIN) + 30}-0"


def test_nothing_is_written_where_nothing_is_asked_for(world: World) -> None:
    world.create(cron="1,2 8 * * *", pause_on_failure=True)
    world.plan = lambda _: (1.0, FAILED)

    async def story() -> None:
        await world.engine().start()
        await pause(200)

    world.run(story)
    assert kept(world) == []


def test_no_payload_or_result_is_ever_told(world: World) -> None:
    world.create(cron="1,2 8 * * *", payload={"secret": "canary-payload"})
    world.plan = lambda launch: (
        (1.0, FAILED) if launch.scheduled_for.minute == 1 else (1.0, Completed(result='"canary-result"'))
    )
    courier = Recorder(world)
    told(world, 200, courier)
    assert courier.kinds == ["tompion.run.failed", "tompion.schedule.recovered"]
    assert "canary" not in json.dumps([sent.message for sent in courier.sent])
    assert "canary" not in repr(kept(world))


def test_a_success_after_failures_is_a_recovery(world: World) -> None:
    world.create(cron="1-4 8 * * *")
    world.plan = lambda launch: (1.0, FAILED if launch.scheduled_for.minute < 3 else Completed())
    courier = Recorder(world, NotificationRule("ops", frozenset({NotificationKind.RECOVERED})))
    told(world, 300, courier)
    (sent,) = courier.sent
    assert (sent.kind, sent.data["failures"], sent.data["nominal"]) == (
        "tompion.schedule.recovered", 2, "2027-01-15T08:03:00Z",
    )  # fmt: skip


def test_a_schedule_that_pauses_itself_is_told(world: World) -> None:
    world.create(pause_on_failure=True)
    world.plan = lambda _: (1.0, FAILED)
    courier = Recorder(world)
    told(world, 100, courier)
    assert sorted(courier.kinds) == ["tompion.run.failed", "tompion.schedule.paused"]
    paused = next(sent for sent in courier.sent if sent.kind == "tompion.schedule.paused")
    assert paused.data["note"] == "paused after a failed run (FAILED): boom"


def test_ticks_that_nobody_could_start_in_time_are_told(world: World) -> None:
    world.create(cron="* * * * *")
    courier = Recorder(world, NotificationRule("ops", frozenset({NotificationKind.MISSED})))

    async def story() -> None:
        await pause(600)
        await world.engine(sender=courier).start()
        await pause(5)

    world.run(story)
    (sent,) = courier.sent
    assert sent.kind == "tompion.ticks.missed"
    assert (sent.data["ticks"], sent.data["reason"], sent.data["until"]) == (9, "missed", "2027-01-15T08:09:00Z")


def test_a_pause_that_somebody_asked_for_is_no_news(world: World) -> None:
    world.create(on_resume="skip")
    courier = Recorder(world)

    async def story() -> None:
        await world.engine(sender=courier).start()
        world.ask(control.pause, "report")
        await pause(300)
        world.ask(control.resume, "report")
        await pause(5)

    world.run(story)
    assert courier.sent == []


def test_a_tick_that_starts_late_is_told_to_whom_it_is_late_enough(world: World) -> None:
    """The first run takes long; the second waits for it."""
    world.create(cron="1,2 8 * * *", overlap_policy="queue")
    world.plan = lambda launch: (200.0 if launch.scheduled_for.minute == 1 else 1.0, Completed())
    rules = [
        NotificationRule(f"after-{ms}", frozenset({NotificationKind.LATE}), late_after_ms=ms)
        for ms in (60_000, 150_000)
    ]
    courier = Recorder(world, *rules)
    told(world, 300, courier)
    (sent,) = courier.sent
    assert (sent.kind, sent.data["nominal"], sent.data["late_ms"]) == (
        "tompion.run.late", "2027-01-15T08:02:00Z", pytest.approx(140_000, abs=1_000),
    )  # fmt: skip


def test_a_second_attempt_is_not_late(world: World) -> None:
    world.create(cron="1 8 * * *", max_attempts=3, retry_delay_ms=90_000)
    world.plan = lambda _: (1.0, FAILED)
    courier = Recorder(world, NotificationRule("ops", frozenset({NotificationKind.LATE})))
    told(world, 600, courier)
    assert len(world.executor.executions) == 3
    assert courier.sent == []


def test_a_run_that_a_worker_without_a_store_takes_late_is_told_when_it_ends(world: World) -> None:
    world.create(cron="1 8 * * *", queue="remote")
    courier = Recorder(world, NotificationRule("ops", frozenset({NotificationKind.LATE})))

    async def story() -> None:
        await world.engine(sender=courier).start()
        await pause(130)
        worker = world.ask(remote_workers.register_worker, "elsewhere", queues=["remote"])
        (given,) = world.ask(remote_workers.claim_runs, worker.worker_id, queues=["remote"])
        await pause(10)
        assert courier.sent == []
        world.ask(callbacks.report_run, given.token, "succeeded")
        await pause(10)

    world.run(story)
    (sent,) = courier.sent
    assert (sent.data["nominal"], sent.data["late_ms"]) == ("2027-01-15T08:01:00Z", pytest.approx(100_000, abs=100))


def test_of_an_error_its_first_line_is_told_and_no_more_than_fits(world: World) -> None:
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (0.0, Completed(RunState.FAILED, error="x" * 2_000 + "\n  File 'secret.py', line 1"))
    courier = Recorder(world)
    told(world, 60, courier)
    assert courier.sent[0].data["error"] == "x" * 500 + "…"


def test_a_success_after_a_success_is_no_news(world: World) -> None:
    world.create(cron="1-3 8 * * *")
    world.plan = lambda _: (0.0, Completed(result='"done"'))
    courier = Recorder(world)
    told(world, 240, courier)
    assert len(world.executor.executions) == 3
    assert courier.sent == []


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
def test_a_notification_is_about_some_schedules(world: World, rule: NotificationRule, expected: set[str]) -> None:
    world.create("etl-a", cron="1 8 * * *", labels={"team": "a"})
    world.create("etl-b", cron="1 8 * * *", labels={"team": "b"})
    world.create("report", cron="1 8 * * *")
    world.create("mute", cron="1 8 * * *", labels={"team": "a"}, notify=False)
    world.plan = lambda _: (1.0, FAILED)
    courier = Recorder(world, rule)
    told(world, 60, courier)
    assert {sent.data["schedule_id"] for sent in courier.sent} == expected - {"mute"}


# --- delivery -----------------------------------------------------------------------------------------------------


def test_a_notice_is_tried_again_with_the_same_id_and_body(world: World) -> None:
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (0.0, FAILED)
    courier = Recorder(world)
    courier.answer = lambda _: ARRIVED if len(courier.sent) == 4 else REFUSED
    told(world, 120, courier, notification_retry_ms=5_000)
    assert len({sent.notification_id for sent in courier.sent}) == 1
    assert len({json.dumps(sent.message) for sent in courier.sent}) == 1
    pauses = [after.at - before.at for before, after in zip(courier.sent, courier.sent[1:], strict=False)]
    assert pauses == pytest.approx([5, 10, 20], abs=1.1)
    (notification,) = kept(world)
    assert (notification.state, notification.attempts, notification.last_error) == ("DELIVERED", 4, None)


def test_a_notice_is_given_up_after_a_while_and_that_is_seen(world: World) -> None:
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (0.0, FAILED)
    courier = Recorder(world)
    courier.answer = lambda _: REFUSED
    told(world, 300, courier, notification_retry_ms=5_000, notification_give_up_ms=60_000)
    (notification,) = kept(world, state="GIVEN_UP")
    assert (notification.attempts, notification.last_error, notification.next_try_at) == (4, REFUSED.message, None)
    assert [event.text for event in world.events][-1].endswith("was given up: the receiver responded with 500")
    assert world.engines[0].events.counts["notifications_given_up"] == 1
    assert world.engines[0].events.counts["notifications_retried"] == 3


def test_a_receiver_that_wants_no_more_is_left_alone(world: World) -> None:
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (0.0, FAILED)
    courier = Recorder(world)
    courier.answer = lambda _: Delivery(False, "the receiver responded with 410", permanent=True)
    told(world, 300, courier)
    assert len(courier.sent) == 1
    assert kept(world)[0].state == "GIVEN_UP"


def test_a_crash_after_the_commit_delays_a_notice_and_no_more(world: World) -> None:
    """The process dies while it delivers; the next one delivers the same notice, when the lease has run out."""
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (0.0, FAILED)
    before, after = Recorder(world), Recorder(world)
    before.takes_s = 1e6

    async def story() -> None:
        first = world.engine(sender=before)
        await first.start()
        await pause(35)
        await die(first)
        world.engines.remove(first)
        await world.engine(sender=after).start()
        await pause(60)

    world.run(story)
    assert [sent.notification_id for sent in before.sent] == [sent.notification_id for sent in after.sent]
    assert len(after.sent) == 1
    assert kept(world)[0].state == "DELIVERED"


def test_an_engine_that_stops_leaves_its_notices_to_others_at_once(world: World) -> None:
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (0.0, FAILED)
    before, after = Recorder(world), Recorder(world)
    before.takes_s = 1e6

    async def story() -> None:
        first = world.engine(sender=before)
        await first.start()
        await pause(35)
        await first.stop(0)
        await world.engine(sender=after).start()
        await pause(3)

    world.run(story)
    assert len(after.sent) == 1


def test_two_instances_deliver_a_notice_once(world: World) -> None:
    for number in range(30):
        world.create(f"report-{number}", cron="1 8 * * *")
    world.plan = lambda _: (0.0, FAILED)
    couriers = [Recorder(world), Recorder(world)]
    for courier in couriers:
        courier.takes_s = 2.0
    told(world, 120, *couriers)
    sent = [each.notification_id for courier in couriers for each in courier.sent]
    assert len(sent) == len(set(sent)) == 30


def test_a_notice_of_a_notification_that_nobody_knows_is_given_up(world: World) -> None:
    """One instance writes for ``ops`` and is stopped before it delivers; the other has never heard of it."""
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (0.0, FAILED)
    knows, other = Recorder(world), Recorder(world, NotificationRule("other", frozenset({NotificationKind.LATE})))
    knows.takes_s = 1e6

    async def story() -> None:
        first = world.engine(sender=knows)
        await first.start()
        await pause(35)
        await first.stop(0)
        settings = Settings(notification_give_up_ms=600_000, sweep_ms=60_000)
        await world.engine(settings, sender=other).start()
        await pause(500)
        assert [notification.state for notification in kept(world)] == ["PENDING"]
        await pause(300)

    world.run(story)
    (notification,) = kept(world)
    assert (notification.state, notification.last_error) == (
        "GIVEN_UP",
        "no running engine is configured with this notification rule",
    )
    assert other.sent == []
    assert world.engines[1].events.counts["notifications_given_up"] == 1


def test_a_storm_becomes_summaries(world: World) -> None:
    """Two hundred schedules fail in each of three minutes: a few notices, and how many there were."""
    for number in range(200):
        world.create(f"report-{number:03}", cron="1-3 8 * * *")
    world.plan = lambda _: (0.0, FAILED)
    courier = Recorder(world, NotificationRule("ops", frozenset({NotificationKind.FAILED}), max_per_minute=5))
    told(world, 400, courier)
    summaries = [sent for sent in courier.sent if sent.kind == "tompion.summary"]
    single = [sent for sent in courier.sent if sent.kind == "tompion.run.failed"]
    assert len(single) + sum(sent.data["count"] for sent in summaries) == 600
    minutes = [int(sent.at + BEGIN) // 60 for sent in courier.sent]
    assert max(minutes.count(minute) for minute in minutes) <= 5
    first = summaries[0].data
    assert first["namespace"] == "default"
    assert first["schedules"][0]["type"] == "tompion.run.failed"
    assert len(first["schedules"]) == 100
    assert first["more_schedules"] == first["count"] - 100
    states = [notification.state for notification in kept(world)]
    assert states.count("SUMMARIZED") == sum(sent.data["count"] for sent in summaries)
    ids = {sent.notification_id for sent in summaries}
    assert {notification.summary_id for notification in kept(world, state="SUMMARIZED")} == ids


def test_a_storm_of_one_schedule_is_one_line_of_a_summary(world: World) -> None:
    world.create(intervals="1s", end_at="2027-01-15T08:00:55Z")
    world.plan = lambda _: (0.0, FAILED)
    courier = Recorder(world, NotificationRule("ops", frozenset({NotificationKind.FAILED}), max_per_minute=1))
    told(world, 120, courier)
    (line,) = courier.sent[-1].data["schedules"]
    assert (line["schedule_id"], line["count"]) == ("report", courier.sent[-1].data["count"])


def test_a_receiver_that_hangs_delays_no_other(world: World) -> None:
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (0.0, FAILED)
    quick, slow = NotificationRule("quick"), NotificationRule("slow")
    courier = Recorder(world, slow, quick)
    send = courier.send

    async def uneven(rule_name: str, notification_id: str, body: bytes) -> Delivery:
        if rule_name == "slow":
            await pause(1e6)
        return await send(rule_name, notification_id, body)

    courier.send = uneven  # type: ignore[method-assign]  # as a receiver that does not answer
    told(world, 40, courier)
    assert [(notification_row.rule_name, notification_row.state) for notification_row in kept(world)] == [
        ("quick", "DELIVERED"), ("slow", "PENDING"),
    ]  # fmt: skip


def test_an_outcome_that_is_not_written_has_no_notice(world: World) -> None:
    """The transaction fails before its end, again and again: neither the outcome nor the notice is there."""
    world.create(cron="1 8 * * *")
    world.plan = lambda _: (0.0, FAILED)
    courier = Recorder(world)
    broken = asyncio.Event()
    store = FaultyStore(
        world.store, lambda _: InjectedFault(Fault.BUSY if broken.is_set() else Fault.NONE), lambda: None
    )

    async def story() -> None:
        engine = world.engine(store=store, sender=courier)
        await engine.start()
        world.plan = _breaking(broken)
        await pause(60)
        assert kept(world) == []
        broken.clear()
        await pause(30)

    world.run(story)
    assert courier.kinds == ["tompion.run.failed"]


def _breaking(broken: asyncio.Event) -> Callable[[RunContext], tuple[float, Completed]]:
    def plan(_launch: RunContext) -> tuple[float, Completed]:
        broken.set()
        return 0.0, FAILED

    return plan
