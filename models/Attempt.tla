------------------------------- MODULE Attempt -------------------------------
(* The effect of each statement on one run: its owner, and its attempt, which is its fence.  Lease builds steps from
   these operators, and LeaseTrace compares them with the ledger. *)
EXTENDS Integers

CONSTANT Guards

NoRun == [state |-> "none", attempt |-> 0, owner |-> 0, held |-> FALSE]

InFlight(r) == r.state = "flight"

\* plan/decide.py and plan/release.py: a run starts on the instance that decided it (n), or without an owner (0).
StartedRun(r, n) ==
    [r EXCEPT !.state = "flight", !.attempt = IF n = 0 THEN 0 ELSE 1, !.owner = n, !.held = n # 0]

\* run_release_expired: the lease of the owner has ended.  Only a held run changes.
ReleasedRun(r) == IF InFlight(r) /\ r.held THEN [r EXCEPT !.held = FALSE] ELSE r

\* run_claim: no instance holds the run.  Instance n starts the next attempt.
Claimable(r) == InFlight(r) /\ ~r.held
ClaimedRun(r, n) == [r EXCEPT !.attempt = @ + 1, !.owner = n, !.held = TRUE]

\* run_readopt: the ledger has instance n as the owner, but n does not execute the run.
Readoptable(r, n) == InFlight(r) /\ r.held /\ r.owner = n
ReadoptedRun(r) == [r EXCEPT !.attempt = @ + 1]

\* run_settle, run_finish_fast, run_hand_back: accepted with the current fence only, and only in flight.
AcceptsWrite(r, fence) == ("state" \in Guards => InFlight(r)) /\ ("fence" \in Guards => r.attempt = fence)
FinishedRun(r) == [r EXCEPT !.state = "final", !.held = FALSE, !.owner = 0]
HandedBackRun(r) == [r EXCEPT !.held = FALSE, !.owner = 0, !.attempt = IF "attempt" \in Guards THEN @ ELSE 0]

\* run_terminate_in_flight, run_give_up_unheld: a decision about the schedule, under the lock of its state.
TerminatedRun(r) == [r EXCEPT !.state = "final", !.held = FALSE]
==============================================================================
