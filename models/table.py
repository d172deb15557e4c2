"""Every configuration of every model, and its expected verdict.

A *twin* is a model without one of its guards, or without two guards that replace each other. It must violate the
property that is named, because a property that no defect can violate proves nothing. With all its guards
(:func:`whole`) it must hold, and another configuration checks that. So the twin fails only because of the missing
guard. A *masked* configuration lacks a guard that another guard can replace, and must hold.
"""

from __future__ import annotations

from typing import NamedTuple

HOLDS = "holds"


class Configuration(NamedTuple):
    """One check with TLC: a model, its constants and its properties."""

    module: str
    name: str
    specification: str
    constants: dict[str, str]
    invariants: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    expected: str = HOLDS
    """``holds``, or the one property that must be violated."""
    long: bool = False

    def text(self) -> str:
        """Return the text of the configuration file."""
        lines = [f"SPECIFICATION {self.specification}", "CONSTANTS"]
        lines += [f"    {name} {_assigned(value)}" for name, value in self.constants.items()]
        lines += [f"INVARIANT {name}" for name in self.invariants]
        lines += [f"PROPERTY {name}" for name in self.properties]
        return "\n".join(lines) + "\n"


def _assigned(value: str) -> str:
    """Return the assignment of a constant. A capitalized name is a definition of the module."""
    return f"<- {value}" if value[0].isupper() and value not in ("TRUE", "FALSE") else f"= {value}"


def _without(guards: str, *gone: str) -> str:
    return "{" + ", ".join(f'"{guard}"' for guard in guards.split() if guard not in gone) + "}"


def _only(broken: str, invariants: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the invariants and properties of a configuration that checks one guarantee only."""
    return ((broken,), ()) if broken in invariants else ((), (broken,))


FIRE_GUARDS = "lock key pause cursor range committed clock"
FIRE = {
    "Instances": "{i1, i2}", "Guards": _without(FIRE_GUARDS), "Ticks": "SmallTicks", "Specs": "SmallSpecs",
    "FireAt": "Punctual", "Policies": "SmallPolicies", "PauseLengths": "SmallPauseLengths", "Grace": "1",
    "MaxCatchup": "1", "MaxSpread": "1", "MaxDroppedTicks": "2", "Lookahead": "1", "TickLength": "0", "Second": "1",
    "Last": "4",
    "MaxEdits": "1", "MaxBudget": "1",
}  # fmt: skip
FIRE_INVARIANTS = (
    "TypeOK", "NoDuplicateFire", "DecidedOnce", "NoLostFireWithinWindow", "NothingEarly", "SnapshotNeverAheadOfStore",
)  # fmt: skip
FIRE_PROPERTIES = ("PausedBlocksFire", "NoFireFromStaleDefinition", "CursorMonotone")


def _fire(name: str, *, long: bool = False, **changed: str) -> Configuration:
    return Configuration("Fire", name, "FireSpec", FIRE | changed, FIRE_INVARIANTS, FIRE_PROPERTIES, long=long)


def _fire_twin(name: str, gone: tuple[str, ...], broken: str, **changed: str) -> Configuration:
    constants = FIRE | {"Guards": _without(FIRE_GUARDS, *gone)} | changed
    return Configuration("Fire", name, "FireSpec", constants, *_only(broken, FIRE_INVARIANTS), broken)


LEASE_GUARDS = "fence share expiry rescue state attempt"
LEASE = {
    "Processes": "{p1, p2}", "Runs": "{r1}", "MaxInstances": "3", "MaxAttempt": "2", "MaxDeaths": "1",
    "MayLapse": "{p1}", "Guards": _without(LEASE_GUARDS),
}  # fmt: skip
LEASE_INVARIANTS = ("TypeOK", "OneTerminalRecord", "FencedWritesOnly", "HeldUnderLease")
LEASE_PROPERTIES = ("FenceMonotone", "FinalIsFinal", "NoClaimWhileLeaseIsHeld")
RESCUED = ("LostWorkerEventuallyRescued",)


def _lease(name: str, *, long: bool = False, **changed: str) -> Configuration:
    return Configuration("Lease", name, "LeaseSpec", LEASE | changed, LEASE_INVARIANTS, LEASE_PROPERTIES, long=long)


def _lease_twin(name: str, gone: str, broken: str) -> Configuration:
    constants = LEASE | {"Guards": _without(LEASE_GUARDS, gone)}
    if broken in RESCUED:
        return Configuration(
            "Lease", name, "FairSpec", constants | {"MayLapse": "{}", "MaxInstances": "2"}, (), RESCUED, broken
        )
    return Configuration("Lease", name, "LeaseSpec", constants, *_only(broken, LEASE_INVARIANTS), broken)


OVERLAP_GUARDS = "slot bound fifo release wake hold"
OVERLAP = {
    "Ids": "{1, 2, 3}", "MaxBuffer": "1", "MaxEdits": "1", "Policies": "AllPolicies",
    "Requests": '{"allow", "queue"}', "Guards": _without(OVERLAP_GUARDS),
}  # fmt: skip
OVERLAP_INVARIANTS = ("TypeOK", "BufferBounded", "QueueBounded")
OVERLAP_PROPERTIES = ("OverlapRespected", "FIFO", "PausedHoldsTicks")
DECIDED = ("BufferedEventuallyDecided",)
WAITING = {"Policies": "Queues", "Requests": '{"queue"}'}


def _overlap(name: str, *, long: bool = False, **changed: str) -> Configuration:
    constants = OVERLAP | changed
    return Configuration("Overlap", name, "OverlapSpec", constants, OVERLAP_INVARIANTS, OVERLAP_PROPERTIES, long=long)


def _overlap_twin(name: str, gone: str, broken: str, **changed: str) -> Configuration:
    constants = OVERLAP | changed | {"Guards": _without(OVERLAP_GUARDS, gone)}
    if broken in DECIDED:
        return Configuration("Overlap", name, "FairSpec", constants | WAITING, (), DECIDED, broken)
    return Configuration("Overlap", name, "OverlapSpec", constants, *_only(broken, OVERLAP_INVARIANTS), broken)


PAUSE_GUARDS = f"{FIRE_GUARDS} nextFire"
PAUSE = FIRE | {
    "Instances": "{i1}", "Guards": _without(PAUSE_GUARDS), "Ticks": "OneVersion", "Specs": "OneSpec",
    "Policies": "CatchAll", "Grace": "0", "EndlessPauses": "FALSE",
}  # fmt: skip
CAUGHT_UP = "CatchUpEventuallyEnqueued"
COALESCED = "CoalescedEventuallyEnqueued"
ALL_DECIDED = "EveryTickEventuallyDecided"


def _pause(name: str, *properties: str, long: bool = False, expected: str = HOLDS, **changed: str) -> Configuration:
    return Configuration("Pause", name, "PauseSpec", PAUSE | changed, (), properties, expected, long)


BACKFILL_GUARDS = "slotCheck reread key order cursor slot bound fifo"
BACKFILL = {
    "Instances": "{i1, i2}", "Guards": _without(BACKFILL_GUARDS), "Ticks": "{1, 2, 3, 4}", "Start": "2", "Last": "4",
    "First": "1", "End": "3", "Only": '"all"', "RequestOverlap": '"queue"', "Slots": "1", "Size": "2", "MaxBuffer": "9",
}  # fmt: skip
BACKFILL_INVARIANTS = ("ExactRange", "BackfillNeverWaits")
BACKFILL_LIVENESS = ("NeverStarvesTicks", "Terminates")


def _backfill(name: str, *, long: bool = False, **changed: str) -> Configuration:
    constants = BACKFILL | changed
    return Configuration(
        "Backfill", name, "BackfillSpec", constants, BACKFILL_INVARIANTS, ("ProgressMonotone",), long=long
    )


def _backfill_live(name: str, *, long: bool = False, **changed: str) -> Configuration:
    return Configuration("Backfill", name, "FairSpec", BACKFILL | changed, (), BACKFILL_LIVENESS, long=long)


def _backfill_twin(name: str, gone: tuple[str, ...], broken: str) -> Configuration:
    constants = BACKFILL | {"Guards": _without(BACKFILL_GUARDS, *gone)}
    specification = "FairSpec" if broken in BACKFILL_LIVENESS else "BackfillSpec"
    return Configuration("Backfill", name, specification, constants, *_only(broken, BACKFILL_INVARIANTS), broken)


GUARDS = {
    "Fire": FIRE_GUARDS,
    "Lease": LEASE_GUARDS,
    "Overlap": OVERLAP_GUARDS,
    "Pause": PAUSE_GUARDS,
    "Backfill": BACKFILL_GUARDS,
}


def whole(twin: Configuration) -> Configuration:
    """Return a twin with all its guards."""
    constants = twin.constants | {"Guards": _without(GUARDS[twin.module])}
    if "EndlessPauses" in constants:
        constants["EndlessPauses"] = "FALSE"
    return twin._replace(name=f"whole: {twin.name}", constants=constants, expected=HOLDS)


def promises(module: str) -> set[str]:
    """Return the properties that the small configurations of a model check, without the types of its variables."""
    checked = {
        name
        for configuration in SMALL
        if configuration.module == module
        for name in (*configuration.invariants, *configuration.properties)
    }
    return checked - {"TypeOK"}


def is_checked(configuration: Configuration, others: tuple[Configuration, ...]) -> bool:
    """Return whether one of the others checks the same properties of the same model."""
    properties = {*configuration.invariants, *configuration.properties}
    return any(
        other[:1] + other[2:4] == configuration[:1] + configuration[2:4]
        and properties <= {*other.invariants, *other.properties}
        for other in others
    )


SMALL = (
    _fire("small"),
    _fire("small, jitter", FireAt="Jittered", Policies="OtherPolicies", Instances="{i1}"),
    _fire("masked: no key", Guards=_without(FIRE_GUARDS, "key"), Last="3"),
    _fire("masked: no lock", Guards=_without(FIRE_GUARDS, "lock"), Last="2")._replace(
        invariants=("TypeOK", "NoDuplicateFire"), properties=()
    ),
    _lease("small", MaxDeaths="0"),
    Configuration("Lease", "small, live", "FairSpec", LEASE | {"MayLapse": "{}"}, (), RESCUED),
    _overlap("small", Requests='{"queue"}'),
    Configuration("Overlap", "small, live", "FairSpec", OVERLAP | WAITING, (), DECIDED),
    _pause("small, all", CAUGHT_UP, ALL_DECIDED),
    _pause("small, coalesce", COALESCED, ALL_DECIDED, Policies="Coalesce"),
    _backfill("small"),
    _backfill("small, missing", Only='"missing"'),
    _backfill_live("small, live"),
)
TWINS = (
    _fire_twin("no lock, no key", ("lock", "key"), "NoDuplicateFire"),
    _fire_twin("no lock, decided twice", ("lock",), "DecidedOnce"),
    _fire_twin("local clock", ("clock",), "NothingEarly"),
    _fire_twin("no lock", ("lock",), "PausedBlocksFire"),
    _fire_twin("no lock, an update", ("lock",), "NoFireFromStaleDefinition"),
    _fire_twin("no lock, two fire", ("lock",), "CursorMonotone"),
    _fire_twin("uncommitted reads", ("lock", "committed"), "SnapshotNeverAheadOfStore"),
    _fire_twin("pause not read again", ("pause",), "PausedBlocksFire"),
    _fire_twin("cursor to now", ("cursor",), "NoLostFireWithinWindow"),
    _fire_twin("edit without a dropped range", ("range",), "NoLostFireWithinWindow"),
    _lease_twin("no fence", "fence", "FencedWritesOnly"),
    _lease_twin("attempts restart", "attempt", "FenceMonotone"),
    _lease_twin("two final records", "state", "OneTerminalRecord"),
    _lease_twin("final run restarts", "state", "FinalIsFinal"),
    _lease_twin("no shared lock", "share", "HeldUnderLease"),
    _lease_twin("rescue before the lease ends", "expiry", "NoClaimWhileLeaseIsHeld"),
    _lease_twin("no rescue", "rescue", "LostWorkerEventuallyRescued"),
    _overlap_twin("slots not counted", "slot", "OverlapRespected"),
    _overlap_twin("no bound", "bound", "QueueBounded", Ids="{1, 2, 3, 4}", **WAITING),
    _overlap_twin("no bound, buffer", "bound", "BufferBounded", Ids="{1, 2, 3, 4}", **WAITING),
    _overlap_twin("last in, first out", "fifo", "FIFO", MaxBuffer="2", **WAITING),
    _overlap_twin("pause does not hold ticks", "hold", "PausedHoldsTicks", MaxBuffer="2", **WAITING),
    _overlap_twin("free slot starts no run", "release", "BufferedEventuallyDecided"),
    _overlap_twin("resume starts no waiting run", "wake", "BufferedEventuallyDecided"),
    _pause("endless pauses", CAUGHT_UP, expected=CAUGHT_UP, EndlessPauses="TRUE"),
    _pause("resume without a next fire", CAUGHT_UP, expected=CAUGHT_UP, Guards=_without(PAUSE_GUARDS, "nextFire")),
    _pause("no next fire, undecided", ALL_DECIDED, expected=ALL_DECIDED, Guards=_without(PAUSE_GUARDS, "nextFire")),
    _pause(
        "no next fire, coalesce",
        COALESCED,
        expected=COALESCED,
        Policies="Coalesce",
        Guards=_without(PAUSE_GUARDS, "nextFire"),
    ),
    _backfill_twin("cursor does not move", ("cursor",), "Terminates"),
    _backfill_twin("old row, no key", ("reread", "key"), "ExactRange"),
    _backfill_twin("old row", ("reread",), "ProgressMonotone"),
    _backfill_twin("backfill in the buffer", ("slotCheck",), "BackfillNeverWaits"),
    _backfill_twin("backfill before ticks", ("order",), "NeverStarvesTicks"),
)
_MANY = {"Ticks": "{1, 2, 3, 4, 5, 6, 7}", "Start": "4", "Last": "7", "End": "6", "Slots": "2"}
LONG = (
    _lease("as its twins"),
    Configuration(
        "Lease", "as its twins, live", "FairSpec", LEASE | {"MayLapse": "{}", "MaxInstances": "2"}, (), RESCUED
    ),
    _overlap("as its twins"),
    _overlap("as its twins, four", long=False, Ids="{1, 2, 3, 4}", **WAITING),
    _overlap("as its twins, two wait", long=False, MaxBuffer="2", **WAITING),
    _fire("long", MaxEdits="2", long=True),
    _fire("long, jitter", FireAt="Jittered", Policies="OtherPolicies", MaxEdits="2", long=True),
    _lease("long", MaxAttempt="3", MayLapse="{p1, p2}", long=True),
    _lease("long, two runs", Runs="{r1, r2}", MaxInstances="2", MaxAttempt="2", MaxDeaths="0", long=True),
    _overlap("long", Ids="{1, 2, 3, 4}", Requests='{"allow", "queue", "buffer_one"}', long=True),
    _pause("long, all", CAUGHT_UP, ALL_DECIDED, Instances="{i1, i2}", MaxEdits="2", long=True),
    _pause("long, coalesce", COALESCED, ALL_DECIDED, Instances="{i1, i2}", Policies="Coalesce", long=True),
    _pause("long, spread", ALL_DECIDED, Instances="{i1, i2}", Policies="Spread", Lookahead="0", long=True),
    _backfill("long", **_MANY, long=True),
    _backfill("long, missing", **_MANY, Only='"missing"', long=True),
    _backfill_live("long, live", Ticks="{1, 2, 3, 4, 5}", Last="5", End="4", long=True),
)
