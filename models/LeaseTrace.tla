------------------------------ MODULE LeaseTrace ------------------------------
(* Compares traces of the simulation with the model of leases and fences.  Each commit that changed the holder, the
   attempt or the end of a run must be a step of the model.

   tests/models writes the module Traces.  It has each run after each commit.  leaseExpired is TRUE if the commit
   ended the lapsed lease of the previous holder.  hasLease is TRUE if the new holder had a lease. *)
EXTENDS Attempt, Sequences, Traces

VARIABLES trace, step
vars == <<trace, step>>

Steps == Traces[trace]

IsStep(r, after) ==
    LET released == IF after.leaseExpired THEN ReleasedRun(r) ELSE r
        run == after.run
    IN \/ r.state = "none" /\ run = StartedRun(r, run.owner) /\ (run.owner # 0 => after.hasLease)
       \/ r.state = "none" /\ run.state = "final" /\ run.attempt = 0
       \* It left the queue, and another run terminated it in the same commit.
       \/ r.state = "none" /\ after.hasLease /\ run = TerminatedRun(StartedRun(r, run.owner))
       \/ after.leaseExpired /\ r.held /\ run = ReleasedRun(r)
       \/ Claimable(released) /\ after.hasLease /\ run = ClaimedRun(released, run.owner)
       \/ Readoptable(r, run.owner) /\ after.hasLease /\ run = ReadoptedRun(r)
       \/ AcceptsWrite(r, run.attempt) /\ run \in {FinishedRun(r), HandedBackRun(r)}
       \/ InFlight(r) /\ run = TerminatedRun(r)

Init == trace \in DOMAIN Traces /\ step = 1
Next == step < Len(Steps) /\ step' = step + 1 /\ UNCHANGED trace
TraceSpec == Init /\ [][Next]_vars

FirstStepIsCorrect == step = 1 => Steps[1].run = NoRun
EveryCommitIsAStep == step < Len(Steps) => IsStep(Steps[step].run, Steps[step + 1])
==============================================================================
