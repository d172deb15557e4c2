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

\* `rest` are missed ticks that there was no room for, and `beyond` is the tick after them: see PassedOverAll.
Generated(runs, spans, cursor, next, look) ==
    [runs |-> runs, spans |-> spans, cursor |-> cursor, next |-> next, look |-> look, rest |-> {}, beyond |-> None]

\* _one_of: the latest that nobody asked to skip, and whatever comes after it; they are written, and skipped one by one.
Kept(ticks, skips) ==
    IF ticks \ skips = {} THEN ticks ELSE {t \in ticks : t >= Max(ticks \ skips)}

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
        later == IF following = None THEN None
                 ELSE LET others == {t \in Ticks[v] : t >= following} \ d.skips IN IF others = {} THEN None ELSE Min(others)
        carried == {t \in missed : Carried(d, t, now)}
        free(ticks) == ticks \ d.skips = {} \/ Fire(v, Max(ticks \ d.skips)) >= now - Grace
        once == d.carry = "fire_once" /\ (later = None \/ ~Carried(d, later, now))
        stuck == carried # {} /\ once /\ ~(free(carried) \/ budget >= 1)
        resumed == IF once THEN Kept(carried, d.skips) ELSE {}
        afford == IF resumed # {} /\ ~free(carried) THEN budget - 1 ELSE budget
        rest == missed \ carried
        outside == {t \in rest : policy.window # None /\ (policy.window = 0 \/ t <= now - policy.window)}
        left == rest \ outside
        afterCarried == IF carried = {} THEN d.cursor ELSE Max(carried)
        afterOutside == IF outside = {} THEN afterCarried ELSE Max(outside)
        \* _coalesce: one run for everything that is overdue, the ticks that are only late included.
        walked == missed = behind
        more == ~walked /\ later # None /\ FireOrNone(v, later) <= now
        late == IF walked /\ following # None THEN {t \in Ticks[v] : t >= following /\ Fire(v, t) <= now} ELSE {}
        overdue == left \cup late
        coalesces == ~more /\ (free(overdue) \/ afford >= 1)
        onward == IF policy.catchup = "coalesce" /\ left # {} /\ late # {} THEN NextAfter(v, Max(late)) ELSE following
        took == CASE left = {} -> {}
                  [] left # {} /\ policy.catchup = "none" -> {}
                  [] left # {} /\ policy.catchup = "coalesce" -> IF coalesces THEN Kept(overdue, d.skips) ELSE {}
                  [] left # {} /\ policy.catchup = "spread" -> First(left, MaxSpread)
                  [] left # {} /\ policy.catchup = "all" -> First(left, Least(MaxCatchup, afford))
        gone == CASE left = {} -> {}
                  [] left # {} /\ policy.catchup = "none" -> left
                  [] left # {} /\ policy.catchup = "coalesce" ->
                        IF more THEN left ELSE IF coalesces THEN overdue \ Kept(overdue, d.skips) ELSE {}
                  [] left # {} /\ policy.catchup \in {"spread", "all"} -> {}
        reason == IF policy.catchup = "none" THEN "missed" ELSE "coalesced"
        waiting == left \ (took \cup gone)
        spans == Dropped(v, d.cursor, carried \ resumed, "resumed", now)
                 \cup Dropped(v, afterCarried, outside, "outside_window", now)
                 \cup Dropped(v, afterOutside, gone, reason, now)
        cursor == IF took \cup gone = {} THEN afterOutside ELSE Max(took \cup gone)
        runs == resumed \cup took
        skippable == IF policy.catchup = "all" /\ runs # {} /\ waiting \cap d.skips = {} THEN waiting ELSE {}
        onTime == OnTime(v, onward, now, cursor)
    IN CASE stuck -> Generated({}, {}, d.cursor, Min(missed), Fire(v, Min(missed)))
         [] ~stuck /\ waiting # {} ->
                [Generated(runs, spans, cursor, Min(waiting),
                           IF policy.catchup = "spread" THEN now + Lookahead ELSE Fire(v, Min(waiting)))
                 EXCEPT !.rest = skippable, !.beyond = following]
         [] ~stuck /\ waiting = {} /\ (~walked \/ onward = None) ->
                Generated(runs, spans, cursor, onward, FireOrNone(v, onward))
         [] OTHER -> [onTime EXCEPT !.runs = @ \cup runs, !.spans = spans]

Generate(d, now, budget) ==
    IF d.next = None THEN Generated({}, {}, d.cursor, None, None)
    ELSE IF Carried(d, d.next, now) \/ Late(d.version, d.next, now) THEN MissedPass(d, now, budget)
    ELSE OnTime(d.version, d.next, now, d.cursor)

-----------------------------------------------------------------------------
(* plan/decide.py: the state after a decision *)

\* _passed_over: if the last tick that was decided found every slot taken, so would the rest; they need no other pass.
PassedOverAll(v, found, now) ==
    [found EXCEPT !.spans = @ \cup Dropped(v, found.cursor, found.rest, "overlap", now), !.cursor = Max(found.rest),
                  !.next = found.beyond, !.look = FireOrNone(v, found.beyond)]

\* `left` is how many automatic starts are left then, which is for admission to say.
Moved(d, found, left) ==
    LET kept == d.carry # "no" /\ found.cursor < d.carryUntil
    IN [d EXCEPT !.cursor = found.cursor, !.next = found.next, !.look = IF left = 0 THEN None ELSE found.look,
                 !.carry = IF kept THEN @ ELSE "no", !.carryUntil = IF kept THEN @ ELSE None, !.left = left,
                 !.skips = {t \in @ : t > found.cursor}]

-----------------------------------------------------------------------------
(* plan/edit.py *)

Before(now) == ((now - 1) \div Second) * Second

Silenced(d, fire) ==
    [d EXCEPT !.look = IF d.closed \/ (d.left = 0 /\ ~d.paused) THEN None ELSE IF d.paused THEN d.until ELSE fire]

\* Whatever waits is looked at at once.
Woken(d, now) == IF d.closed THEN d ELSE [d EXCEPT !.look = IF @ = None THEN now ELSE Least(@, now)]

Aimed(d, v, cursor) ==
    LET next == NextAfter(v, cursor)
    IN Silenced([d EXCEPT !.version = v, !.cursor = cursor, !.next = next], FireOrNone(v, next))

PassedOver(d, until, reason, now) ==
    IF d.next = None \/ d.next > until THEN {}
    ELSE {[after |-> d.cursor, until |-> until, ticks |-> Cardinality(Between(d.version, d.cursor, until)),
           reason |-> reason, version |-> d.version, at |-> now]}

Created(v, now, left) ==
    Aimed([version |-> v, cursor |-> None, next |-> None, look |-> None, paused |-> FALSE, until |-> None,
           closed |-> FALSE, carry |-> "no", carryUntil |-> None, left |-> left, skips |-> {}], v, Before(now))

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

\* A schedule that had no action left starts afresh.
Afresh(d, left) == d.left = 0 /\ left # 0

Limited(d, left, now) ==
    LET other == [d EXCEPT !.left = left]
    IN IF Afresh(d, left) THEN Aimed(other, d.version, Most(d.cursor, Before(now)))
       ELSE Silenced(other, FireOrNone(d.version, d.next))

LimitedSpans(d, left, now) == IF Afresh(d, left) THEN PassedOver(d, Before(now), "limit_reached", now) ELSE {}

Skipping(d, ticks) == [d EXCEPT !.skips = @ \cup ticks]

Closed(d, now) ==
    [d EXCEPT !.closed = TRUE, !.cursor = Most(@, Before(now)), !.next = None, !.look = None, !.carry = "no",
              !.carryUntil = None, !.skips = {}]

ClosedSpans(d, now) == PassedOver(d, Before(now), "deleted", now)

-----------------------------------------------------------------------------
(* engine/firing.py: what one fire transaction makes of a state that it has locked *)

\* A pause that was to end by now ends in the same transaction.
Prepared(d, time) ==
    IF d.paused /\ d.until # None /\ d.until <= time
    THEN Resumed(d, time, Policies[d.version].onResume) ELSE d

Cursor(d, found, time) ==
    IF "cursor" \in Guards THEN found ELSE [found EXCEPT !.cursor = Most(@, time), !.next = NextAfter(d.version, time)]

\* `full` says whether the last of the ticks found every slot taken, `left` how many starts are left after them.
Decided(d, time, budget, left, full) ==
    LET ready == Prepared(d, time)
        asked == IF "pause" \in Guards THEN ready ELSE [ready EXCEPT !.paused = FALSE]
    IN IF asked.paused \/ asked.closed
       THEN [state |-> [ready EXCEPT !.look = IF ready.paused THEN ready.until ELSE None], runs |-> {}, spans |-> {}]
       ELSE LET all == Cursor(ready, Generate(ready, time, budget), time)
                found == IF full /\ all.rest # {} THEN PassedOverAll(ready.version, all, time) ELSE all
            IN [state |-> Moved(ready, found, left), runs |-> found.runs, spans |-> found.spans]
==============================================================================
