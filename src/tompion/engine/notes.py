"""What a step has written besides what starts: for those who count, watch and trace, once it is committed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tompion.model.dial import Span
from tompion.model.record import Recorded
from tompion.model.run import OPEN, RunChange, RunRow, RunState
from tompion.plan.decide import Decision
from tompion.plan.rule import Rule


class Notes:
    """Runs that were skipped or ended by others, ticks that were missed, schedules that started nothing."""

    __slots__ = ("ended", "exposed", "idle", "skipped", "spans")

    def __init__(self) -> None:
        """Begin with nothing."""
        self.skipped: list[tuple[RunRow, Rule]] = []
        self.spans: list[tuple[Span, Rule]] = []
        self.ended: list[tuple[RunRow, Rule]] = []
        self.idle = 0
        self.exposed = 0

    def dropped(self, changes: Iterable[RunChange], rows: Iterable[tuple[RunRow, Rule]]) -> None:
        """Take down runs that have left a queue without starting."""
        reasons = {change.id: change.reason for change in changes if change.state == RunState.SKIPPED}
        if reasons:
            gone = [(row, rule) for row, rule in rows if row.id in reasons]
            self.skipped += [(run._replace(state=RunState.SKIPPED, reason=reasons[run.id]), rule) for run, rule in gone]

    def decided(self, decisions: Iterable[Decision], recorded: Recorded, rules: Mapping[int, Rule]) -> None:
        """Take down decisions that were written, and who gave way to them."""
        for decision in decisions:
            rule = decision.rule
            runs = [run for run in decision.runs if run.id not in recorded.duplicates]
            self.skipped += [(run, rule) for run in runs if run.state == RunState.SKIPPED]
            self.spans += [(span, rule) for span in decision.spans]
            self.idle += not any(run.state in OPEN for run in runs) and bool(decision.runs or decision.spans)
        self.skipped += [(run, rules[run.schedule_key]) for run in recorded.superseded]
        forced = [run for run in recorded.to_end if run.state == RunState.TERMINATED]
        self.ended += [(run, rules[run.schedule_key]) for run in (*recorded.given_up, *forced)]
