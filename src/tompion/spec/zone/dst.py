"""Rules for wall times that a clock change removes or repeats.

Every source of wall times is *fixed* or *wildcard* (its second, minute or hour begins with ``*``). A profile has a rule
for the gap and one for the overlap for each class. A spec may override either for all its sources.

========= ======== =========== ========
profile    class    gap         overlap
========= ======== =========== ========
vixie      fixed    catch_up    first
vixie      wildcard skip        both
temporal   both     skip        both
quartz     both     skip        second
airflow    fixed    shift       second
airflow    wildcard skip        both
========= ======== =========== ========
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from tompion.model.spec import Dialect, DstGap, DstOverlap, DstProfile

MAX_GAP = 3 * 3600
"""A longer gap is a lost day (Samoa, 2011), not a change to summer time. Its wall times are skipped."""

Overlap = Literal["first", "second", "both"]


class DstRule(NamedTuple):
    """The rule of one source for gaps and overlaps."""

    gap: DstGap
    overlap: Overlap


_PROFILES: dict[DstProfile, tuple[DstRule, DstRule]] = {
    "vixie": (DstRule("catch_up", "first"), DstRule("skip", "both")),
    "temporal": (DstRule("skip", "both"), DstRule("skip", "both")),
    "quartz": (DstRule("skip", "second"), DstRule("skip", "second")),
    "airflow": (DstRule("shift", "second"), DstRule("skip", "both")),
}

_DIALECT_PROFILES: dict[Dialect, DstProfile] = {"tompion": "vixie", "quartz": "quartz", "temporal": "temporal"}


class DstPolicy(NamedTuple):
    """The rules of a spec for its fixed and its wildcard sources."""

    fixed: DstRule
    wildcard: DstRule

    def rule_for(self, wildcard: bool) -> DstRule:
        """Return the rule of a class."""
        return self.wildcard if wildcard else self.fixed


def profile_of(profile: DstProfile | None, dialect: Dialect) -> DstProfile:
    """Return the profile: the named one, or the dialect's own."""
    return profile or _DIALECT_PROFILES[dialect]


def dst_policy(
    profile: DstProfile | None = None,
    gap: DstGap | None = None,
    overlap: DstOverlap = "auto",
    dialect: Dialect = "tompion",
) -> DstPolicy:
    """Return the policy of a spec: its profile (or its dialect's) with its overrides."""
    fixed, wildcard = (
        DstRule(gap or rule.gap, rule.overlap if overlap == "auto" else overlap)
        for rule in _PROFILES[profile_of(profile, dialect)]
    )
    return DstPolicy(fixed, wildcard)


VIXIE = dst_policy()
