------------------------------ MODULE Admission ------------------------------
(* Whether a run starts, waits or is skipped, and what it does to the runs that it meets: plan/admit.py, the judging half
   of plan/decide.py, and release in plan/settle.py, with the same branches in the same order.  Overlap makes steps of
   these, and OverlapTrace holds them against the ledger.

   A run is a number, in the order in which runs wait: the smaller one is released first. *)
EXTENDS Integers, FiniteSets, Sequences

CONSTANTS MaxBuffer, Guards

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
(* plan/decide.py.  A standing is what a Decision holds: the rows, its two counters, and which rows are its own. *)

Standing(states) ==
    [state |-> states, flight |-> Cardinality(InState(states, "flight")),
     waiting |-> Cardinality(InState(states, "wait")), mine |-> {}, cancel |-> FALSE]

With(s, r, which) == [s EXCEPT !.state[r] = which, !.mine = @ \cup {r}]

Superseded(s, kinds, overlap) ==
    LET same == {r \in InState(s.state, "wait") : kinds[r].overlap = overlap}
    IN [s EXCEPT !.state = [r \in DOMAIN @ |-> IF r \in same THEN "final" ELSE @[r]],
                 !.waiting = @ - Cardinality(same \cap s.mine)]

TakenBack(s) ==
    LET hand == InState(s.state, "flight") \cap s.mine
    IN [s EXCEPT !.state = [r \in DOMAIN @ |-> IF r \in hand THEN "final" ELSE @[r]],
                 !.flight = @ - Cardinality(hand)]

Terminated(s) ==
    [s EXCEPT !.state = [r \in DOMAIN @ |-> IF @[r] = "flight" THEN "final" ELSE @[r]], !.flight = 0]

Started(s, r) == [With(s, r, "flight") EXCEPT !.flight = @ + 1]
Waits(s, r) == [With(s, r, "wait") EXCEPT !.waiting = @ + 1]

Judged(p, s, kinds, r) ==
    LET overlap == kinds[r].overlap
        verdict == Verdict(p, s, overlap)
        clear == IF verdict.supersede THEN Superseded(s, kinds, overlap) ELSE s
    IN CASE verdict.act = "start" -> Started(clear, r)
         [] verdict.act = "skip" -> With(clear, r, "final")
         [] verdict.act = "wait" -> Waits(clear, r)
         [] verdict.act = "terminate" -> Started(Terminated(clear), r)
         [] verdict.act = "cancel" ->
                IF InState(clear.state, "flight") \cap clear.mine # {} THEN Started(TakenBack(clear), r)
                ELSE [Waits(clear, r) EXCEPT !.cancel = TRUE]

RECURSIVE JudgedAll(_, _, _, _)
JudgedAll(p, s, kinds, arrivals) ==
    IF arrivals = <<>> THEN s ELSE JudgedAll(p, Judged(p, s, kinds, Head(arrivals)), kinds, Tail(arrivals))

\* store/base.py, record: whoever is to be cancelled and is held by nobody has ended.
Recorded(s, drifting) ==
    IF ~s.cancel THEN s.state
    ELSE [r \in DOMAIN s.state |-> IF r \in drifting /\ s.state[r] = "flight" THEN "final" ELSE s.state[r]]

Admitted(p, states, kinds, drifting, arrivals) ==
    Recorded(JudgedAll(p, Standing(states), kinds, arrivals), drifting)

-----------------------------------------------------------------------------
(* plan/settle.py: release *)

Fits(p, states, kinds, r) ==
    LET chosen == IF kinds[r].overlap = "own" THEN p.overlap ELSE kinds[r].overlap
    IN chosen = "allow" \/ Cardinality(InState(states, "flight")) < p.slots

Smallest(set) == CHOOSE r \in set : \A other \in set : r <= other
Greatest(set) == CHOOSE r \in set : \A other \in set : r >= other

RECURSIVE ReleasedFrom(_, _, _, _, _)
ReleasedFrom(p, states, kinds, held, queue) ==
    IF queue = {} THEN states
    ELSE LET r == IF "fifo" \in Guards THEN Smallest(queue) ELSE Greatest(queue)
             goes == ~(held /\ kinds[r].auto) /\ Fits(p, states, kinds, r)
         IN ReleasedFrom(p, IF goes THEN [states EXCEPT ![r] = "flight"] ELSE states, kinds, held, queue \ {r})

Released(p, states, kinds, held) == ReleasedFrom(p, states, kinds, held, InState(states, "wait"))
==============================================================================
