------------------------------ MODULE FireTrace ------------------------------
(* Traces of the simulation, held against the planner's model: each commit that changed a state, wrote runs of ticks or
   wrote spans must be one of the steps that the model knows, with exactly the result that the model computes.

   Module Traces is written by tests/models: for each schedule of a trace the state after each commit, in milliseconds
   since its beginning, the ticks that were decided (runs), how many rows there are for them (rows), the spans that came
   with it, and whether the last of those ticks found every slot taken (full).  A commit that wrote a tick or a span is
   told even where it has left the state alone.  Where a schedule was for a while what the planner's model leaves out,
   what follows is another trace, which begins wherever it is (born is FALSE).  `over` says when the trace has ended,
   None if it is not told to its end. *)
EXTENDS Planner, Sequences, Traces

CONSTANT Patience  \* within this time of rest whatever is due is decided

VARIABLES trace, step
vars == <<trace, step>>

Trace == Traces[trace]
Steps == Trace.steps
SameButLook(d, seen, now) == \E look \in {d.look, Woken(d, now).look} : seen = [d EXCEPT !.look = look]

\* The transaction reads the clock, and the state is due by it; the budget is nobody's to see.  How many automatic starts
\* are left is for OverlapTrace to say.
ByFire(was, is) ==
    LET d == was.state
    IN /\ d.look # None /\ d.look <= is.now
       /\ \E budget \in IF d.look < is.now - Grace THEN 0..(MaxCatchup + 1) ELSE {0} :
            LET found == Decided(d, is.now, budget, is.state.left, is.full)
            IN SameButLook(found.state, is.state, is.now) /\ is.runs = found.runs /\ is.spans = found.spans

ByEdit(d, dropped, is) == SameButLook(d, is.state, is.now) /\ is.runs = {} /\ is.spans = dropped

\* engine/settling.py and releasing.py: something that waited has started, and maybe nothing is left.
ByStart(d, is) ==
    /\ d.left # None /\ is.state.left < d.left
    /\ ByEdit([d EXCEPT !.left = is.state.left, !.look = IF is.state.left = 0 THEN None ELSE @], {}, is)

\* operations/schedules.py: a new version, unless nothing is new; open again; and a limit, where one is given.
ByUpdate(d, is) ==
    LET v == is.state.version
        new == IF v = d.version THEN d ELSE Replaced(d, v, is.now)
        dropped == IF v = d.version THEN {} ELSE ReplacedSpans(d, v, is.now)
        open == IF d.closed THEN Aimed([new EXCEPT !.closed = FALSE, !.left = None], v, new.cursor) ELSE new
    IN /\ v >= d.version /\ ~is.state.closed
       /\ \/ ByEdit(open, dropped, is)
          \/ ByEdit(Limited(open, is.state.left, is.now), dropped \cup LimitedSpans(open, is.state.left, is.now), is)

Explained(was, is) ==
    LET d == was.state
    IN /\ is.rows = Cardinality(is.runs)  \* one row for each tick
       /\ \/ ByFire(was, is)
          \/ ByEdit(d, {}, is)
          \/ ByStart(d, is)
          \/ ByEdit(Paused(d, is.state.until), {}, is)
          \/ \E how \in {"policy", "skip", "fire_once"} : ByEdit(Resumed(d, is.now, how), {}, is)
          \/ ByEdit(Skipping(d, is.state.skips), {}, is)
          \/ ByUpdate(d, is)
          \/ ByEdit(Closed(d, is.now), ClosedSpans(d, is.now), is)

Init == trace \in DOMAIN Traces /\ step = 1
Next == step < Len(Steps) /\ step' = step + 1 /\ UNCHANGED trace
TraceSpec == Init /\ [][Next]_vars

BornRight ==
    step = 1 /\ Trace.born =>
        LET is == Steps[1] IN is.rows = 0 /\ ByEdit(Created(is.state.version, is.now, is.state.left), {}, is)
EveryCommitIsAStep == step < Len(Steps) => Explained(Steps[step], Steps[step + 1])

\* What Pause promises, of a trace: it ends with a long rest, and by then whatever is due is decided.
DecidedInTheEnd ==
    step = Len(Steps) /\ Trace.over # None /\ Steps[step].state.look # None =>
        Steps[step].state.look > Trace.over - Patience
==============================================================================
