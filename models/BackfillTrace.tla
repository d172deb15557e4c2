---------------------------- MODULE BackfillTrace ----------------------------
(* Compares traces of the simulation with the model of backfills.  Each commit that created, continued, woke or
   cancelled a backfill must be a step of the model, with exactly the result that the model computes.

   tests/models writes the module Traces.  A backfill has its range, the ticks of its version, and its row after each
   commit that concerns it, with the new runs.  Ticks are in seconds since the start, now and next in milliseconds.  A
   commit also has the values before it:
     cursor, spent         the cursor of the schedule, and whether it has no start left
     policy                the policy of the schedule
     paused, targetPaused  whether the schedule or its target is paused
     flight, waiting       the number of runs in flight and of waiting runs
     ends                  the outcomes of the next ticks
   freed is TRUE if the commit ended a requested run. *)
EXTENDS BackfillPlan, Traces

CONSTANT Recheck  \* plan/backfill.py: RECHECK_MS

VARIABLES trace, step
vars == <<trace, step>>

Trace == Traces[trace]
Steps == Trace.steps
NotDue == -1000000000

PassInput(after) ==
    [policy |-> after.policy, paused |-> after.paused, targetPaused |-> after.targetPaused, flight |-> after.flight,
     waiting |-> after.waiting, ticks |-> Trace.ticks, ends |-> after.ends]

\* engine/steps/backfill.py: the row is due, and is read again under the lock of the state.
ByChunk(before, after) ==
    LET chunk == NextChunk(PassInput(after), before.backfill)
    IN /\ before.backfill.state = "running" /\ before.next # NotDue /\ before.next <= after.now
       /\ after.backfill = chunk.backfill /\ after.runs = chunk.runs
       /\ after.done = before.done + Cardinality(chunk.runs)
       /\ after.next = IF chunk.backfill.state = "done" THEN NotDue
                       ELSE IF chunk.hasSlot THEN after.now ELSE after.now + Recheck

\* operations/schedules/backfills.py and crud.py: the started runs continue.
ByCancel(before, after) ==
    /\ before.backfill.state = "running" /\ after.backfill = CancelledBackfill(before.backfill)
    /\ after.runs = {} /\ after.done = before.done /\ after.next = NotDue

\* engine/steps/settle.py: a run of the backfill has ended, so the next chunk is due at once.
ByWaking(before, after) ==
    /\ before.backfill.state = "running" /\ after.backfill = before.backfill
    /\ after.runs = {} /\ after.done = before.done
    /\ after.freed /\ before.next > after.now /\ after.next = after.now

IsStep(before, after) == ByChunk(before, after) \/ ByCancel(before, after) \/ ByWaking(before, after)

Between(after, until) == {t \in Trace.ticks : t > after /\ t <= until}
Ends(after, t) == IF t \in DOMAIN after.ends THEN after.ends[t] ELSE {}

\* operations/schedules/backfills.py: _backfill_row.
Total(after) ==
    IF Trace.only = "all" THEN Cardinality(Between(Trace.first - 1, Trace.end))
    ELSE Cardinality({t \in Between(Trace.first - 1, after.backfill.last) : IsWanted(Trace.only, Ends(after, t))})
Undecided(after) == Cardinality(Between(Most(after.backfill.last, Trace.first - 1), Trace.end))

Init == trace \in DOMAIN Traces /\ step = 1
Next == step < Len(Steps) /\ step' = step + 1 /\ UNCHANGED trace
TraceSpec == Init /\ [][Next]_vars

FirstStepIsCorrect ==
    step = 1 =>
        LET after == Steps[1]
        IN /\ after.backfill = NewBackfill(Trace.first, Trace.end, Trace.only, Trace.overlap, after.cursor, after.spent)
           /\ Trace.first <= Trace.end /\ Trace.end * 1000 <= after.now
           /\ Trace.total = Total(after) /\ Trace.undecided = Undecided(after)
           /\ after.runs = {} /\ after.done = 0 /\ after.next = after.now
EveryCommitIsAStep == step < Len(Steps) => IsStep(Steps[step], Steps[step + 1])
==============================================================================
