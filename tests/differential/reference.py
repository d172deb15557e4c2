"""A reference model: schedules, ticks, overlap, pause, catch-up, trigger, skip and backfill, in plain dicts.

It is written from the documented guarantees, not from the code. It has no store, no transaction, no engine and no spec
but intervals. The engine must agree with it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.differential.generator import Step, interval_of

GRACE_MS = 30_000
MAX_BUFFER = CHUNK = 3
RECHECK_MS = 1_000
NEVER = 1 << 62
POLICY_FIELDS = ("overlap_policy", "catchup_policy", "max_concurrent", "catchup_window", "on_resume", "buffer_keep")
IN_FLIGHT = "ENQUEUED"


Row = dict[str, Any]


class Reference:
    """All schedules and their runs."""

    def __init__(self, now_ms: int) -> None:
        self.now = now_ms
        self.all: dict[str, Row] = {}
        self.requests: dict[str, tuple[Any, Any]] = {}
        self.numbers = 0

    def perform(self, step: Step) -> Any:
        """Perform a step and return the comparable part of its result."""
        fields = dict(step.arguments)
        request_id, name = fields.pop("request_id", ""), fields.pop("schedule_id", None)
        if name is None:
            return getattr(self, step.name)(**fields)
        is_relative = any(field.endswith(("_in", "_ago")) for field in fields)
        request = (step.name, step.arguments, self.now if is_relative else None)
        if request_id in self.requests:
            before, answer = self.requests[request_id]
            return answer if before == request else "RequestReused"
        schedule = self.all.get(name)
        if step.name != "upsert" and (schedule is None or (schedule["closed"] and step.name != "get")):
            return "NotFound" if schedule is None else "ScheduleClosed"
        answer = getattr(self, step.name)(name if step.name == "upsert" else schedule, **fields) or self._view(name)
        if request_id and not isinstance(answer, str):
            self.requests[request_id] = request, answer
        return answer

    # --- requests -----------------------------------------------------------------------------------------------------

    def upsert(self, name: str, **fields: Any) -> None:
        every, offset = interval_of(fields["intervals"][0])
        new: Row = {"paused": False, "until": None, "closed": False, "cursor": self._before(), "carry": None}
        new |= {"runs": [], "skips": set(), "dropped": Counter(), "backfills": [], "every": every, "offset": offset}
        one = self.all.setdefault(name, new)
        one |= {key: fields[key] for key in POLICY_FIELDS}
        if one["closed"]:
            one |= {"closed": False, "cursor": max(one["cursor"], self._before()), "every": every, "offset": offset}
        self._retime(one, every, offset)

    def patch(self, one: Row, **fields: Any) -> None:
        if "intervals" in fields:
            self._retime(one, *interval_of(fields.pop("intervals")[0]))
        one |= fields

    def pause(self, one: Row, until_in: float | None = None, note: str | None = None) -> None:
        one |= {"paused": True, "until": None if until_in is None else self.now + int(until_in * 1000)}

    def resume(self, one: Row, on_resume: str | None = None) -> None:
        self._resume(one, on_resume or one["on_resume"])

    def trigger(self, one: Row, overlap: str = "allow") -> Any:
        run = self._run(one, self.now // 1000, "trigger", overlap=overlap)
        self._admit(one, run, [])
        return [run["state"], run["reason"]]

    def skip(self, one: Row) -> None:
        one["skips"].add(self._unskipped(one, max(one["cursor"], self.now // 1000)))

    def unskip(self, one: Row) -> None:
        one["skips"].clear()

    def backfill(self, one: Row, start_ago: float, end_ago: float, overlap: str, only: str) -> Any:
        first, last = -(-(self.now - int(start_ago * 1000)) // 1000), (self.now - int(end_ago * 1000)) // 1000
        if last < first:
            return "InvalidField"
        self.numbers += 1
        left = _ticks(one, first - 1, last)
        one["backfills"].append({"number": self.numbers, "left": [*left], "overlap": overlap, "next": self.now})
        return [len(left)]

    def delete(self, one: Row) -> None:
        self._pass_over(one, "deleted")
        for run in one["runs"]:
            if run["state"] == "BUFFERED":
                run |= {"state": "SKIPPED", "reason": "deleted"}
            elif run["state"] == IN_FLIGHT and not run["launched"]:
                run |= {"state": "CANCELLED", "reason": "deleted"}
        one |= {"closed": True, "backfills": [], "skips": set(), "carry": None}

    def get(self, one: Row) -> None:
        """Change nothing."""

    def _view(self, name: str) -> list[Any]:
        one = self.all[name]
        state = "closed" if one["closed"] else "paused" if one["paused"] else "active"
        tick = None if one["closed"] else self._unskipped(one, max(one["cursor"], one["paused"] * self.now // 1000))
        return [state, len(_in(one, IN_FLIGHT)), len(_in(one, "BUFFERED")), tick]

    # --- engines ------------------------------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        self.now += int(seconds * 1000)

    def tick(self) -> None:
        for one in (one for one in self.all.values() if not one["closed"]):
            if one["paused"] and (one["until"] or NEVER) <= self.now:
                self._resume(one, one["on_resume"])
            self._release(one)
            if not one["paused"]:
                self._decide(one)
                self._release(one)  # a tick may have terminated more runs than it replaces
        for one in self.all.values():
            for run in _in(one, IN_FLIGHT):
                run["launched"] = True
            while due := [backfill for backfill in one["backfills"] if backfill["next"] <= self.now]:
                self._hand_out(one, min(due, key=lambda backfill: (backfill["next"], backfill["number"])))

    def settle(self, state: str) -> None:
        held = [(name, run) for name, one in self.all.items() for run in _in(one, IN_FLIGHT) if run["launched"]]
        for name, run in sorted(held, key=lambda pair: (pair[0], pair[1]["nominal"], pair[1]["number"]))[:1]:
            run["state"] = state
            for backfill in self.all[name]["backfills"] if run["number"] else ():
                backfill["next"] = min(backfill["next"], self.now) if backfill["left"] else NEVER
            self._release(self.all[name])

    # --- outcomes of ticks --------------------------------------------------------------------------------------------

    def _decide(self, one: Row) -> None:
        """Decide every due tick: carried over from a pause, missed, or on time."""
        due = _ticks(one, one["cursor"], self.now // 1000)
        carried = [tick for tick in due if one["carry"] and tick <= one["carry_until"]]
        missed = [tick for tick in due[len(carried) :] if tick * 1000 < self.now - GRACE_MS]
        new_runs: list[Any] = []
        oldest = {None: 0, 0: NEVER}.get(one["catchup_window"], self.now - (one["catchup_window"] or 0) * 1000)
        outside = [tick for tick in missed if tick * 1000 <= oldest]
        self._some(one, carried, {"skip": "none", "fire_once": "coalesce"}.get(one["carry"], ""), "resumed", new_runs)
        one["dropped"]["outside_window"] += len(outside)
        policy, caught_up, overdue = one["catchup_policy"], missed[len(outside) :], due[len(carried) + len(outside) :]
        caught_up = overdue if policy == "coalesce" and caught_up else caught_up  # one run for all that is overdue
        reason = {"none": "missed", "coalesce": "coalesced"}.get(policy, "catch_up")
        self._some(one, caught_up, policy, reason, new_runs)
        for tick in overdue[len(caught_up) :]:
            self._one_tick(one, tick, None, new_runs)
        one["cursor"] = due[-1] if due else one["cursor"]
        one["skips"] = {tick for tick in one["skips"] if tick > one["cursor"]}

    def _some(self, one: Row, ticks: list[int], policy: str, reason: str, new_runs: list[Any]) -> None:
        """Decide ticks that are late together: start all of them, the latest, or none."""
        wanted = [tick for tick in ticks if tick not in one["skips"]]
        first = {"none": NEVER, "fire_immediately": 0}.get(policy, wanted[-1] if wanted else 0)
        one["dropped"][reason] += sum(tick < first for tick in ticks)
        for tick in (tick for tick in ticks if tick >= first):
            self._one_tick(one, tick, reason, new_runs)

    def _one_tick(self, one: Row, tick: int, reason: str | None, new_runs: list[Any]) -> None:
        run = self._run(one, tick, "schedule", reason=reason)
        if tick in one["skips"]:
            run |= {"state": "SKIPPED", "reason": "skip_requested"}
        else:
            self._admit(one, run, new_runs)
            new_runs.append(run)

    def _admit(self, one: Row, run: Row, new_runs: list[Any]) -> None:
        """Start, buffer or skip a run by the overlap policy of the schedule or of the request."""
        chosen, waiting = run["overlap"] or one["overlap_policy"], _in(one, "BUFFERED")
        if chosen == "terminate_other" and self._is_full(one):
            for other in _in(one, IN_FLIGHT):
                other |= {"state": "SKIPPED" if other in new_runs else "TERMINATED", "reason": "superseded"}
            _supersede([] if run["overlap"] else waiting, run)
        if chosen == "allow" or not self._is_full(one):
            run["state"] = IN_FLIGHT
        elif chosen == "skip":
            run |= {"state": "SKIPPED", "reason": "overlap"}
        elif len(waiting) >= MAX_BUFFER and (chosen == "queue" or run["overlap"]):
            run |= {"state": "SKIPPED", "reason": "buffer_full"}
        elif chosen == "buffer_one" and waiting and one["buffer_keep"] == "first":
            run |= {"state": "SKIPPED", "reason": "superseded"}
        else:
            _supersede(waiting if chosen == "buffer_one" else [], run)
            run |= {"state": "BUFFERED", "queued": self.now}

    def _release(self, one: Row) -> None:
        """Start waiting runs while slots are free. A pause holds ticks, but not triggers and backfills."""
        order = ("backfill", "queued", "nominal", "number")
        for run in sorted(_in(one, "BUFFERED"), key=lambda run: [run[name] for name in order]):
            free = not self._is_full(one) or (run["overlap"] or one["overlap_policy"]) == "allow"
            if free and not (one["paused"] and run["source"] == "schedule"):
                run |= {"state": IN_FLIGHT, "launched": True}

    def _hand_out(self, one: Row, backfill: Row) -> None:
        """Start the next few ticks of a backfill. ``queue`` needs a free slot and no waiting run."""

        def has_room() -> bool:
            held = not one["paused"] and _in(one, "BUFFERED")
            return backfill["overlap"] != "queue" or not (held or self._is_full(one))

        for _ in range(CHUNK):
            if backfill["left"] and has_room():
                tick, number, overlap = backfill["left"].pop(0), backfill["number"], backfill["overlap"]
                run = self._run(one, tick, "backfill", number=number, overlap=overlap)
                self._admit(one, run, [])
                run["launched"] = True
        backfill["next"] = self.now + (0 if has_room() else RECHECK_MS) if backfill["left"] else NEVER

    def _run(self, one: Row, nominal: int, source: str, **fields: Any) -> Row:
        if source == "trigger":
            self.numbers += 1
            fields["number"] = self.numbers
        run: Row = {"nominal": nominal, "source": source, "state": "", "reason": None, "overlap": None, "number": 0}
        run |= {"backfill": source == "backfill", "queued": 0, "launched": False, **fields}
        one["runs"].append(run)
        return run

    def _resume(self, one: Row, how: str) -> None:
        if one["paused"] and how != "policy":
            one |= {"carry": how, "carry_until": self.now // 1000}
        one |= {"paused": False, "until": None}

    def _retime(self, one: Row, every: int, offset: int) -> None:
        """Change the interval. Ticks before the change are dropped."""
        if (every, offset) != (one["every"], one["offset"]):
            self._pass_over(one, "edited")
            one |= {"every": every, "offset": offset, "carry": None}

    def _pass_over(self, one: Row, reason: str) -> None:
        one["dropped"][reason] += len(_ticks(one, one["cursor"], self._before()))
        one["cursor"] = max(one["cursor"], self._before())

    def _before(self) -> int:
        return (self.now - 1) // 1000

    def _unskipped(self, one: Row, after: int) -> int:
        return next(tick for tick in _ticks(one, after, after + 1_000_000) if tick not in one["skips"])

    def _is_full(self, one: Row) -> bool:
        return len(_in(one, IN_FLIGHT)) >= int(one["max_concurrent"])


def _supersede(waiting: list[Row], run: Row) -> None:
    for other in (other for other in waiting if other["overlap"] == run["overlap"]):
        other |= {"state": "SKIPPED", "reason": "superseded"}


def _in(one: Row, state: str) -> list[Row]:
    return [run for run in one["runs"] if run["state"] == state]


def _ticks(one: Row, after: int, until: int) -> list[int]:
    """Return the ticks in a range. They are anchored on the epoch, not on the creation of the schedule."""
    every, offset = one["every"], one["offset"]
    return list(range((after - offset) // every * every + every + offset, until + 1, every))
