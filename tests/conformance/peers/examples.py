"""One case or more for each documented difference, with the exact instants of both answers.

They keep the list honest: a peer that changes its ways makes its example fail, and the difference with it.
``docs/explanation/differences.md`` shows the same rows, and a test compares the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from tests.conformance.peers.comparing import ENDLESS, Answer, Peer, Question
from tests.conformance.peers.croner_peer import CronerPeer
from tests.conformance.peers.croniter_peer import CroniterPeer
from tests.conformance.peers.cronsim_peer import CronSimPeer

PEERS: tuple[Peer, ...] = (CroniterPeer(), CronSimPeer(), CronerPeer())

NEW_YORK, LORD_HOWE, APIA = "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"


@dataclass(frozen=True)
class Example:
    """What one peer answers, and Foliot; `name` is the code of the difference, perhaps with a letter behind it."""

    peer: str
    name: str
    expression: str
    zone: str
    asked: str
    ours: str
    theirs: str

    @property
    def code(self) -> str:
        """The code of the difference."""
        head, _, tail = self.name.rpartition("-")
        return head if len(tail) == 1 and tail.isalpha() else self.name

    @property
    def question(self) -> Question:
        """What is asked."""
        direction, instant = self.asked.split()
        return Question(self.expression, self.zone, read_instant(instant), direction == "before")


def read_answer(text: str) -> Answer:
    """An answer as the examples and the page write it."""
    return {"none": None, "endless loop": ENDLESS}[text] if text[0].isalpha() else read_instant(text)


def read_instant(text: str) -> int:
    """An instant in UTC."""
    return int(datetime.fromisoformat(text).astimezone(UTC).timestamp())


EXAMPLES = [
    Example(peer, *case)
    for peer, cases in {
        "croniter": [
            ("croniter-overlap-twice", "30 1 * * *", NEW_YORK, "after 2025-11-02T05:30Z", "2025-11-03T06:30Z", "2025-11-02T06:30Z"),
            ("croniter-gap-by-hour-a", "*/15 2 * * *", NEW_YORK, "after 2025-03-09T05:00Z", "2025-03-10T06:00Z", "2025-03-09T07:00Z"),
            ("croniter-gap-by-hour-b", "30 */2 * * *", NEW_YORK, "after 2025-03-09T05:30Z", "2025-03-09T08:30Z", "2025-03-09T07:00Z"),
            ("croniter-gap-by-hour-c", "30 0-23 * * *", NEW_YORK, "after 2025-03-09T06:30Z", "2025-03-09T07:00Z", "2025-03-09T07:30Z"),
            ("croniter-gap-seconds", "15 30 2 * * *", NEW_YORK, "after 2025-03-09T05:00Z", "2025-03-09T07:00Z", "2025-03-09T07:00:15Z"),
            ("croniter-gap-now-and-then", "0 * * * *", LORD_HOWE, "after 2025-10-04T14:30Z", "2025-10-04T16:00Z", "2025-10-04T15:30Z"),
            ("croniter-part-hour", "1/12 * * * *", LORD_HOWE, "after 2025-04-05T14:49Z", "2025-04-05T15:07Z", "2025-04-05T15:31Z"),
            ("croniter-lost-day", "0 9 * * *", APIA, "after 2011-12-30T00:00Z", "2011-12-30T19:00Z", "2011-12-30T10:00Z"),
            ("or-and-star-step", "0 9 */2 * MON", "UTC", "after 2025-06-02T12:00Z", "2025-06-09T09:00Z", "2025-06-03T09:00Z"),
            ("croniter-special-day-alone-a", "0 9 1,15 * FRI#3", "UTC", "after 2025-06-02T12:00Z", "2025-06-15T09:00Z", "2025-06-20T09:00Z"),
            ("croniter-special-day-alone-b", "0 9 15W * MON", "UTC", "after 2025-06-02T12:00Z", "2025-06-09T09:00Z", "2025-06-16T09:00Z"),
            ("croniter-workday-of-short-months", "0 9 31W * *", "UTC", "after 2025-04-01T00:00Z", "2025-05-30T09:00Z", "2025-04-30T09:00Z"),
            ("croniter-half-fails", "0 9 31 6 MON", "UTC", "after 2025-04-01T00:00Z", "2025-06-02T09:00Z", "none"),
            ("range-1970-2200", "0 0 1 1 *", "UTC", "before 1970-01-01T00:00Z", "none", "1969-01-01T00:00Z"),
        ],
        "cronsim": [
            ("cronsim-seconds-literal-a", "0 30 2 * * *", NEW_YORK, "after 2025-03-09T05:00Z", "2025-03-09T07:00Z", "2025-03-10T06:30Z"),
            ("cronsim-seconds-literal-b", "0 30 1 * * *", NEW_YORK, "after 2025-11-02T05:30Z", "2025-11-03T06:30Z", "2025-11-02T06:30Z"),
            ("cronsim-weekday-step-to-7", "0 9 * * 1/2", "UTC", "after 2025-06-06T12:00Z", "2025-06-09T09:00Z", "2025-06-08T09:00Z"),
            ("cronsim-which-pass-a", "30 1 * * *", NEW_YORK, "after 2025-11-02T06:10Z", "2025-11-03T06:30Z", "2025-11-02T05:30Z"),
            ("cronsim-which-pass-b", "30 1 * * *", NEW_YORK, "before 2025-11-02T06:10Z", "2025-11-02T05:30Z", "2025-11-01T05:30Z"),
            ("cronsim-part-hour-a", "0 */2 * * *", LORD_HOWE, "after 2025-04-05T13:00Z", "2025-04-05T15:30Z", "2025-04-05T17:30Z"),
            ("cronsim-part-hour-b", "30 */2 * * SUN", "America/St_Johns", "after 2010-11-07T02:31Z", "2010-11-07T04:00Z", "endless loop"),
            ("cronsim-midnight-a", "*/15 1 * * FRI", "Africa/Cairo", "after 2025-04-24T12:00Z", "2025-04-24T22:00Z", "2025-05-01T22:00Z"),
            ("cronsim-midnight-b", "0 * * * THU", "Africa/Cairo", "before 2025-10-31T00:00Z", "2025-10-30T21:00Z", "2025-10-30T20:00Z"),
            ("cronsim-lost-day", "0 9 * * *", APIA, "after 2011-12-30T00:00Z", "2011-12-30T19:00Z", "2011-12-30T10:00Z"),
            ("range-1970-2200", "0 0 1 1 *", "UTC", "before 1970-01-01T00:00Z", "none", "1969-01-01T00:00Z"),
        ],
        "croner": [
            ("croner-one-time-is-fixed-a", "0,30 2 * * *", NEW_YORK, "after 2025-03-09T05:00Z", "2025-03-09T07:00Z", "2025-03-10T06:00Z"),
            ("croner-one-time-is-fixed-b", "0,30 1 * * *", NEW_YORK, "after 2025-11-02T05:30Z", "2025-11-03T06:00Z", "2025-11-02T06:00Z"),
            ("croner-gap-within-the-day", "30 23 * * *", "America/Nuuk", "after 2024-03-30T12:00Z", "2024-03-31T01:00Z", "2024-04-01T00:30Z"),
            ("croner-february-a", "0 0 1,31 * *", "UTC", "after 2025-02-01T12:00Z", "2025-03-01T00:00Z", "2025-03-31T00:00Z"),
            ("croner-february-b", "0 9 1 * TUE,THU", "UTC", "after 2038-02-25T12:00Z", "2038-03-01T09:00Z", "2038-03-02T09:00Z"),
            ("or-and-star-step", "0 9 */2 * MON", "UTC", "after 2025-06-02T12:00Z", "2025-06-09T09:00Z", "2025-06-03T09:00Z"),
            ("range-1970-2200", "0 0 1 1 *", "UTC", "before 1970-01-01T00:00Z", "none", "1969-01-01T00:00Z"),
        ],
    }.items()
    for case in cases
]  # fmt: skip
