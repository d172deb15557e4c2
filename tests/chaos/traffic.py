"""A client that sends requests during the faults, and repeats each with the same request id until it is answered."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from tests.chaos.workload import Beat, Plan
from tompion.errors import StoreUnavailable, TompionError
from tompion.model.schedule import Run
from tompion.sdk.app import Tompion

PAUSE_S = 0.15
RETRY_S = 0.05
AGAIN = 0.1
"""How many requests are sent once more although they were answered."""


class Accepted(NamedTuple):
    """An answered request. ``run_id`` is the response of a trigger."""

    request_id: str
    operation: str
    schedule_id: str
    run_id: str | None


class Traffic:
    """A thread that sends requests until it is stopped. Then it resumes what it has paused."""

    def __init__(self, tompion: Tompion, plans: list[Plan], dice: Random) -> None:
        self._tompion = tompion
        self._plans = plans
        self._dice = dice
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chaos-traffic", daemon=True)
        self._paused: list[str] = []
        self.accepted: list[Accepted] = []
        self.surprises: list[str] = []
        self.counts: Counter[str] = Counter()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Finish what was begun. Each request gets its answer, now that nothing is broken."""
        self._over.set()
        self._thread.join(seconds)
        if self._thread.is_alive():
            self.surprises.append(f"traffic: a request got no answer within {seconds} s of peace")

    def _run(self) -> None:
        try:
            while not self._over.wait(self._dice.uniform(0, 2 * PAUSE_S)):
                self._one()
            while self._paused:
                self._resume(self._paused.pop())
        except TompionError as error:
            self.surprises.append(f"traffic: {type(error).__name__}: {error}")

    def _one(self) -> None:
        kind = self._dice.choices(["trigger", "edit", "patch", "pause", "resume"], [10, 1, 2, 2, 2])[0]
        if kind == "trigger":
            plan = self._dice.choice(self._plans)
            self._send("trigger", self._tompion.trigger, plan.schedule_id, overlap=plan.overlap)
        elif kind == "edit":
            beat = self._dice.choice([Beat(1), Beat(2), Beat(3, 1)])
            chosen = self._dice.choice([plan for plan in self._plans if plan.edited])
            text = f"edit {len(self.accepted)}"  # so that no edit is a repetition, which would not be audited
            self._send("patch", self._tompion.patch, chosen.schedule_id, description=text, **beat.fields())
        elif kind == "patch":  # a new version that ticks as the one before
            chosen = self._dice.choice(self._plans)
            text = f"edit {len(self.accepted)}"
            self._send("patch", self._tompion.patch, chosen.schedule_id, description=text)
        elif kind == "pause":
            chosen = self._dice.choice([plan for plan in self._plans if plan.pausable])
            self._send("pause", self._tompion.pause, chosen.schedule_id)
            self._paused.append(chosen.schedule_id)
        elif self._paused:
            self._resume(self._paused.pop(0))

    def _resume(self, schedule_id: str) -> None:
        self._send("resume", self._tompion.resume, schedule_id)

    def _send(self, operation: str, call: Callable[..., Any], schedule_id: str, **arguments: Any) -> None:
        """Send one request until it is answered. Now and then once more, as a client does that forgets its answer."""
        request_id = f"{operation}-{len(self.accepted)}"
        answer = self._answer(call, schedule_id, request_id, arguments)
        if self._dice.random() < AGAIN:
            self.counts["sent again"] += 1
            second = self._answer(call, schedule_id, request_id, arguments)
            if second != answer:
                self.surprises.append(f"traffic: two answers to {request_id}: {answer}, {second}")
        run_id = answer.run_id if isinstance(answer, Run) else None
        self.accepted.append(Accepted(request_id, operation, schedule_id, run_id))
        self.counts[operation] += 1

    def _answer(self, call: Callable[..., Any], schedule_id: str, request_id: str, arguments: dict[str, Any]) -> Any:
        while True:
            try:
                return call(schedule_id, request_id=request_id, **arguments)
            except StoreUnavailable:
                self.counts["tried again"] += 1
                threading.Event().wait(RETRY_S)
