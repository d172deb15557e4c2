---------------------------- MODULE BackfillPlan ----------------------------
(* The ticks of a backfill, and the next chunk of them: plan/backfill.py, and the rows that
   operations/schedules/backfills.py writes when a backfill is requested or cancelled.  Backfill builds steps from
   these operators, and BackfillTrace compares them with the rows of the table. *)
EXTENDS Admission

CONSTANT Size  \* backfills_per_iteration

Least(a, b) == IF a <= b THEN a ELSE b
Most(a, b) == IF a >= b THEN a ELSE b

\* is_wanted.  `ends` is the set of outcomes of all runs of a tick: "done" for a run that succeeded or is open,
\* "undone" for a skipped or cancelled run, and "failed".  It is empty for a dropped tick.
IsWanted(only, ends) ==
    CASE only = "all" -> TRUE
      [] only = "missing" -> ends \subseteq {"undone"}
      [] only = "failed" -> "failed" \in ends /\ "done" \notin ends

\* last_decided: the ticks after the cursor are left to the schedule, except with "all" or if it has no start left.
LastDecided(only, end, cursor, spent) == IF only = "all" \/ spent THEN end ELSE Least(end, cursor)

NewBackfill(first, end, only, overlap, cursor, spent) ==
    [state |-> "running", cursor |-> first - 1, last |-> LastDecided(only, end, cursor, spent), only |-> only,
     overlap |-> overlap]

CancelledBackfill(backfill) == [backfill EXCEPT !.state = "cancelled"]

\* _has_slot.  The input of a pass has the policy, the pauses of schedule and target, the ticks and their outcomes.
\* Waiting runs of a paused schedule do not block a backfill.
HasSlot(input, overlap, s) ==
    /\ ~input.targetPaused
    /\ overlap = "queue" => (input.paused \/ s.waiting = 0) /\ s.flight < input.policy.slots

\* plan/decide.py, request: the state of a new run of the backfill.
PlaceOf(input, overlap, s) ==
    IF input.policy.shadow THEN "final"
    ELSE LET act == Verdict(input.policy, s, overlap).act
         IN IF act = "start" THEN "flight" ELSE IF act = "wait" THEN "wait" ELSE "final"

CountPlace(s, place) ==
    [s EXCEPT !.flight = IF place = "flight" THEN @ + 1 ELSE @, !.waiting = IF place = "wait" THEN @ + 1 ELSE @]

\* next_chunk: at most Size ticks, each only while there is a slot.
RECURSIVE TakeTicks(_, _, _, _, _)
TakeTicks(input, backfill, s, runs, steps) ==
    LET later == {t \in input.ticks : t > backfill.cursor /\ t <= backfill.last}
        hasSlot == "slotCheck" \notin Guards \/ HasSlot(input, backfill.overlap, s)
    IN IF later = {} THEN [backfill |-> [backfill EXCEPT !.state = "done"], runs |-> runs, hasSlot |-> hasSlot]
       ELSE IF ~hasSlot \/ steps = Size THEN [backfill |-> backfill, runs |-> runs, hasSlot |-> hasSlot]
       ELSE LET t == Smallest(later)
                place == PlaceOf(input, backfill.overlap, s)
                moved == [backfill EXCEPT !.cursor = IF "cursor" \in Guards THEN t ELSE @]
            IN IF IsWanted(backfill.only, IF t \in DOMAIN input.ends THEN input.ends[t] ELSE {})
               THEN TakeTicks(input, moved, CountPlace(s, place), runs \cup {[tick |-> t, place |-> place]}, steps + 1)
               ELSE TakeTicks(input, moved, s, runs, steps + 1)

NextChunk(input, backfill) == TakeTicks(input, backfill, [flight |-> input.flight, waiting |-> input.waiting], {}, 0)
==============================================================================
