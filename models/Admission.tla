------------------------------ MODULE Admission ------------------------------
(* Decides whether a run starts, waits or is skipped, and what happens to the other runs of its schedule.  It has the
   branches of plan/overlap.py, plan/decide.py and plan/release.py, in the same order.  Overlap builds steps from
   these operators, and OverlapTrace compares them with the ledger.

   A run is a number.  Waiting runs are released in the order of their numbers. *)
EXTENDS Integers, FiniteSets, Sequences, TLC

CONSTANTS MaxBuffer, Guards

NoLimit == -1
Never == -1000000000

\* The other inputs of a decision: the clock, the number of automatic starts that are left, the time of the last one,
\* the runs whose target is paused, and the runs that a user wants to skip.
NoConstraints == [now |-> 0, left |-> NoLimit, last |-> Never, targetPaused |-> {}, skipped |-> {}]

InState(states, which) == {r \in DOMAIN states : states[r] = which}

-----------------------------------------------------------------------------
(* plan/overlap.py *)

VerdictForRequest(p, s, overlap) ==
    CASE overlap = "terminate_other" -> [act |-> "terminate", supersede |-> FALSE]
      [] overlap # "terminate_other" /\ s.waiting >= MaxBuffer -> [act |-> "skip", supersede |-> FALSE]
      [] overlap = "cancel_other" /\ s.waiting < MaxBuffer -> [act |-> "cancel", supersede |-> FALSE]
      [] OTHER -> IF s.waiting > 0 /\ p.keep = "first" THEN [act |-> "skip", supersede |-> FALSE]
                  ELSE [act |-> "wait", supersede |-> TRUE]

VerdictForTick(p, s) ==
    CASE p.overlap = "terminate_other" -> [act |-> "terminate", supersede |-> TRUE]
      [] p.overlap = "cancel_other" -> [act |-> "cancel", supersede |-> TRUE]
      [] OTHER -> IF s.waiting > 0 /\ p.keep = "first" THEN [act |-> "skip", supersede |-> FALSE]
                  ELSE [act |-> "wait", supersede |-> TRUE]

Verdict(p, s, overlap) ==
    LET chosen == IF overlap = "own" THEN p.overlap ELSE overlap
        bufferHasSpace == s.waiting < MaxBuffer \/ "bound" \notin Guards
    IN CASE chosen = "allow" \/ s.flight < p.slots \/ "slot" \notin Guards -> [act |-> "start", supersede |-> FALSE]
         [] chosen = "skip" -> [act |-> "skip", supersede |-> FALSE]
         [] chosen = "queue" -> [act |-> IF bufferHasSpace THEN "wait" ELSE "skip", supersede |-> FALSE]
         [] OTHER -> IF overlap = "own" THEN VerdictForTick(p, s) ELSE VerdictForRequest(p, s, overlap)

-----------------------------------------------------------------------------
(* plan/decide.py.  A decision has the rows, its counters, and the set of rows that it wrote itself (own). *)

NewDecision(states, context) ==
    [state |-> states, flight |-> Cardinality(InState(states, "flight")),
     waiting |-> Cardinality(InState(states, "wait")), left |-> context.left, last |-> context.last,
     own |-> {}, cancel |-> FALSE]

SetState(s, r, which) == [s EXCEPT !.state[r] = which, !.own = @ \cup {r}]

SupersedeWaiting(s, kinds, overlap) ==
    LET same == {r \in InState(s.state, "wait") : kinds[r].overlap = overlap}
    IN [s EXCEPT !.state = [r \in DOMAIN @ |-> IF r \in same THEN "final" ELSE @[r]],
                 !.waiting = @ - Cardinality(same \cap s.own)]

TakeBackOwnStarts(s, kinds) ==
    LET ownStarts == InState(s.state, "flight") \cap s.own
    IN [s EXCEPT !.state = [r \in DOMAIN @ |-> IF r \in ownStarts THEN "final" ELSE @[r]],
                 !.flight = @ - Cardinality(ownStarts),
                 !.left = IF @ = NoLimit THEN @ ELSE @ + Cardinality({r \in ownStarts : kinds[r].auto})]

TerminateInFlight(s, kinds) ==
    [TakeBackOwnStarts(s, kinds) EXCEPT
        !.state = [r \in DOMAIN @ |-> IF @[r] = "flight" THEN "final" ELSE @[r]],
        !.flight = 0]

\* A requested run does not count as an automatic start, and does not restart the minimum interval.
CountStart(s, context, auto) ==
    IF auto THEN [s EXCEPT !.left = IF @ = NoLimit THEN @ ELSE @ - 1, !.last = context.now] ELSE s
StartRun(s, context, kinds, r) == CountStart([SetState(s, r, "flight") EXCEPT !.flight = @ + 1], context, kinds[r].auto)
QueueRun(s, r) == [SetState(s, r, "wait") EXCEPT !.waiting = @ + 1]

Abs(x) == IF x < 0 THEN -x ELSE x
TooSoon(p, s, context) == s.last # Never /\ Abs(context.now - s.last) < p.shortest
Obstacle(p, s, context) == s.left = 0 \/ TooSoon(p, s, context)

ApplyVerdict(p, s, context, kinds, r) ==
    LET overlap == kinds[r].overlap
        verdict == Verdict(p, s, overlap)
        clear == IF verdict.supersede THEN SupersedeWaiting(s, kinds, overlap) ELSE s
    IN CASE verdict.act = "start" -> StartRun(clear, context, kinds, r)
         [] verdict.act = "skip" -> SetState(clear, r, "final")
         [] verdict.act = "wait" -> QueueRun(clear, r)
         [] verdict.act = "terminate" -> StartRun(TerminateInFlight(clear, kinds), context, kinds, r)
         [] verdict.act = "cancel" ->
                IF InState(clear.state, "flight") \cap clear.own # {}
                THEN StartRun(TakeBackOwnStarts(clear, kinds), context, kinds, r)
                ELSE [QueueRun(clear, r) EXCEPT !.cancel = TRUE]

\* tick and request.  A tick is checked against the limits first.  A shadow and a paused target stop both.
Admit(p, s, context, kinds, r) ==
    CASE p.shadow \/ r \in context.skipped \/ (kinds[r].auto /\ Obstacle(p, s, context)) -> SetState(s, r, "final")
      [] OTHER -> IF r \notin context.targetPaused THEN ApplyVerdict(p, s, context, kinds, r)
                  ELSE IF s.waiting >= MaxBuffer THEN SetState(s, r, "final") ELSE QueueRun(s, r)

RECURSIVE AdmitAll(_, _, _, _, _)
AdmitAll(p, s, context, kinds, arrivals) ==
    IF arrivals = <<>> THEN s
    ELSE AdmitAll(p, Admit(p, s, context, kinds, Head(arrivals)), context, kinds, Tail(arrivals))

\* store/base.py, write_decisions: a cancelled run that no instance holds ends at once.
EndUnheld(s, unheld) ==
    IF ~s.cancel THEN s.state
    ELSE [r \in DOMAIN s.state |-> IF r \in unheld /\ s.state[r] = "flight" THEN "final" ELSE s.state[r]]

\* TLCEval, because TLC 2.15 evaluates the function of a LET lazily: with a quantifier before it, the same conjunction was
\* FALSE in one order and TRUE in the other.
StatesAfterAdmission(p, s, context, kinds, unheld, arrivals) ==
    TLCEval(EndUnheld(AdmitAll(p, s, context, kinds, arrivals), unheld))

-----------------------------------------------------------------------------
(* plan/release.py *)

Fits(p, s, kinds, r) ==
    LET chosen == IF kinds[r].overlap = "own" THEN p.overlap ELSE kinds[r].overlap
    IN p.shadow \/ chosen = "allow" \/ s.flight < p.slots

Smallest(set) == CHOOSE r \in set : \A other \in set : r <= other
Greatest(set) == CHOOSE r \in set : \A other \in set : r >= other

ReleaseOne(p, s, context, kinds, held, r) ==
    LET dropped == [s EXCEPT !.state[r] = "final", !.waiting = @ - 1]
        started == [s EXCEPT !.state[r] = "flight", !.waiting = @ - 1, !.flight = @ + 1]
    IN IF r \in context.targetPaused \/ (held /\ kinds[r].auto) \/ ~Fits(p, s, kinds, r) THEN s
       ELSE IF p.shadow \/ (kinds[r].auto /\ Obstacle(p, s, context)) THEN dropped
       ELSE CountStart(started, context, kinds[r].auto)

RECURSIVE ReleaseInOrder(_, _, _, _, _, _)
ReleaseInOrder(p, s, context, kinds, held, queue) ==
    IF queue = {} THEN s
    ELSE LET r == IF "fifo" \in Guards THEN Smallest(queue) ELSE Greatest(queue)
         IN ReleaseInOrder(p, ReleaseOne(p, s, context, kinds, held, r), context, kinds, held, queue \ {r})

ReleaseWaiting(p, s, context, kinds, held) ==
    TLCEval(ReleaseInOrder(p, s, context, kinds, held, InState(s.state, "wait")))
==============================================================================
