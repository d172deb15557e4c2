------------------------------ MODULE FireTrace ------------------------------
(* Stories of the simulation, held against the planner's model: each commit that changed a dial, wrote runs of ticks or
   wrote spans must be one of the steps that the model knows, with exactly the result that the model computes.

   Module Stories is written by tests/models: for each schedule of a story the dial after each commit, in milliseconds
   since its beginning, and the runs and spans that came with it. *)
EXTENDS Planner, Sequences, Stories

VARIABLES story, step
vars == <<story, step>>

Steps == Stories[story]
SameButLook(d, seen, now) == \E look \in {d.look, Woken(d, now).look} : seen = [d EXCEPT !.look = look]

\* The transaction reads the clock, and the dial is due by it; the budget is nobody's to see.
ByFire(was, is) ==
    LET d == was.dial
    IN /\ d.look # None /\ d.look <= is.now
       /\ \E budget \in IF d.look < is.now - Grace THEN 0..(MaxCatchup + 1) ELSE {0} :
            LET found == Decided(d, is.now, budget)
            IN SameButLook(found.dial, is.dial, is.now) /\ is.runs = found.runs /\ is.spans = found.spans

ByEdit(d, dropped, is) == SameButLook(d, is.dial, is.now) /\ is.runs = {} /\ is.spans = dropped

Explained(was, is) ==
    LET d == was.dial
    IN \/ ByFire(was, is)
       \/ ByEdit(d, {}, is)
       \/ ByEdit(Paused(d, is.dial.until), {}, is)
       \/ \E how \in {"policy", "skip", "fire_once"} : ByEdit(Resumed(d, is.now, how), {}, is)
       \/ is.dial.version > d.version
            /\ ByEdit(Replaced(d, is.dial.version, is.now), ReplacedSpans(d, is.dial.version, is.now), is)
       \/ ByEdit(Closed(d, is.now), ClosedSpans(d, is.now), is)

Init == story \in DOMAIN Stories /\ step = 1
Next == step < Len(Steps) /\ step' = step + 1 /\ UNCHANGED story
TraceSpec == Init /\ [][Next]_vars

BornRight == step = 1 => SameButLook(Created(Steps[1].dial.version, Steps[1].now), Steps[1].dial, Steps[1].now)
EveryCommitIsAStep == step < Len(Steps) => Explained(Steps[step], Steps[step + 1])
==============================================================================
