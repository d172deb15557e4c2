------------------------------ MODULE FireTrace ------------------------------
(* Compares traces of the simulation with the model of the planner.  Each commit that changed a state, or wrote runs
   of ticks or dropped ranges, must be a step of the model, with exactly the result that the model computes.

   tests/models writes the module Traces.  Times are in milliseconds since the start.  A commit has:
     state  the schedule state after the commit
     runs   the decided ticks
     rows   the number of rows that were written for them
     ranges the dropped ranges
     full   whether every slot was taken at the last of the ticks
   A commit that wrote a tick or a dropped range is in the trace even if it did not change the state.  While a
   schedule is outside of the model, its trace is interrupted, and the next one starts in the middle (fromCreation is
   FALSE).  endsAt is the end of the scenario, None if the trace ends before. *)
EXTENDS Planner, Sequences, Traces

CONSTANT MaxDelay  \* without faults, a due tick is decided within this time

VARIABLES trace, step
vars == <<trace, step>>

Trace == Traces[trace]
Steps == Trace.steps
SameButNextFire(s, row, now) ==
    \E nextFire \in {s.nextFire, DueNow(s, now).nextFire} : row = [s EXCEPT !.nextFire = nextFire]

\* The transaction reads the clock, and the state is due.  A trace does not have the budget, so any budget is
\* accepted. OverlapTrace checks the number of automatic starts that are left.
ByFire(before, after) ==
    LET s == before.state
    IN /\ s.nextFire # None /\ s.nextFire <= after.now
       /\ \E budget \in IF s.nextFire < after.now - Grace THEN 0..(MaxCatchup + 1) ELSE {0} :
            LET decision == FireDecision(s, after.now, budget, after.state.left, after.full)
            IN /\ SameButNextFire(decision.state, after.state, after.now)
               /\ after.runs = decision.runs /\ after.ranges = decision.ranges

ByEdit(s, dropped, after) == SameButNextFire(s, after.state, after.now) /\ after.runs = {} /\ after.ranges = dropped

\* engine/steps/settle.py and release.py: a waiting run has started, and maybe no automatic start is left.
ByStart(s, after) ==
    /\ s.left # None /\ after.state.left < s.left
    /\ ByEdit([s EXCEPT !.left = after.state.left, !.nextFire = IF after.state.left = 0 THEN None ELSE @], {}, after)

\* operations/schedules/crud.py: a new version if the definition changes, a deleted schedule opened again, a new
\* limit.
ByUpdate(s, after) ==
    LET v == after.state.version
        new == IF v = s.version THEN s ELSE ReplacedState(s, v, after.now)
        dropped == IF v = s.version THEN {} ELSE DroppedByReplace(s, v, after.now)
        open == IF s.closed THEN FromCursor([new EXCEPT !.closed = FALSE, !.left = None], v, new.cursor) ELSE new
    IN /\ v >= s.version /\ ~after.state.closed
       /\ \/ ByEdit(open, dropped, after)
          \/ ByEdit(LimitedState(open, after.state.left, after.now),
                    dropped \cup DroppedByLimit(open, after.state.left, after.now), after)

IsStep(before, after) ==
    LET s == before.state
    IN /\ after.rows = Cardinality(after.runs)  \* one row for each tick
       /\ \/ ByFire(before, after)
          \/ ByEdit(s, {}, after)
          \/ ByStart(s, after)
          \/ ByEdit(PausedState(s, after.state.until), {}, after)
          \/ \E how \in {"policy", "skip", "fire_once"} : ByEdit(ResumedState(s, after.now, how), {}, after)
          \/ ByEdit(WithSkips(s, after.state.skips), {}, after)
          \/ ByUpdate(s, after)
          \/ ByEdit(ClosedState(s, after.now), DroppedByClose(s, after.now), after)

Init == trace \in DOMAIN Traces /\ step = 1
Next == step < Len(Steps) /\ step' = step + 1 /\ UNCHANGED trace
TraceSpec == Init /\ [][Next]_vars

FirstStepIsCorrect ==
    step = 1 /\ Trace.fromCreation =>
        LET after == Steps[1]
        IN after.rows = 0 /\ ByEdit(NewState(after.state.version, after.now, after.state.left), {}, after)
EveryCommitIsAStep == step < Len(Steps) => IsStep(Steps[step], Steps[step + 1])

\* The guarantee of Pause for a trace: it ends with a long time without faults, in which every due tick is decided.
DecidedInTheEnd ==
    step = Len(Steps) /\ Trace.endsAt # None /\ Steps[step].state.nextFire # None =>
        Steps[step].state.nextFire > Trace.endsAt - MaxDelay
==============================================================================
