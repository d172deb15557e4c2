------------------------------- MODULE Filling -------------------------------
(* Which ticks a backfill is about, and which of them it hands out next: plan/backfill.py, and what operations/control.py
   writes when one is asked for or cancelled.  Backfill makes steps of these, and BackfillTrace holds them against the
   rows of the table. *)
EXTENDS Admission

CONSTANT Size  \* backfills_per_iteration

Least(a, b) == IF a <= b THEN a ELSE b
Most(a, b) == IF a >= b THEN a ELSE b

\* wanted: what became of the runs of a tick, its own and those of backfills, is told as a set: "done" for one that has
\* succeeded or is open, "undone" for one that was skipped or cancelled, "failed".  What was dropped has none.
Wanted(only, ends) ==
    CASE only = "all" -> TRUE
      [] only = "missing" -> ends \subseteq {"undone"}
      [] only = "failed" -> "failed" \in ends /\ "done" \notin ends

\* last_decided: ticks after the cursor are the schedule's own, unless all are asked for, or it has no action left.
LastDecided(only, end, cursor, spent) == IF only = "all" \/ spent THEN end ELSE Least(end, cursor)

Asked(first, end, only, overlap, cursor, spent) ==
    [state |-> "running", cursor |-> first - 1, last |-> LastDecided(only, end, cursor, spent), only |-> only,
     overlap |-> overlap]

Cancelled(fill) == [fill EXCEPT !.state = "cancelled"]

\* _has_room.  A moment is what a pass is about: the policy, whether schedule and target are paused, the ticks, and what
\* became of them.  What a pause holds is in nobody's way.
HasRoom(m, overlap, s) ==
    /\ ~m.stalled
    /\ overlap = "queue" => (m.paused \/ s.waiting = 0) /\ s.flight < m.policy.slots

\* plan/decide.py, request: what becomes of a tick that is handed out.
Met(m, overlap, s) ==
    IF m.policy.shadow THEN "final"
    ELSE LET act == Verdict(m.policy, s, overlap).act
         IN IF act = "start" THEN "flight" ELSE IF act = "wait" THEN "wait" ELSE "final"

Counted(s, place) ==
    [s EXCEPT !.flight = IF place = "flight" THEN @ + 1 ELSE @, !.waiting = IF place = "wait" THEN @ + 1 ELSE @]

\* step: at most Size ticks, each only while there is room.
RECURSIVE Taken(_, _, _, _, _)
Taken(m, fill, s, runs, steps) ==
    LET later == {t \in m.ticks : t > fill.cursor /\ t <= fill.last}
        room == "room" \notin Guards \/ HasRoom(m, fill.overlap, s)
    IN IF later = {} THEN [fill |-> [fill EXCEPT !.state = "done"], runs |-> runs, room |-> room]
       ELSE IF ~room \/ steps = Size THEN [fill |-> fill, runs |-> runs, room |-> room]
       ELSE LET t == Smallest(later)
                place == Met(m, fill.overlap, s)
                moved == [fill EXCEPT !.cursor = IF "moves" \in Guards THEN t ELSE @]
            IN IF Wanted(fill.only, IF t \in DOMAIN m.ends THEN m.ends[t] ELSE {})
               THEN Taken(m, moved, Counted(s, place), runs \cup {[tick |-> t, place |-> place]}, steps + 1)
               ELSE Taken(m, moved, s, runs, steps + 1)

Stepped(m, fill) == Taken(m, fill, [flight |-> m.flight, waiting |-> m.waiting], {}, 0)
==============================================================================
