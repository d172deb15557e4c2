---------------------------- MODULE BackfillTrace ----------------------------
(* Traces of the simulation, held against the model of backfills: each commit that asked for a backfill, went on with
   it, woke it or cancelled it must be one of the steps that the model knows, with exactly the result that it computes.

   Module Traces is written by tests/models: for each backfill its range, the ticks of the version that it was asked
   about, and its row after each commit that was about it, with the runs that it wrote.  Ticks are told in seconds, now
   and next in milliseconds, since the beginning.  Of each commit it says what was there before: where the schedule's
   cursor stood and whether it had no action left (spent), its policy, who was paused (paused, stalled), how many runs
   were in flight and waited, what had become of the ticks that come next (ends); and whether it ended a run that
   somebody had asked for (freed). *)
EXTENDS Filling, Traces

CONSTANT Recheck  \* plan/backfill.py: RECHECK_MS

VARIABLES trace, step
vars == <<trace, step>>

Trace == Traces[trace]
Steps == Trace.steps
Asleep == -1000000000

Moment(is) ==
    [policy |-> is.policy, paused |-> is.paused, stalled |-> is.stalled, flight |-> is.flight, waiting |-> is.waiting,
     ticks |-> Trace.ticks, ends |-> is.ends]

\* engine/backfilling.py: the row is due by the clock, and read again under the lock of the state.
ByChunk(was, is) ==
    LET found == Stepped(Moment(is), was.fill)
    IN /\ was.fill.state = "running" /\ was.next # Asleep /\ was.next <= is.now
       /\ is.fill = found.fill /\ is.runs = found.runs
       /\ is.done = was.done + Cardinality(found.runs)
       /\ is.next = IF found.fill.state = "done" THEN Asleep ELSE IF found.room THEN is.now ELSE is.now + Recheck

\* operations/control.py and schedules.py: what it has started goes on.
ByCancel(was, is) ==
    /\ was.fill.state = "running" /\ is.fill = Cancelled(was.fill)
    /\ is.runs = {} /\ is.done = was.done /\ is.next = Asleep

\* engine/settling.py: a run of a backfill has ended, so the next one need not wait for the clock.
ByWaking(was, is) ==
    /\ was.fill.state = "running" /\ is.fill = was.fill /\ is.runs = {} /\ is.done = was.done
    /\ is.freed /\ was.next > is.now /\ is.next = is.now

Explained(was, is) == ByChunk(was, is) \/ ByCancel(was, is) \/ ByWaking(was, is)

Between(after, until) == {t \in Trace.ticks : t > after /\ t <= until}
Ends(is, t) == IF t \in DOMAIN is.ends THEN is.ends[t] ELSE {}

\* operations/control.py: _backfill_row.
Total(is) ==
    IF Trace.only = "all" THEN Cardinality(Between(Trace.first - 1, Trace.end))
    ELSE Cardinality({t \in Between(Trace.first - 1, is.fill.last) : Wanted(Trace.only, Ends(is, t))})
Undecided(is) == Cardinality(Between(Most(is.fill.last, Trace.first - 1), Trace.end))

Init == trace \in DOMAIN Traces /\ step = 1
Next == step < Len(Steps) /\ step' = step + 1 /\ UNCHANGED trace
TraceSpec == Init /\ [][Next]_vars

BornRight ==
    step = 1 =>
        LET is == Steps[1]
        IN /\ is.fill = Asked(Trace.first, Trace.end, Trace.only, Trace.overlap, is.cursor, is.spent)
           /\ Trace.first <= Trace.end /\ Trace.end * 1000 <= is.now
           /\ Trace.total = Total(is) /\ Trace.undecided = Undecided(is)
           /\ is.runs = {} /\ is.done = 0 /\ is.next = is.now
EveryCommitIsAStep == step < Len(Steps) => Explained(Steps[step], Steps[step + 1])
==============================================================================
