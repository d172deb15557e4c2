------------------------------- MODULE Backfill -------------------------------
(* A backfill and the ticks of its schedule, which queues its runs: plan/backfill.py, engine/steps/backfill.py, and
   the order of work in engine/finder.py.

   An instance checks what is due, without a lock (Look).  Then it does the most urgent part in a transaction
   (FireTicks, Chunk): ticks first, and a backfill only if no tick was due.  A user may request a new backfill
   whenever the last one has ended, without a limit. *)
EXTENDS BackfillPlan

CONSTANTS
    Instances,
    Ticks,           \* nominal times
    Start,           \* the creation of the schedule
    Last,            \* the time at which the clock stops
    First,           \* the range of the backfill, both ends included
    End,
    Only,            \* "all" or "missing"
    RequestOverlap,  \* the overlap policy of the backfill
    Slots            \* max_concurrent

VARIABLES
    now, cursor,
    tick,      \* of each tick: the state of its run, "none", "wait", "flight" or "final"
    reruns,    \* of each tick: the state of its run of the backfill
    written,   \* of each tick: the number of runs that the backfill has written
    backfill,  \* the row of the backfill
    session    \* of each instance: what it has read

vars == <<now, cursor, tick, reruns, written, backfill, session>>
NoBackfill == [NewBackfill(First, End, "all", RequestOverlap, 0, FALSE) EXCEPT !.state = "none", !.only = Only]
Idle == [phase |-> "idle", due |-> FALSE, backfill |-> NoBackfill]

InFlight == Cardinality(InState(tick, "flight")) + Cardinality(InState(reruns, "flight"))
Waiting == Cardinality(InState(tick, "wait")) + Cardinality(InState(reruns, "wait"))
DueTicks == {t \in Ticks : cursor < t /\ t <= now}

Init ==
    /\ now = Start /\ cursor = Start
    /\ tick = [t \in Ticks |-> "none"] /\ reruns = [t \in Ticks |-> "none"]
    /\ written = [t \in Ticks |-> 0]
    /\ backfill = NoBackfill
    /\ session = [i \in Instances |-> Idle]

Advance == now < Last /\ now' = now + 1 /\ UNCHANGED <<cursor, tick, reruns, written, backfill, session>>

\* operations/schedules/backfills.py: the range must be in the past.  Without "all", undecided ticks are left to the
\* schedule (plan/backfill.py, last_decided).
Request ==
    /\ backfill.state # "running" /\ End <= now /\ InState(reruns, "flight") \cup InState(reruns, "wait") = {}
    /\ backfill' = NewBackfill(First, End, Only, RequestOverlap, cursor, FALSE)
    /\ written' = [t \in Ticks |-> 0] /\ reruns' = [t \in Ticks |-> "none"]
    /\ UNCHANGED <<now, cursor, tick, session>>

Cancel ==
    /\ backfill.state = "running" /\ backfill' = CancelledBackfill(backfill)
    /\ UNCHANGED <<now, cursor, tick, reruns, written, session>>

Look(i) ==
    /\ session[i].phase = "idle" /\ (DueTicks # {} \/ backfill.state = "running")
    /\ session' = [session EXCEPT ![i] = [phase |-> "looked", due |-> DueTicks # {}, backfill |-> backfill]]
    /\ UNCHANGED <<now, cursor, tick, reruns, written, backfill>>

Crash(i) ==
    /\ session[i].phase # "idle" /\ session' = [session EXCEPT ![i] = Idle]
    /\ UNCHANGED <<now, cursor, tick, reruns, written, backfill>>

\* The oldest ticks start while there are free slots, and the others wait.  Waiting runs have taken their slots
\* before.
FireTicks(i) ==
    LET freeSlots == Slots - InFlight
        starts == {t \in DueTicks : Cardinality({u \in DueTicks : u <= t}) <= freeSlots}
    IN /\ session[i].phase = "looked" /\ session[i].due
       /\ tick' = [t \in Ticks |-> IF t \notin DueTicks THEN tick[t] ELSE IF t \in starts THEN "flight" ELSE "wait"]
       /\ cursor' = IF DueTicks = {} THEN cursor ELSE now
       /\ session' = [session EXCEPT ![i] = Idle]
       /\ UNCHANGED <<now, reruns, written, backfill>>

\* The input of a pass.  A decided tick counts as done.
PassInput ==
    [policy |-> [overlap |-> "queue", slots |-> Slots, keep |-> "latest", shortest |-> 0, shadow |-> FALSE],
     paused |-> FALSE, targetPaused |-> FALSE, flight |-> InFlight, waiting |-> Waiting, ticks |-> Ticks,
     ends |-> [t \in Ticks |-> IF tick[t] = "none" THEN {} ELSE {"done"}]]

Chunk(i) ==
    LET row == IF "reread" \in Guards THEN backfill ELSE session[i].backfill
        chunk == NextChunk(PassInput, row)
        new == {run \in chunk.runs : "key" \notin Guards \/ written[run.tick] = 0}
        runsOf(t) == {run \in new : run.tick = t}
    IN /\ session[i].phase = "looked"
       /\ "order" \in Guards => ~session[i].due
       /\ IF row.state # "running" THEN UNCHANGED <<reruns, written, backfill>>
          ELSE /\ backfill' = chunk.backfill
               /\ written' = [t \in Ticks |-> written[t] + Cardinality(runsOf(t))]
               /\ reruns' = [t \in Ticks |->
                    IF runsOf(t) = {} THEN reruns[t] ELSE (CHOOSE run \in runsOf(t) : TRUE).place]
       /\ session' = [session EXCEPT ![i] = Idle]
       /\ UNCHANGED <<now, cursor, tick>>

\* A run ends.  Waiting ticks start before waiting runs of the backfill, the oldest first (run_list_buffered).
Settle(t, own) ==
    LET ticksAfter == IF own THEN [tick EXCEPT ![t] = "final"] ELSE tick
        rerunsAfter == IF own THEN reruns ELSE [reruns EXCEPT ![t] = "final"]
        ready == InFlight - 1 < Slots
    IN /\ (IF own THEN tick ELSE reruns)[t] = "flight"
       /\ tick' = IF ready /\ InState(ticksAfter, "wait") # {}
                  THEN [ticksAfter EXCEPT ![Smallest(InState(ticksAfter, "wait"))] = "flight"] ELSE ticksAfter
       /\ reruns' = IF ready /\ InState(ticksAfter, "wait") = {} /\ InState(rerunsAfter, "wait") # {}
                    THEN [rerunsAfter EXCEPT ![Smallest(InState(rerunsAfter, "wait"))] = "flight"] ELSE rerunsAfter
       /\ UNCHANGED <<now, cursor, written, backfill, session>>

Act(i) == FireTicks(i) \/ Chunk(i)

Next ==
    \/ Advance \/ Request \/ Cancel
    \/ \E i \in Instances : Look(i) \/ Act(i) \/ Crash(i)
    \/ \E t \in Ticks, own \in BOOLEAN : Settle(t, own)

BackfillSpec == Init /\ [][Next]_vars

\* For liveness: an engine works, runs end, users cancel nothing, and no instance crashes.
StableNext ==
    \/ Advance \/ Request
    \/ \E i \in Instances : Look(i) \/ Act(i)
    \/ \E t \in Ticks, own \in BOOLEAN : Settle(t, own)

FairSpec ==
    /\ Init /\ [][StableNext]_vars
    /\ WF_vars(Advance)
    /\ \A i \in Instances : WF_vars(Look(i)) /\ (<>[](session[i].phase = "looked") => []<><<Act(i)>>_vars)
    /\ \A t \in Ticks : /\ <>[](tick[t] = "flight") => []<><<Settle(t, TRUE)>>_vars
                        /\ <>[](reruns[t] = "flight") => []<><<Settle(t, FALSE)>>_vars

-----------------------------------------------------------------------------
(* The guarantees *)

Range == {t \in Ticks : First <= t /\ t <= End}

ExactRange ==
    /\ \A t \in Ticks : written[t] <= 1 /\ (written[t] = 1 => t \in Range /\ t <= backfill.last)
    /\ backfill.state = "done" => \A t \in Range : \/ written[t] = 1
                                                   \/ t > backfill.last
                                                   \/ Only = "missing" /\ tick[t] # "none"

\* A backfill never takes the place of a tick in the buffer, and does not continue while a tick waits.
BackfillNeverWaits == InState(reruns, "wait") = {}

ProgressMonotone ==
    [][backfill'.cursor >= backfill.cursor \/ (backfill.state # "running" /\ backfill'.state = "running")]_vars

NeverStarvesTicks ==
    \A t \in {u \in Ticks : u > Start} : ((now >= t) ~> (cursor >= t)) /\ ((tick[t] = "wait") ~> (tick[t] # "wait"))

Terminates == (backfill.state = "running") ~> (backfill.state # "running")
==============================================================================
