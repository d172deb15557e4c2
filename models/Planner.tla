------------------------------- MODULE Planner -------------------------------
(* The decisions of the planner about one schedule.  It has the branches of plan/due_ticks.py, of the cursor in
   plan/decide.py, of plan/edit.py and of plan/pause.py, in the same order.  Fire and Pause build steps from these
   operators, and FireTrace compares them with the ledger.

   Times are integers.  Small configurations count ticks, and replayed scenarios milliseconds.  Second is the unit. *)
EXTENDS Integers, FiniteSets

CONSTANTS
    Ticks,            \* of each version: the set of its nominal times
    FireAt,           \* of each version: the fire time of each of its ticks
    Policies,         \* of each version: [catchup, window, onResume]
    Specs,            \* of each version: its spec.  Versions with the same spec have the same ticks
    Grace,            \* misfire_grace_ms
    MaxCatchup,       \* max_catchup_per_tick
    MaxSpread,        \* max_buffer
    MaxDroppedTicks,  \* max_dropped_range_ticks
    Lookahead,        \* lookahead_ms
    TickLength,       \* tick_ms
    Second,           \* the length of a second.  Cursors are whole seconds
    Guards            \* the mechanisms that keep the guarantees.  A configuration without one must fail

None == -1000000000

Min(set) == CHOOSE x \in set : \A y \in set : x <= y
Max(set) == CHOOSE x \in set : \A y \in set : x >= y
Least(a, b) == IF a <= b THEN a ELSE b
Most(a, b) == IF a >= b THEN a ELSE b
First(set, count) == {x \in set : Cardinality({y \in set : y <= x}) <= count}

Fire(v, tick) == FireAt[v][tick]
NextAfter(v, time) == LET later == {t \in Ticks[v] : t > time} IN IF later = {} THEN None ELSE Min(later)
FireOrNone(v, tick) == IF tick = None THEN None ELSE Fire(v, tick)
Between(v, after, until) == {t \in Ticks[v] : after < t /\ t <= until}

-----------------------------------------------------------------------------
(* plan/due_ticks.py *)

Late(v, tick, now) == Fire(v, tick) < now - Grace
IsCarried(s, tick, now) == s.carry # "no" /\ tick <= s.carryUntil /\ Fire(s.version, tick) <= now

\* The dropped range of some ticks, as a set.  It is empty without ticks.
DroppedRange(v, after, ticks, reason, now) ==
    IF ticks = {} THEN {}
    ELSE {[after |-> after, until |-> Max(ticks), ticks |-> Cardinality(ticks), reason |-> reason, version |-> v,
           at |-> now]}

\* `rest` are the missed ticks beyond the budget, and `beyond` is the tick after them.  See DropRest.
Generated(runs, ranges, cursor, next, nextFire) ==
    [runs |-> runs, ranges |-> ranges, cursor |-> cursor, next |-> next, nextFire |-> nextFire, rest |-> {},
     beyond |-> None]

\* _one_of: the latest tick without a skip, and the ticks after it, which are recorded as skipped one by one.
LatestUnskipped(ticks, skips) ==
    IF ticks \ skips = {} THEN ticks ELSE {t \in ticks : t >= Max(ticks \ skips)}

OnTime(v, nominal, now, cursor) ==
    LET due == {t \in Ticks[v] : t >= nominal /\ Fire(v, t) <= now}
        following == IF due = {} THEN nominal ELSE NextAfter(v, Max(due))
    IN Generated(due, {}, IF due = {} THEN cursor ELSE Max(due), following, FireOrNone(v, following))

\* One bounded pass over missed ticks.  The policy decides which of the ticks in `left` start and which are discarded.
MissedPass(s, now, budget) ==
    LET v == s.version
        policy == Policies[v]
        behind == {t \in Ticks[v] : t >= s.next /\ (IsCarried(s, t, now) \/ Late(v, t, now))}
        missed == First(behind, MaxDroppedTicks)
        following == NextAfter(v, Max(missed))
        later == IF following = None THEN None
                 ELSE LET others == {t \in Ticks[v] : t >= following} \ s.skips
                      IN IF others = {} THEN None ELSE Min(others)
        carried == {t \in missed : IsCarried(s, t, now)}
        isFree(ticks) == ticks \ s.skips = {} \/ Fire(v, Max(ticks \ s.skips)) >= now - Grace
        once == s.carry = "fire_once" /\ (later = None \/ ~IsCarried(s, later, now))
        blocked == carried # {} /\ once /\ ~(isFree(carried) \/ budget >= 1)
        resumed == IF once THEN LatestUnskipped(carried, s.skips) ELSE {}
        budgetLeft == IF resumed # {} /\ ~isFree(carried) THEN budget - 1 ELSE budget
        rest == missed \ carried
        outside == {t \in rest : policy.window # None /\ (policy.window = 0 \/ t <= now - policy.window)}
        left == rest \ outside
        afterCarried == IF carried = {} THEN s.cursor ELSE Max(carried)
        afterOutside == IF outside = {} THEN afterCarried ELSE Max(outside)
        \* _coalesce: one run for everything that is overdue, the ticks that are only late included.
        walked == missed = behind
        more == ~walked /\ later # None /\ FireOrNone(v, later) <= now
        late == IF walked /\ following # None THEN {t \in Ticks[v] : t >= following /\ Fire(v, t) <= now} ELSE {}
        overdue == left \cup late
        coalesces == ~more /\ (isFree(overdue) \/ budgetLeft >= 1)
        onward == IF policy.catchup = "coalesce" /\ left # {} /\ late # {} THEN NextAfter(v, Max(late)) ELSE following
        started == CASE left = {} -> {}
                  [] left # {} /\ policy.catchup = "none" -> {}
                  [] left # {} /\ policy.catchup = "coalesce" ->
                        IF coalesces THEN LatestUnskipped(overdue, s.skips) ELSE {}
                  [] left # {} /\ policy.catchup = "spread" -> First(left, MaxSpread)
                  [] left # {} /\ policy.catchup = "all" -> First(left, Least(MaxCatchup, budgetLeft))
        discarded == CASE left = {} -> {}
                  [] left # {} /\ policy.catchup = "none" -> left
                  [] left # {} /\ policy.catchup = "coalesce" ->
                        IF more THEN left ELSE IF coalesces THEN overdue \ LatestUnskipped(overdue, s.skips) ELSE {}
                  [] left # {} /\ policy.catchup \in {"spread", "all"} -> {}
        reason == IF policy.catchup = "none" THEN "missed" ELSE "coalesced"
        waiting == left \ (started \cup discarded)
        ranges == DroppedRange(v, s.cursor, carried \ resumed, "resumed", now)
                 \cup DroppedRange(v, afterCarried, outside, "outside_window", now)
                 \cup DroppedRange(v, afterOutside, discarded, reason, now)
        cursor == IF started \cup discarded = {} THEN afterOutside ELSE Max(started \cup discarded)
        runs == resumed \cup started
        skippable == IF policy.catchup = "all" /\ runs # {} /\ waiting \cap s.skips = {} THEN waiting ELSE {}
        onTime == OnTime(v, onward, now, cursor)
    IN CASE blocked -> Generated({}, {}, s.cursor, Min(missed), Fire(v, Min(missed)))
         [] ~blocked /\ waiting # {} ->
                [Generated(runs, ranges, cursor, Min(waiting),
                           IF policy.catchup = "spread" THEN now + Lookahead
                           ELSE IF policy.catchup = "all" /\ Cardinality(started) = MaxCatchup THEN now + TickLength
                           ELSE Fire(v, Min(waiting)))
                 EXCEPT !.rest = skippable, !.beyond = following]
         [] ~blocked /\ waiting = {} /\ (~walked \/ onward = None) ->
                Generated(runs, ranges, cursor, onward, FireOrNone(v, onward))
         [] OTHER -> [onTime EXCEPT !.runs = @ \cup runs, !.ranges = ranges]

Generate(s, now, budget) ==
    IF s.next = None THEN Generated({}, {}, s.cursor, None, None)
    ELSE IF IsCarried(s, s.next, now) \/ Late(s.version, s.next, now) THEN MissedPass(s, now, budget)
    ELSE OnTime(s.version, s.next, now, s.cursor)

-----------------------------------------------------------------------------
(* plan/decide.py: the state after a decision *)

\* _after_skip: if every slot was taken at the last decided tick, the rest is dropped without another pass.
DropRest(v, generated, now) ==
    [generated EXCEPT !.ranges = @ \cup DroppedRange(v, generated.cursor, generated.rest, "overlap", now),
                      !.cursor = Max(generated.rest), !.next = generated.beyond,
                      !.nextFire = FireOrNone(v, generated.beyond)]

\* `left` is the number of automatic starts that are left, which Admission computes.
StateAfterTicks(s, generated, left) ==
    LET stillCarries == s.carry # "no" /\ generated.cursor < s.carryUntil
    IN [s EXCEPT !.cursor = generated.cursor, !.next = generated.next,
                 !.nextFire = IF left = 0 THEN None ELSE generated.nextFire,
                 !.carry = IF stillCarries THEN @ ELSE "no",
                 !.carryUntil = IF stillCarries THEN @ ELSE None, !.left = left,
                 !.skips = {t \in @ : t > generated.cursor}]

-----------------------------------------------------------------------------
(* plan/edit.py and plan/pause.py *)

Before(now) == ((now - 1) \div Second) * Second

WithNextFire(s, fire) ==
    [s EXCEPT !.nextFire = IF s.closed \/ (s.left = 0 /\ ~s.paused) THEN None ELSE IF s.paused THEN s.until ELSE fire]

\* due_now_if_waiting: an engine checks the waiting runs at once.
DueNow(s, now) == IF s.closed THEN s ELSE [s EXCEPT !.nextFire = IF @ = None THEN now ELSE Least(@, now)]

FromCursor(s, v, cursor) ==
    LET next == NextAfter(v, cursor)
    IN WithNextFire([s EXCEPT !.version = v, !.cursor = cursor, !.next = next], FireOrNone(v, next))

DroppedUpTo(s, until, reason, now) ==
    IF s.next = None \/ s.next > until THEN {}
    ELSE {[after |-> s.cursor, until |-> until, ticks |-> Cardinality(Between(s.version, s.cursor, until)),
           reason |-> reason, version |-> s.version, at |-> now]}

NewState(v, now, left) ==
    FromCursor([version |-> v, cursor |-> None, next |-> None, nextFire |-> None, paused |-> FALSE, until |-> None,
           closed |-> FALSE, carry |-> "no", carryUntil |-> None, left |-> left, skips |-> {}], v, Before(now))

PausedState(s, until) == WithNextFire([s EXCEPT !.paused = TRUE, !.until = until], None)

\* The last second up to which every tick has had its fire time.  Jitter may move a fire time before or after its
\* tick.
LastDue(s, now) ==
    LET floor == (now \div Second) * Second
        ahead == NextAfter(s.version, floor)
        early == {t \in Ticks[s.version] : s.cursor < t /\ t <= floor /\ Fire(s.version, t) > now}
    IN IF ahead # None /\ FireOrNone(s.version, ahead) <= now THEN ahead
       ELSE IF early = {} THEN floor ELSE Min(early) - Second

ResumedState(s, now, how) ==
    IF ~s.paused THEN s
    ELSE LET active == [s EXCEPT !.paused = FALSE, !.until = None,
                             !.carry = IF how = "policy" THEN @ ELSE how,
                             !.carryUntil = IF how = "policy" THEN @ ELSE LastDue(s, now)]
         IN WithNextFire(active, FireOrNone(s.version, s.next))

ReplacedState(s, v, now) ==
    IF Specs[v] = Specs[s.version] /\ ~s.closed
    THEN WithNextFire([s EXCEPT !.version = v], FireOrNone(v, s.next))
    ELSE FromCursor([s EXCEPT !.carry = "no", !.carryUntil = None, !.closed = FALSE], v, Most(s.cursor, Before(now)))

DroppedByReplace(s, v, now) ==
    IF s.closed \/ Specs[v] = Specs[s.version] THEN {} ELSE DroppedUpTo(s, Before(now), "edited", now)

\* A new limit restarts a schedule that had no start left.
Restarts(s, left) == s.left = 0 /\ left # 0

LimitedState(s, left, now) ==
    LET other == [s EXCEPT !.left = left]
    IN IF Restarts(s, left) THEN FromCursor(other, s.version, Most(s.cursor, Before(now)))
       ELSE WithNextFire(other, FireOrNone(s.version, s.next))

DroppedByLimit(s, left, now) == IF Restarts(s, left) THEN DroppedUpTo(s, Before(now), "limit_reached", now) ELSE {}

WithSkips(s, ticks) == [s EXCEPT !.skips = @ \cup ticks]

ClosedState(s, now) ==
    [s EXCEPT !.closed = TRUE, !.cursor = Most(@, Before(now)), !.next = None, !.nextFire = None, !.carry = "no",
              !.carryUntil = None, !.skips = {}]

DroppedByClose(s, now) == DroppedUpTo(s, Before(now), "deleted", now)

-----------------------------------------------------------------------------
(* engine/steps/fire.py: the decision of one fire transaction about a locked state *)

\* A pause whose end has come ends in the same transaction.
ResumeIfDue(s, time) ==
    IF s.paused /\ s.until # None /\ s.until <= time
    THEN ResumedState(s, time, Policies[s.version].onResume) ELSE s

GuardedCursor(s, generated, time) ==
    IF "cursor" \in Guards THEN generated
    ELSE [generated EXCEPT !.cursor = Most(@, time), !.next = NextAfter(s.version, time)]

\* `full` is whether every slot was taken at the last tick, `left` the number of automatic starts that are left after
\* it.
FireDecision(s, time, budget, left, full) ==
    LET ready == ResumeIfDue(s, time)
        checked == IF "pause" \in Guards THEN ready ELSE [ready EXCEPT !.paused = FALSE]
    IN IF checked.paused \/ checked.closed
       THEN [state |-> [ready EXCEPT !.nextFire = IF ready.paused THEN ready.until ELSE None],
             runs |-> {}, ranges |-> {}]
       ELSE LET all == GuardedCursor(ready, Generate(ready, time, budget), time)
                generated == IF full /\ all.rest # {} THEN DropRest(ready.version, all, time) ELSE all
            IN [state |-> StateAfterTicks(ready, generated, left), runs |-> generated.runs, ranges |-> generated.ranges]
==============================================================================
