-------------------------------- MODULE Fire --------------------------------
(* The fire transaction, with several instances, people who pause, change and delete, and crashes anywhere.

   An instance opens a transaction and reads the store's clock (Open), locks the state if it is still due and nobody
   else has it (Lock), and writes what the planner makes of the state as it was locked (Commit).  It may die at any of
   these points.  An operation waits for the lock and is one step: nobody sees it half done. *)
EXTENDS Planner

CONSTANTS
    Instances,
    Last,      \* when time stands still
    MaxEdits,  \* how many operations there are
    MaxBudget, \* the most missed ticks that one transaction may start
    Untils     \* how long pauses may take, None for one without an end

VARIABLES
    now,   \* the store's clock
    state,  \* the row that everybody locks
    rows,  \* how many runs there are of each tick
    times, \* how often each tick was decided, to start or to be dropped, whatever the unique key made of it: 2 for more
    under, \* the version that decided the tick
    spans, \* what was dropped
    ruled, \* of each version: after which cursor it decided, and up to which one, None for the state's own
    mind,  \* of each instance: what it is at, what it has read, and when
    edits

vars == <<now, state, rows, times, under, spans, ruled, mind, edits>>
store == <<state, rows, times, under, spans, ruled>>

AllTicks == UNION {Ticks[v] : v \in DOMAIN Ticks}
Unread == Created(1, 0, None)
Idle == [at |-> None, phase |-> "idle", read |-> Unread]
Free == \A i \in Instances : mind[i].phase # "holds"
Due(time) == state.look # None /\ state.look <= time

Init ==
    /\ now = 0
    /\ state = Created(1, 0, None)
    /\ rows = [t \in AllTicks |-> 0]
    /\ times = [t \in AllTicks |-> 0]
    /\ under = [t \in AllTicks |-> None]
    /\ spans = {}
    /\ ruled = [v \in DOMAIN Ticks |-> [after |-> IF v = 1 THEN Before(0) ELSE None, until |-> None]]
    /\ mind = [i \in Instances |-> Idle]
    /\ edits = 0

Advance == now < Last /\ now' = now + 1 /\ UNCHANGED <<store, mind, edits>>

-----------------------------------------------------------------------------
(* engine/firing.py *)

\* What an instance may take for the time: the store's, or, without that, a clock of its own, which is fast.
Clocks == IF "clock" \in Guards THEN {now} ELSE {now, now + 1}

Open(i) ==
    /\ mind[i].phase = "idle"
    /\ \E time \in Clocks :
        Due(time) /\ mind' = [mind EXCEPT ![i] = [at |-> time, phase |-> "open", read |-> Unread]]
    /\ UNCHANGED <<now, store, edits>>

\* What a read may see: what is committed, or, without that, what another transaction is about to write.
Visible(i) ==
    LET others == {j \in Instances \ {i} : mind[j].phase = "holds"}
    IN {state} \cup (IF "committed" \in Guards THEN {}
                    ELSE {Decided(mind[j].read, mind[j].at, 0, None, FALSE).state : j \in others})

\* FOR UPDATE SKIP LOCKED, and the condition once more on the row that was locked.
Lock(i) ==
    /\ mind[i].phase = "open"
    /\ "lock" \in Guards => Free
    /\ IF Due(mind[i].at)
       THEN \E seen \in Visible(i) : mind' = [mind EXCEPT ![i].phase = "holds", ![i].read = seen]
       ELSE mind' = [mind EXCEPT ![i] = Idle]
    /\ UNCHANGED <<now, store, edits>>

PassedBy(i) ==
    /\ mind[i].phase = "open" /\ "lock" \in Guards /\ ~Free
    /\ mind' = [mind EXCEPT ![i] = Idle]
    /\ UNCHANGED <<now, store, edits>>

\* The unique key lets a row pass only where there is none.
Insert(ticks, v) ==
    LET new == {t \in ticks : rows[t] = 0 \/ "key" \notin Guards}
    IN /\ rows' = [t \in AllTicks |-> IF t \in new THEN rows[t] + 1 ELSE rows[t]]
       /\ under' = [t \in AllTicks |-> IF t \in new THEN v ELSE under[t]]

Within(dropped) == UNION {Between(s.version, s.after, s.until) : s \in dropped}

\* Ticks are decided by this step: some of them start, others are dropped.
Count(ticks, dropped) ==
    times' = [t \in AllTicks |->
        Least(2, times[t] + (IF t \in ticks THEN 1 ELSE 0) + (IF t \in Within(dropped) THEN 1 ELSE 0))]

\* Whether slots are taken is Overlap's to say; here they may be whenever it matters, which is after missed ticks.
Commit(i, budget, full) ==
    LET me == mind[i]
        missed == me.read.look < me.at - Grace
        found == Decided(me.read, me.at, IF missed THEN budget ELSE 0, None, full)
    IN /\ me.phase = "holds"
       /\ missed \/ (budget = 0 /\ ~full)
       /\ state' = found.state
       /\ Insert(found.runs, found.state.version)
       /\ Count(found.runs, found.spans)
       /\ spans' = spans \cup found.spans
       /\ mind' = [mind EXCEPT ![i] = Idle]
       /\ UNCHANGED <<now, ruled, edits>>

\* Nothing was written, and the lock is gone with the session.
Crash(i) ==
    /\ mind[i].phase # "idle"
    /\ mind' = [mind EXCEPT ![i] = Idle]
    /\ UNCHANGED <<now, store, edits>>

-----------------------------------------------------------------------------
(* operations/control.py and schedules.py, through operations/editing.py *)

Edit(d, dropped) ==
    /\ edits < MaxEdits /\ edits' = edits + 1
    /\ "lock" \in Guards => Free
    /\ state' \in {d, Woken(d, now)}
    /\ spans' = spans \cup dropped
    /\ Count({}, dropped)
    /\ UNCHANGED <<now, rows, under, mind>>

Pause(length) ==
    /\ ~state.closed
    /\ Edit(Paused(state, IF length = None THEN None ELSE now + length), {})
    /\ UNCHANGED ruled

Resume(how) == state.paused /\ ~state.closed /\ Edit(Resumed(state, now, how), {}) /\ UNCHANGED ruled

Update(v) ==
    LET d == Replaced(state, v, now)
    IN /\ v > state.version
       /\ Edit(d, IF "trace" \in Guards THEN ReplacedSpans(state, v, now) ELSE {})
       /\ ruled' = [ruled EXCEPT ![v].after = d.cursor, ![state.version].until = IF state.closed THEN @ ELSE d.cursor]

\* A schedule that is created again begins anew: what it would have done meanwhile is nobody's.
Delete ==
    /\ ~state.closed
    /\ Edit(Closed(state, now), ClosedSpans(state, now))
    /\ ruled' = [ruled EXCEPT ![state.version].until = Closed(state, now).cursor]

-----------------------------------------------------------------------------
Engine(i, fulls) == Open(i) \/ Lock(i) \/ PassedBy(i) \/ (\E b \in 0..MaxBudget, full \in fulls : Commit(i, b, full))

Next ==
    \/ Advance
    \/ \E i \in Instances : Engine(i, BOOLEAN) \/ Crash(i)
    \/ \E u \in Untils : Pause(u)
    \/ \E how \in {"policy", "skip", "fire_once"} : Resume(how)
    \/ \E v \in DOMAIN Ticks : Update(v)
    \/ Delete

FireSpec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What is promised *)

TypeOK ==
    /\ now \in 0..Last
    /\ state.version \in DOMAIN Ticks
    /\ state.next = None \/ state.next \in Ticks[state.version]
    /\ \A i \in Instances : mind[i].phase \in {"idle", "open", "holds"}

\* The unique key alone would see to the first of these, whoever decides; only the lock sees to the second.
NoDuplicateFire == \A t \in AllTicks : rows[t] <= 1
DecidedOnce == \A t \in AllTicks : times[t] <= 1

\* Where a version stopped deciding, or has got to.
EndOf(v) == IF ruled[v].until = None THEN state.cursor ELSE ruled[v].until

Covering(v, t) == {s \in spans : s.version = v /\ s.after < t /\ t <= s.until}

Accounted ==
    \A v \in {w \in DOMAIN Ticks : ruled[w].after # None} : \A t \in Between(v, ruled[v].after, EndOf(v)) :
        rows[t] + Cardinality(Covering(v, t)) = 1

\* A span says the truth: that many ticks, and late ones where lateness is the reason.
Legal(s) ==
    LET ticks == Between(s.version, s.after, s.until)
        policy == Policies[s.version]
    IN /\ s.ticks = Cardinality(ticks)
       /\ s.reason \in {"missed", "outside_window", "overlap"} => \A t \in ticks : Late(s.version, t, s.at)
       /\ s.reason = "coalesced" => Late(s.version, Min(ticks), s.at)
       /\ s.reason = "missed" => policy.catchup = "none"
       /\ s.reason = "coalesced" => policy.catchup = "coalesce"
       /\ s.reason = "overlap" => policy.catchup = "all"
       /\ s.reason = "outside_window" => \A t \in ticks : policy.window = 0 \/ t <= s.at - policy.window

NoLostFireWithinWindow == Accounted /\ \A s \in spans : Legal(s)

NothingEarly == \A t \in AllTicks : rows[t] > 0 => Fire(under[t], t) <= now

SnapshotNeverAheadOfStore ==
    \A i \in Instances : mind[i].phase = "holds" =>
        mind[i].read.cursor <= state.cursor /\ mind[i].read.version <= state.version /\ mind[i].at <= now

Starts(t) == rows'[t] > rows[t]
IsPaused == state.paused /\ (state.until = None \/ state.until > now)

PausedBlocksFire == [][(IsPaused \/ state.closed) => \A t \in AllTicks : ~Starts(t)]_vars
NoFireFromStaleDefinition == [][\A t \in AllTicks : Starts(t) => under'[t] = state.version]_vars
CursorMonotone == [][state'.cursor >= state.cursor]_vars

-----------------------------------------------------------------------------
(* Small worlds.  Version 2 changes the policy alone, version 3 the ticks. *)

SmallTicks == <<{1, 2, 3}, {1, 2, 3}, {2, 4}>>
SmallSpecs == <<"each", "each", "even">>
Punctual == [v \in DOMAIN Ticks |-> [t \in Ticks[v] |-> t]]
\* The second tick is launched before its nominal time, the third after it.
Jittered == [v \in DOMAIN Ticks |-> [t \in Ticks[v] |-> CASE t = 2 -> 1 [] t = 3 -> 4 [] OTHER -> t]]

Cautious == [catchup |-> "none", window |-> None, onResume |-> "policy"]
Generous == [catchup |-> "all", window |-> None, onResume |-> "skip"]
Thrifty == [catchup |-> "coalesce", window |-> 2, onResume |-> "fire_once"]
Patient == [catchup |-> "spread", window |-> None, onResume |-> "policy"]
SmallPolicies == <<Generous, Thrifty, Cautious>>
OtherPolicies == <<Thrifty, Patient, Generous>>
SmallUntils == {None, 1}
==============================================================================
