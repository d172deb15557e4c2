------------------------------ MODULE Admission ------------------------------
(* Whether a run starts, waits or is skipped, and what it does to the runs that it meets: plan/admit.py, the judging half
   of plan/decide.py, and release in plan/settle.py, with the same branches in the same order.  Overlap makes steps of
   these, and OverlapTrace holds them against the ledger.

   A run is a number, in the order in which runs wait: the smaller one is released first. *)
EXTENDS Integers, FiniteSets, Sequences, TLC

CONSTANTS MaxBuffer, Guards

NoLimit == -1
Never == -1000000000

\* What else a decision depends on: the clock, how many automatic starts are left, when the last one was, the runs whose
\* target is paused, and those that somebody has asked to skip.
Calm == [now |-> 0, left |-> NoLimit, last |-> Never, stalled |-> {}, unwanted |-> {}]

InState(states, which) == {r \in DOMAIN states : states[r] = which}

-----------------------------------------------------------------------------
(* plan/admit.py *)

ForRequest(p, s, overlap) ==
    CASE overlap = "terminate_other" -> [act |-> "terminate", supersede |-> FALSE]
      [] overlap # "terminate_other" /\ s.waiting >= MaxBuffer -> [act |-> "skip", supersede |-> FALSE]
      [] overlap = "cancel_other" /\ s.waiting < MaxBuffer -> [act |-> "cancel", supersede |-> FALSE]
      [] OTHER -> IF s.waiting > 0 /\ p.keep = "first" THEN [act |-> "skip", supersede |-> FALSE]
                  ELSE [act |-> "wait", supersede |-> TRUE]

ForTick(p, s) ==
    CASE p.overlap = "terminate_other" -> [act |-> "terminate", supersede |-> TRUE]
      [] p.overlap = "cancel_other" -> [act |-> "cancel", supersede |-> TRUE]
      [] OTHER -> IF s.waiting > 0 /\ p.keep = "first" THEN [act |-> "skip", supersede |-> FALSE]
                  ELSE [act |-> "wait", supersede |-> TRUE]

Verdict(p, s, overlap) ==
    LET chosen == IF overlap = "own" THEN p.overlap ELSE overlap
        room == s.waiting < MaxBuffer \/ "bound" \notin Guards
    IN CASE chosen = "allow" \/ s.flight < p.slots \/ "slot" \notin Guards -> [act |-> "start", supersede |-> FALSE]
         [] chosen = "skip" -> [act |-> "skip", supersede |-> FALSE]
         [] chosen = "queue" -> [act |-> IF room THEN "wait" ELSE "skip", supersede |-> FALSE]
         [] OTHER -> IF overlap = "own" THEN ForTick(p, s) ELSE ForRequest(p, s, overlap)

-----------------------------------------------------------------------------
(* plan/decide.py.  A standing is what a Decision holds: the rows, its counters, and which rows are its own. *)

Standing(states, w) ==
    [state |-> states, flight |-> Cardinality(InState(states, "flight")),
     waiting |-> Cardinality(InState(states, "wait")), left |-> w.left, last |-> w.last, mine |-> {}, cancel |-> FALSE]

With(s, r, which) == [s EXCEPT !.state[r] = which, !.mine = @ \cup {r}]

Superseded(s, kinds, overlap) ==
    LET same == {r \in InState(s.state, "wait") : kinds[r].overlap = overlap}
    IN [s EXCEPT !.state = [r \in DOMAIN @ |-> IF r \in same THEN "final" ELSE @[r]],
                 !.waiting = @ - Cardinality(same \cap s.mine)]

TakenBack(s, kinds) ==
    LET hand == InState(s.state, "flight") \cap s.mine
    IN [s EXCEPT !.state = [r \in DOMAIN @ |-> IF r \in hand THEN "final" ELSE @[r]],
                 !.flight = @ - Cardinality(hand),
                 !.left = IF @ = NoLimit THEN @ ELSE @ + Cardinality({r \in hand : kinds[r].auto})]

Terminated(s, kinds) ==
    [TakenBack(s, kinds) EXCEPT !.state = [r \in DOMAIN @ |-> IF @[r] = "flight" THEN "final" ELSE @[r]], !.flight = 0]

\* What somebody has asked for costs none of the automatic starts, and the shortest interval does not begin with it.
Charged(s, w, auto) ==
    IF auto THEN [s EXCEPT !.left = IF @ = NoLimit THEN @ ELSE @ - 1, !.last = w.now] ELSE s
Started(s, w, kinds, r) == Charged([With(s, r, "flight") EXCEPT !.flight = @ + 1], w, kinds[r].auto)
Waits(s, r) == [With(s, r, "wait") EXCEPT !.waiting = @ + 1]

Abs(x) == IF x < 0 THEN -x ELSE x
TooSoon(p, s, w) == s.last # Never /\ Abs(w.now - s.last) < p.shortest
Obstacle(p, s, w) == s.left = 0 \/ TooSoon(p, s, w)

ByVerdict(p, s, w, kinds, r) ==
    LET overlap == kinds[r].overlap
        verdict == Verdict(p, s, overlap)
        clear == IF verdict.supersede THEN Superseded(s, kinds, overlap) ELSE s
    IN CASE verdict.act = "start" -> Started(clear, w, kinds, r)
         [] verdict.act = "skip" -> With(clear, r, "final")
         [] verdict.act = "wait" -> Waits(clear, r)
         [] verdict.act = "terminate" -> Started(Terminated(clear, kinds), w, kinds, r)
         [] verdict.act = "cancel" ->
                IF InState(clear.state, "flight") \cap clear.mine # {}
                THEN Started(TakenBack(clear, kinds), w, kinds, r)
                ELSE [Waits(clear, r) EXCEPT !.cancel = TRUE]

\* tick and request: a tick meets limits first, and both a shadow and a paused target.
Judged(p, s, w, kinds, r) ==
    CASE p.shadow \/ r \in w.unwanted \/ (kinds[r].auto /\ Obstacle(p, s, w)) -> With(s, r, "final")
      [] OTHER -> IF r \notin w.stalled THEN ByVerdict(p, s, w, kinds, r)
                  ELSE IF s.waiting >= MaxBuffer THEN With(s, r, "final") ELSE Waits(s, r)

RECURSIVE JudgedAll(_, _, _, _, _)
JudgedAll(p, s, w, kinds, arrivals) ==
    IF arrivals = <<>> THEN s ELSE JudgedAll(p, Judged(p, s, w, kinds, Head(arrivals)), w, kinds, Tail(arrivals))

\* store/base.py, record: whoever is to be cancelled and is held by nobody has ended.
Recorded(s, drifting) ==
    IF ~s.cancel THEN s.state
    ELSE [r \in DOMAIN s.state |-> IF r \in drifting /\ s.state[r] = "flight" THEN "final" ELSE s.state[r]]

\* TLCEval, because TLC 2.15 evaluates the function of a LET lazily: with a quantifier before it, the same conjunction was
\* FALSE in one order and TRUE in the other.
Admitted(p, s, w, kinds, drifting, arrivals) == TLCEval(Recorded(JudgedAll(p, s, w, kinds, arrivals), drifting))

-----------------------------------------------------------------------------
(* plan/settle.py: release *)

Fits(p, s, kinds, r) ==
    LET chosen == IF kinds[r].overlap = "own" THEN p.overlap ELSE kinds[r].overlap
    IN p.shadow \/ chosen = "allow" \/ s.flight < p.slots

Smallest(set) == CHOOSE r \in set : \A other \in set : r <= other
Greatest(set) == CHOOSE r \in set : \A other \in set : r >= other

Left(p, s, w, kinds, held, r) ==
    LET gone == [s EXCEPT !.state[r] = "final", !.waiting = @ - 1]
        goes == [s EXCEPT !.state[r] = "flight", !.waiting = @ - 1, !.flight = @ + 1]
    IN IF r \in w.stalled \/ (held /\ kinds[r].auto) \/ ~Fits(p, s, kinds, r) THEN s
       ELSE IF p.shadow \/ (kinds[r].auto /\ Obstacle(p, s, w)) THEN gone
       ELSE Charged(goes, w, kinds[r].auto)

RECURSIVE ReleasedFrom(_, _, _, _, _, _)
ReleasedFrom(p, s, w, kinds, held, queue) ==
    IF queue = {} THEN s
    ELSE LET r == IF "fifo" \in Guards THEN Smallest(queue) ELSE Greatest(queue)
         IN ReleasedFrom(p, Left(p, s, w, kinds, held, r), w, kinds, held, queue \ {r})

Released(p, s, w, kinds, held) == TLCEval(ReleasedFrom(p, s, w, kinds, held, InState(s.state, "wait")))
==============================================================================
