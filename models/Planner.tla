------------------------------- MODULE Planner -------------------------------
(* What the planner decides about one schedule: plan/generate.py, the cursor's part of plan/decide.py, and plan/edit.py,
   with the same branches in the same order.  Nothing here is a step; Fire and Pause make steps of it, and FireTrace
   holds it against what the engine has written.

   Times are integers.  A small configuration counts ticks, a replayed story milliseconds; Second says which. *)
EXTENDS Integers, FiniteSets

CONSTANTS
    Ticks,      \* of each version: the set of its nominal times
    FireAt,     \* of each version: when each of its ticks is to be launched
    Policies,   \* of each version: [catchup, window, onResume]
    Specs,      \* of each version: two with the same spec have the same ticks
    Grace,      \* misfire_grace_ms
    MaxCatchup, \* max_catchup_per_tick
    MaxSpread,  \* max_buffer
    MaxSpan,    \* max_span_ticks
    Lookahead,  \* lookahead_ms
    Second,     \* how much of the unit of time is a second: cursors stand on whole ones
    Guards      \* what keeps the promises: a configuration that lacks one must fail

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
(* plan/generate.py *)

Late(v, tick, now) == Fire(v, tick) < now - Grace
Carried(d, tick, now) == d.carry # "no" /\ tick <= d.carryUntil /\ Fire(d.version, tick) <= now

\* The span that says of ticks that they were dropped; none for none of them.
Dropped(v, after, ticks, reason, now) ==
    IF ticks = {} THEN {}
    ELSE {[after |-> after, until |-> Max(ticks), ticks |-> Cardinality(ticks), reason |-> reason, version |-> v,
           at |-> now]}

Generated(runs, spans, cursor, next, look) ==
    [runs |-> runs, spans |-> spans, cursor |-> cursor, next |-> next, look |-> look]

OnTime(v, nominal, now, cursor) ==
    LET due == {t \in Ticks[v] : t >= nominal /\ Fire(v, t) <= now}
        following == IF due = {} THEN nominal ELSE NextAfter(v, Max(due))
    IN Generated(due, {}, IF due = {} THEN cursor ELSE Max(due), following, FireOrNone(v, following))

\* One bounded walk over missed ticks.  Only the catch-up of `rest` differs by policy; `took` is what it leaves behind.
MissedPass(d, now, budget) ==
    LET v == d.version
        policy == Policies[v]
        behind == {t \in Ticks[v] : t >= d.next /\ (Carried(d, t, now) \/ Late(v, t, now))}
        missed == First(behind, MaxSpan)
        following == NextAfter(v, Max(missed))
        carried == {t \in missed : Carried(d, t, now)}
        inTime(t) == Fire(v, t) >= now - Grace
        affordable(ticks, left) == inTime(Max(ticks)) \/ left >= 1
        once == d.carry = "fire_once" /\ (following = None \/ ~Carried(d, following, now))
        stuck == carried # {} /\ once /\ ~affordable(carried, budget)
        resumed == IF carried # {} /\ once THEN {Max(carried)} ELSE {}
        afford == IF resumed # {} /\ ~inTime(Max(carried)) THEN budget - 1 ELSE budget
        rest == missed \ carried
        outside == {t \in rest : policy.window # None /\ (policy.window = 0 \/ t <= now - policy.window)}
        left == rest \ outside
        afterCarried == IF carried = {} THEN d.cursor ELSE Max(carried)
        afterOutside == IF outside = {} THEN afterCarried ELSE Max(outside)
        more == following # None /\ Late(v, following, now)
        coalesces == ~more /\ affordable(left, afford)
        took == CASE left = {} -> {}
                  [] left # {} /\ policy.catchup = "none" -> {}
                  [] left # {} /\ policy.catchup = "coalesce" -> IF coalesces THEN {Max(left)} ELSE {}
                  [] left # {} /\ policy.catchup = "spread" -> First(left, MaxSpread)
                  [] left # {} /\ policy.catchup = "all" -> First(left, Least(MaxCatchup, afford))
        gone == CASE left = {} -> {}
                  [] left # {} /\ policy.catchup = "none" -> left
                  [] left # {} /\ policy.catchup = "coalesce" ->
                        IF more THEN left ELSE IF coalesces THEN left \ {Max(left)} ELSE {}
                  [] left # {} /\ policy.catchup \in {"spread", "all"} -> {}
        reason == IF policy.catchup = "none" THEN "missed" ELSE "coalesced"
        waiting == left \ (took \cup gone)
        spans == Dropped(v, d.cursor, carried \ resumed, "resumed", now)
                 \cup Dropped(v, afterCarried, outside, "outside_window", now)
                 \cup Dropped(v, afterOutside, gone, reason, now)
        cursor == IF took \cup gone = {} THEN afterOutside ELSE Max(took \cup gone)
        runs == resumed \cup took
        onTime == OnTime(v, following, now, cursor)
    IN CASE stuck -> Generated({}, {}, d.cursor, Min(missed), Fire(v, Min(missed)))
         [] ~stuck /\ waiting # {} ->
                Generated(runs, spans, cursor, Min(waiting),
                          IF policy.catchup = "spread" THEN now + Lookahead ELSE Fire(v, Min(waiting)))
         [] ~stuck /\ waiting = {} /\ (missed # behind \/ following = None) ->
                Generated(runs, spans, cursor, following, FireOrNone(v, following))
         [] OTHER -> [onTime EXCEPT !.runs = @ \cup runs, !.spans = spans]

Generate(d, now, budget) ==
    IF d.next = None THEN Generated({}, {}, d.cursor, None, None)
    ELSE IF Carried(d, d.next, now) \/ Late(d.version, d.next, now) THEN MissedPass(d, now, budget)
    ELSE OnTime(d.version, d.next, now, d.cursor)

-----------------------------------------------------------------------------
(* plan/decide.py: the dial after a decision *)

Moved(d, found) ==
    LET kept == d.carry # "no" /\ found.cursor < d.carryUntil
    IN [d EXCEPT !.cursor = found.cursor, !.next = found.next, !.look = found.look,
                 !.carry = IF kept THEN @ ELSE "no", !.carryUntil = IF kept THEN @ ELSE None]

-----------------------------------------------------------------------------
(* plan/edit.py *)

Before(now) == ((now - 1) \div Second) * Second

Silenced(d, fire) == [d EXCEPT !.look = IF d.closed THEN None ELSE IF d.paused THEN d.until ELSE fire]

\* Whatever waits is looked at at once.
Woken(d, now) == IF d.closed THEN d ELSE [d EXCEPT !.look = IF @ = None THEN now ELSE Least(@, now)]

Aimed(d, v, cursor) ==
    LET next == NextAfter(v, cursor)
    IN Silenced([d EXCEPT !.version = v, !.cursor = cursor, !.next = next], FireOrNone(v, next))

PassedOver(d, until, reason, now) ==
    IF d.next = None \/ d.next > until THEN {}
    ELSE {[after |-> d.cursor, until |-> until, ticks |-> Cardinality(Between(d.version, d.cursor, until)),
           reason |-> reason, version |-> d.version, at |-> now]}

Created(v, now) ==
    Aimed([version |-> v, cursor |-> None, next |-> None, look |-> None, paused |-> FALSE, until |-> None,
           closed |-> FALSE, carry |-> "no", carryUntil |-> None], v, Before(now))

Paused(d, until) == Silenced([d EXCEPT !.paused = TRUE, !.until = until], None)

\* The last second whose ticks have all had their fire time, which jitter may have put before them or after them.
LastDue(d, now) ==
    LET floor == (now \div Second) * Second
        ahead == NextAfter(d.version, floor)
        early == {t \in Ticks[d.version] : d.cursor < t /\ t <= floor /\ Fire(d.version, t) > now}
    IN IF ahead # None /\ FireOrNone(d.version, ahead) <= now THEN ahead
       ELSE IF early = {} THEN floor ELSE Min(early) - Second

Resumed(d, now, how) ==
    IF ~d.paused THEN d
    ELSE LET on == [d EXCEPT !.paused = FALSE, !.until = None,
                             !.carry = IF how = "policy" THEN @ ELSE how,
                             !.carryUntil = IF how = "policy" THEN @ ELSE LastDue(d, now)]
         IN Silenced(on, FireOrNone(d.version, d.next))

Replaced(d, v, now) ==
    IF Specs[v] = Specs[d.version] /\ ~d.closed
    THEN Silenced([d EXCEPT !.version = v], FireOrNone(v, d.next))
    ELSE Aimed([d EXCEPT !.carry = "no", !.carryUntil = None, !.closed = FALSE], v, Most(d.cursor, Before(now)))

ReplacedSpans(d, v, now) ==
    IF d.closed \/ Specs[v] = Specs[d.version] THEN {} ELSE PassedOver(d, Before(now), "edited", now)

Closed(d, now) ==
    [d EXCEPT !.closed = TRUE, !.cursor = Most(@, Before(now)), !.next = None, !.look = None, !.carry = "no",
              !.carryUntil = None]

ClosedSpans(d, now) == PassedOver(d, Before(now), "deleted", now)

-----------------------------------------------------------------------------
(* engine/firing.py: what one fire transaction makes of a dial that it has locked *)

\* A pause that was to end by now ends in the same transaction.
Prepared(d, time) ==
    IF d.paused /\ d.until # None /\ d.until <= time
    THEN Resumed(d, time, Policies[d.version].onResume) ELSE d

Cursor(d, found, time) ==
    IF "cursor" \in Guards THEN found ELSE [found EXCEPT !.cursor = Most(@, time), !.next = NextAfter(d.version, time)]

Decided(d, time, budget) ==
    LET ready == Prepared(d, time)
        asked == IF "pause" \in Guards THEN ready ELSE [ready EXCEPT !.paused = FALSE]
    IN IF asked.paused \/ asked.closed
       THEN [dial |-> [ready EXCEPT !.look = IF ready.paused THEN ready.until ELSE None], runs |-> {}, spans |-> {}]
       ELSE LET found == Cursor(ready, Generate(ready, time, budget), time)
            IN [dial |-> Moved(ready, found), runs |-> found.runs, spans |-> found.spans]
==============================================================================
