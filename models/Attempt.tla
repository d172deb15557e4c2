------------------------------- MODULE Attempt -------------------------------
(* What a statement does to one run: its owner, and its attempt, which is its fence.  Lease makes steps of these, and
   LeaseTrace holds them against the ledger. *)
EXTENDS Integers

CONSTANT Guards

Unborn == [state |-> "none", attempt |-> 0, owner |-> 0, held |-> FALSE]

InFlight(r) == r.state = "flight"

\* plan/decide.py and plan/settle.py: a run starts, with whoever decided it or with nobody yet.
Born(r, n) ==
    [r EXCEPT !.state = "flight", !.attempt = IF n = 0 THEN 0 ELSE 1, !.owner = n, !.held = n # 0]

\* expose_runs: its owner's lease is over; only what is held can be exposed.
Exposed(r) == IF InFlight(r) /\ r.held THEN [r EXCEPT !.held = FALSE] ELSE r

\* claim_runs: held by nobody; the next attempt is ours.
Claimable(r) == InFlight(r) /\ ~r.held
Claimed(r, n) == [r EXCEPT !.attempt = @ + 1, !.owner = n, !.held = TRUE]

\* adopt_runs: ours by the ledger, though we have not heard of it.
Adoptable(r, n) == InFlight(r) /\ r.held /\ r.owner = n
Adopted(r) == [r EXCEPT !.attempt = @ + 1]

\* settle_runs, finish_runs, hand_back: only for the holder of the fence, and only in flight.
Accepts(r, fence) == ("state" \in Guards => InFlight(r)) /\ ("fence" \in Guards => r.attempt = fence)
Finished(r) == [r EXCEPT !.state = "final", !.held = FALSE, !.owner = 0]
LeftBehind(r) == [r EXCEPT !.held = FALSE, !.owner = 0, !.attempt = IF "onward" \in Guards THEN @ ELSE 0]

\* terminate_runs, give_up_runs: a decision about the schedule, made under the lock of its state.
Overruled(r) == [r EXCEPT !.state = "final", !.held = FALSE]
==============================================================================
