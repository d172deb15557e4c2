------------------------------- MODULE Backfill -------------------------------
(* A backfill beside the ticks of its schedule: plan/backfill.py, engine/backfilling.py and the order of work in
   engine/host.py (_do), for a schedule that queues.

   An instance looks what is due, without a lock (Look), and then does the most urgent part of it in a transaction
   (FireTicks, Chunk): ticks first, a backfill only if there were none.  A new backfill may be asked for as soon as the
   last one is over, for ever. *)
EXTENDS Filling

CONSTANTS
    Instances,
    Ticks,   \* nominal times; those up to Start are in the past when the schedule is created
    Start,
    Last,    \* when time stands still
    First,   \* the range of the backfill, both ends included
    End,
    Only,    \* "all" or "missing"
    Asks,    \* the overlap policy of the backfill
    Slots    \* max_concurrent

VARIABLES
    now, cursor,
    tick,    \* of each tick of the schedule: "none", "wait", "flight", "final"
    again,   \* the same for the runs of the backfill
    count,   \* how many runs the backfill has written for each tick
    fill,    \* the row of the backfill
    mind     \* of each instance: what it has seen

vars == <<now, cursor, tick, again, count, fill, mind>>
NoFill == [Asked(First, End, "all", Asks, 0, FALSE) EXCEPT !.state = "none", !.only = Only]
Idle == [phase |-> "idle", due |-> FALSE, fill |-> NoFill]

Flying == Cardinality(InState(tick, "flight")) + Cardinality(InState(again, "flight"))
Waiting == Cardinality(InState(tick, "wait")) + Cardinality(InState(again, "wait"))
DueTicks == {t \in Ticks : cursor < t /\ t <= now}

Init ==
    /\ now = Start /\ cursor = Start
    /\ tick = [t \in Ticks |-> "none"] /\ again = [t \in Ticks |-> "none"]
    /\ count = [t \in Ticks |-> 0]
    /\ fill = NoFill
    /\ mind = [i \in Instances |-> Idle]

Advance == now < Last /\ now' = now + 1 /\ UNCHANGED <<cursor, tick, again, count, fill, mind>>

\* operations/control.py: about the past only; ticks that are not decided yet are the schedule's own, unless all are asked
\* for (plan/backfill.py, last_decided).
Ask ==
    /\ fill.state # "running" /\ End <= now /\ InState(again, "flight") \cup InState(again, "wait") = {}
    /\ fill' = Asked(First, End, Only, Asks, cursor, FALSE)
    /\ count' = [t \in Ticks |-> 0] /\ again' = [t \in Ticks |-> "none"]
    /\ UNCHANGED <<now, cursor, tick, mind>>

Cancel ==
    /\ fill.state = "running" /\ fill' = Cancelled(fill)
    /\ UNCHANGED <<now, cursor, tick, again, count, mind>>

Look(i) ==
    /\ mind[i].phase = "idle" /\ (DueTicks # {} \/ fill.state = "running")
    /\ mind' = [mind EXCEPT ![i] = [phase |-> "looked", due |-> DueTicks # {}, fill |-> fill]]
    /\ UNCHANGED <<now, cursor, tick, again, count, fill>>

Crash(i) ==
    /\ mind[i].phase # "idle" /\ mind' = [mind EXCEPT ![i] = Idle]
    /\ UNCHANGED <<now, cursor, tick, again, count, fill>>

\* The oldest that fit start, the others wait; with a slot free and something waiting, what waits went first.
FireTicks(i) ==
    LET room == Slots - Flying
        starts == {t \in DueTicks : Cardinality({u \in DueTicks : u <= t}) <= room}
    IN /\ mind[i].phase = "looked" /\ mind[i].due
       /\ tick' = [t \in Ticks |-> IF t \notin DueTicks THEN tick[t] ELSE IF t \in starts THEN "flight" ELSE "wait"]
       /\ cursor' = IF DueTicks = {} THEN cursor ELSE now
       /\ mind' = [mind EXCEPT ![i] = Idle]
       /\ UNCHANGED <<now, again, count, fill>>

\* What the pass sees: ticks that were decided have run, or will.
Moment ==
    [policy |-> [overlap |-> "queue", slots |-> Slots, keep |-> "latest", shortest |-> 0, shadow |-> FALSE],
     paused |-> FALSE, stalled |-> FALSE, flight |-> Flying, waiting |-> Waiting, ticks |-> Ticks,
     ends |-> [t \in Ticks |-> IF tick[t] = "none" THEN {} ELSE {"done"}]]

Chunk(i) ==
    LET row == IF "reread" \in Guards THEN fill ELSE mind[i].fill
        found == Stepped(Moment, row)
        new == {run \in found.runs : "key" \notin Guards \/ count[run.tick] = 0}
        of(t) == {run \in new : run.tick = t}
    IN /\ mind[i].phase = "looked"
       /\ "order" \in Guards => ~mind[i].due
       /\ IF row.state # "running" THEN UNCHANGED <<again, count, fill>>
          ELSE /\ fill' = found.fill
               /\ count' = [t \in Ticks |-> count[t] + Cardinality(of(t))]
               /\ again' = [t \in Ticks |-> IF of(t) = {} THEN again[t] ELSE (CHOOSE run \in of(t) : TRUE).place]
       /\ mind' = [mind EXCEPT ![i] = Idle]
       /\ UNCHANGED <<now, cursor, tick>>

\* A run ends; of what waits, ticks start before backfills (waiting_of), the oldest first.
Settle(t, own) ==
    LET ended == IF own THEN [tick EXCEPT ![t] = "final"] ELSE tick
        fills == IF own THEN again ELSE [again EXCEPT ![t] = "final"]
        ready == Flying - 1 < Slots
    IN /\ (IF own THEN tick ELSE again)[t] = "flight"
       /\ tick' = IF ready /\ InState(ended, "wait") # {} THEN [ended EXCEPT ![Smallest(InState(ended, "wait"))] = "flight"] ELSE ended
       /\ again' = IF ready /\ InState(ended, "wait") = {} /\ InState(fills, "wait") # {}
                   THEN [fills EXCEPT ![Smallest(InState(fills, "wait"))] = "flight"] ELSE fills
       /\ UNCHANGED <<now, cursor, count, fill, mind>>

Act(i) == FireTicks(i) \/ Chunk(i)

Next ==
    \/ Advance \/ Ask \/ Cancel
    \/ \E i \in Instances : Look(i) \/ Act(i) \/ Crash(i)
    \/ \E t \in Ticks, own \in BOOLEAN : Settle(t, own)

BackfillSpec == Init /\ [][Next]_vars

\* For liveness: an engine works, and what runs ends.  Nobody cancels, and nobody dies any more.
StableNext ==
    \/ Advance \/ Ask
    \/ \E i \in Instances : Look(i) \/ Act(i)
    \/ \E t \in Ticks, own \in BOOLEAN : Settle(t, own)

FairSpec ==
    /\ Init /\ [][StableNext]_vars
    /\ WF_vars(Advance)
    /\ \A i \in Instances : WF_vars(Look(i)) /\ (<>[](mind[i].phase = "looked") => []<><<Act(i)>>_vars)
    /\ \A t \in Ticks : /\ <>[](tick[t] = "flight") => []<><<Settle(t, TRUE)>>_vars
                        /\ <>[](again[t] = "flight") => []<><<Settle(t, FALSE)>>_vars

-----------------------------------------------------------------------------
(* What is promised *)

Range == {t \in Ticks : First <= t /\ t <= End}

ExactRange ==
    /\ \A t \in Ticks : count[t] <= 1 /\ (count[t] = 1 => t \in Range /\ t <= fill.last)
    /\ fill.state = "done" => \A t \in Range : \/ count[t] = 1
                                               \/ t > fill.last
                                               \/ Only = "missing" /\ tick[t] # "none"

\* It never takes the place of a tick: not in the buffer, and not by going on while one waits.
BackfillNeverWaits == InState(again, "wait") = {}

ProgressMonotone == [][fill'.cursor >= fill.cursor \/ (fill.state # "running" /\ fill'.state = "running")]_vars

NeverStarvesTicks ==
    \A t \in {u \in Ticks : u > Start} : ((now >= t) ~> (cursor >= t)) /\ ((tick[t] = "wait") ~> (tick[t] # "wait"))

Terminates == (fill.state = "running") ~> (fill.state # "running")
==============================================================================
