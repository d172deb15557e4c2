-------------------------------- MODULE Fire --------------------------------
(* The fire transaction, with several instances, users who pause, change and delete the schedule, and crashes
   anywhere.

   An instance opens a transaction and reads the clock of the store (Open).  It locks the state if it is still due and
   no other transaction has locked it (Lock).  It writes the decision of the planner about the locked state (Commit).
   It may crash at each of these points.  An operation waits for the lock and is one step. *)
EXTENDS Planner

CONSTANTS
    Instances,
    Last,         \* the time at which the clock stops
    MaxEdits,     \* the number of operations
    MaxBudget,    \* the maximum number of missed ticks that one transaction starts
    PauseLengths  \* the lengths of pauses, None for a pause without an end

VARIABLES
    now,        \* the clock of the store
    state,      \* the row of the schedule state, which every transaction locks
    rows,       \* of each tick: the number of its runs
    decisions,  \* of each tick: its decisions, 2 for more.  A row that the unique key rejects counts, too
    decidedBy,  \* of each tick: the version that decided it
    ranges,     \* the dropped ranges
    coverage,   \* of each version: the cursors between which it decides.  None as the end is the cursor of the state
    session,    \* of each instance: its phase, the state that it has read, and the time
    edits

vars == <<now, state, rows, decisions, decidedBy, ranges, coverage, session, edits>>
store == <<state, rows, decisions, decidedBy, ranges, coverage>>

AllTicks == UNION {Ticks[v] : v \in DOMAIN Ticks}
NotRead == NewState(1, 0, None)
Idle == [at |-> None, phase |-> "idle", read |-> NotRead]
Unlocked == \A i \in Instances : session[i].phase # "locked"
Due(time) == state.nextFire # None /\ state.nextFire <= time

Init ==
    /\ now = 0
    /\ state = NewState(1, 0, None)
    /\ rows = [t \in AllTicks |-> 0]
    /\ decisions = [t \in AllTicks |-> 0]
    /\ decidedBy = [t \in AllTicks |-> None]
    /\ ranges = {}
    /\ coverage = [v \in DOMAIN Ticks |-> [after |-> IF v = 1 THEN Before(0) ELSE None, until |-> None]]
    /\ session = [i \in Instances |-> Idle]
    /\ edits = 0

Advance == now < Last /\ now' = now + 1 /\ UNCHANGED <<store, session, edits>>

-----------------------------------------------------------------------------
(* engine/steps/fire.py *)

\* The times that an instance may use: the clock of the store or, without that guard, also a local clock that is fast.
Clocks == IF "clock" \in Guards THEN {now} ELSE {now, now + 1}

Open(i) ==
    /\ session[i].phase = "idle"
    /\ \E time \in Clocks :
        Due(time) /\ session' = [session EXCEPT ![i] = [at |-> time, phase |-> "open", read |-> NotRead]]
    /\ UNCHANGED <<now, store, edits>>

\* The states that a read may return: committed ones or, without that guard, also those of open transactions.
Visible(i) ==
    LET others == {j \in Instances \ {i} : session[j].phase = "locked"}
    IN {state} \cup (IF "committed" \in Guards THEN {}
                    ELSE {FireDecision(session[j].read, session[j].at, 0, None, FALSE).state : j \in others})

\* FOR UPDATE SKIP LOCKED.  The condition is checked again on the locked row.
Lock(i) ==
    /\ session[i].phase = "open"
    /\ "lock" \in Guards => Unlocked
    /\ IF Due(session[i].at)
       THEN \E row \in Visible(i) : session' = [session EXCEPT ![i].phase = "locked", ![i].read = row]
       ELSE session' = [session EXCEPT ![i] = Idle]
    /\ UNCHANGED <<now, store, edits>>

SkipLocked(i) ==
    /\ session[i].phase = "open" /\ "lock" \in Guards /\ ~Unlocked
    /\ session' = [session EXCEPT ![i] = Idle]
    /\ UNCHANGED <<now, store, edits>>

\* The unique key accepts one row for a tick.
Insert(ticks, v) ==
    LET new == {t \in ticks : rows[t] = 0 \/ "key" \notin Guards}
    IN /\ rows' = [t \in AllTicks |-> IF t \in new THEN rows[t] + 1 ELSE rows[t]]
       /\ decidedBy' = [t \in AllTicks |-> IF t \in new THEN v ELSE decidedBy[t]]

TicksIn(dropped) == UNION {Between(s.version, s.after, s.until) : s \in dropped}

\* A step decides ticks: some start, and others are dropped.
Count(ticks, dropped) ==
    decisions' = [t \in AllTicks |->
        Least(2, decisions[t] + (IF t \in ticks THEN 1 ELSE 0) + (IF t \in TicksIn(dropped) THEN 1 ELSE 0))]

\* Overlap models the slots.  Here they may all be taken whenever that matters, which is after missed ticks.
Commit(i, budget, full) ==
    LET me == session[i]
        missed == me.read.nextFire < me.at - Grace
        decision == FireDecision(me.read, me.at, IF missed THEN budget ELSE 0, None, full)
    IN /\ me.phase = "locked"
       /\ missed \/ (budget = 0 /\ ~full)
       /\ state' = decision.state
       /\ Insert(decision.runs, decision.state.version)
       /\ Count(decision.runs, decision.ranges)
       /\ ranges' = ranges \cup decision.ranges
       /\ session' = [session EXCEPT ![i] = Idle]
       /\ UNCHANGED <<now, coverage, edits>>

\* Nothing was written, and the lock ends with the session.
Crash(i) ==
    /\ session[i].phase # "idle"
    /\ session' = [session EXCEPT ![i] = Idle]
    /\ UNCHANGED <<now, store, edits>>

-----------------------------------------------------------------------------
(* operations/schedules/control.py and crud.py, with save in repository.py *)

Edit(s, dropped) ==
    /\ edits < MaxEdits /\ edits' = edits + 1
    /\ "lock" \in Guards => Unlocked
    /\ state' \in {s, DueNow(s, now)}
    /\ ranges' = ranges \cup dropped
    /\ Count({}, dropped)
    /\ UNCHANGED <<now, rows, decidedBy, session>>

Pause(length) ==
    /\ ~state.closed
    /\ Edit(PausedState(state, IF length = None THEN None ELSE now + length), {})
    /\ UNCHANGED coverage

Resume(how) == state.paused /\ ~state.closed /\ Edit(ResumedState(state, now, how), {}) /\ UNCHANGED coverage

Update(v) ==
    LET s == ReplacedState(state, v, now)
    IN /\ v > state.version
       /\ Edit(s, IF "range" \in Guards THEN DroppedByReplace(state, v, now) ELSE {})
       /\ coverage' = [coverage EXCEPT ![v].after = s.cursor,
                                       ![state.version].until = IF state.closed THEN @ ELSE s.cursor]

\* A schedule that is created again starts at that time.  No version decides the ticks between delete and create.
Delete ==
    /\ ~state.closed
    /\ Edit(ClosedState(state, now), DroppedByClose(state, now))
    /\ coverage' = [coverage EXCEPT ![state.version].until = ClosedState(state, now).cursor]

-----------------------------------------------------------------------------
Engine(i, fulls) == Open(i) \/ Lock(i) \/ SkipLocked(i) \/ (\E b \in 0..MaxBudget, full \in fulls : Commit(i, b, full))

Next ==
    \/ Advance
    \/ \E i \in Instances : Engine(i, BOOLEAN) \/ Crash(i)
    \/ \E u \in PauseLengths : Pause(u)
    \/ \E how \in {"policy", "skip", "fire_once"} : Resume(how)
    \/ \E v \in DOMAIN Ticks : Update(v)
    \/ Delete

FireSpec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* The guarantees *)

TypeOK ==
    /\ now \in 0..Last
    /\ state.version \in DOMAIN Ticks
    /\ state.next = None \/ state.next \in Ticks[state.version]
    /\ \A i \in Instances : session[i].phase \in {"idle", "open", "locked"}

\* The unique key alone guarantees the first property.  Only the lock guarantees the second.
NoDuplicateFire == \A t \in AllTicks : rows[t] <= 1
DecidedOnce == \A t \in AllTicks : decisions[t] <= 1

\* The last cursor of a version.
EndOf(v) == IF coverage[v].until = None THEN state.cursor ELSE coverage[v].until

Covering(v, t) == {s \in ranges : s.version = v /\ s.after < t /\ t <= s.until}

Accounted ==
    \A v \in {w \in DOMAIN Ticks : coverage[w].after # None} : \A t \in Between(v, coverage[v].after, EndOf(v)) :
        rows[t] + Cardinality(Covering(v, t)) = 1

\* A dropped range has the right number of ticks, and a reason that applies to all of them.
IsCorrect(s) ==
    LET ticks == Between(s.version, s.after, s.until)
        policy == Policies[s.version]
    IN /\ s.ticks = Cardinality(ticks)
       /\ s.reason \in {"missed", "outside_window", "overlap"} => \A t \in ticks : Late(s.version, t, s.at)
       /\ s.reason = "coalesced" => Late(s.version, Min(ticks), s.at)
       /\ s.reason = "missed" => policy.catchup = "none"
       /\ s.reason = "coalesced" => policy.catchup = "coalesce"
       /\ s.reason = "overlap" => policy.catchup = "all"
       /\ s.reason = "outside_window" => \A t \in ticks : policy.window = 0 \/ t <= s.at - policy.window

NoLostFireWithinWindow == Accounted /\ \A s \in ranges : IsCorrect(s)

NothingEarly == \A t \in AllTicks : rows[t] > 0 => Fire(decidedBy[t], t) <= now

SnapshotNeverAheadOfStore ==
    \A i \in Instances : session[i].phase = "locked" =>
        session[i].read.cursor <= state.cursor /\ session[i].read.version <= state.version /\ session[i].at <= now

Starts(t) == rows'[t] > rows[t]
IsPaused == state.paused /\ (state.until = None \/ state.until > now)

PausedBlocksFire == [][(IsPaused \/ state.closed) => \A t \in AllTicks : ~Starts(t)]_vars
NoFireFromStaleDefinition == [][\A t \in AllTicks : Starts(t) => decidedBy'[t] = state.version]_vars
CursorMonotone == [][state'.cursor >= state.cursor]_vars

-----------------------------------------------------------------------------
(* Small configurations.  Version 2 changes only the policy, version 3 the ticks. *)

SmallTicks == <<{1, 2, 3}, {1, 2, 3}, {2, 4}>>
SmallSpecs == <<"each", "each", "even">>
Punctual == [v \in DOMAIN Ticks |-> [t \in Ticks[v] |-> t]]
\* The second tick fires before its nominal time, the third after it.
Jittered == [v \in DOMAIN Ticks |-> [t \in Ticks[v] |-> CASE t = 2 -> 1 [] t = 3 -> 4 [] OTHER -> t]]

DropMissed == [catchup |-> "none", window |-> None, onResume |-> "policy"]
RunAll == [catchup |-> "all", window |-> None, onResume |-> "skip"]
CoalesceMissed == [catchup |-> "coalesce", window |-> 2, onResume |-> "fire_once"]
SpreadMissed == [catchup |-> "spread", window |-> None, onResume |-> "policy"]
SmallPolicies == <<RunAll, CoalesceMissed, DropMissed>>
OtherPolicies == <<CoalesceMissed, SpreadMissed, RunAll>>
SmallPauseLengths == {None, 1}
==============================================================================
