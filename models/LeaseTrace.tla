------------------------------ MODULE LeaseTrace ------------------------------
(* Traces of the simulation, held against the model of leases and fences: each commit that changed who holds a run, its
   attempt, or whether it is over must be one of the steps that the model knows.

   Module Traces is written by tests/models: for each run of a trace what it was after each commit, and of that commit
   whether the lease of the one who held it was over and has been ended by it (over), and whether the one who holds it
   since then had a lease (leads). *)
EXTENDS Attempt, Sequences, Traces

VARIABLES trace, step
vars == <<trace, step>>

Steps == Traces[trace]

Explained(r, is) ==
    LET open == IF is.over THEN Exposed(r) ELSE r
        now == is.run
    IN \/ r.state = "none" /\ now = Born(r, now.owner) /\ (now.owner # 0 => is.leads)
       \/ r.state = "none" /\ now.state = "final" /\ now.attempt = 0
       \/ r.state = "none" /\ is.leads /\ now = Overruled(Born(r, now.owner))  \* it left the queue, for another to end it
       \/ is.over /\ r.held /\ now = Exposed(r)
       \/ Claimable(open) /\ is.leads /\ now = Claimed(open, now.owner)
       \/ Adoptable(r, now.owner) /\ is.leads /\ now = Adopted(r)
       \/ Accepts(r, now.attempt) /\ now \in {Finished(r), LeftBehind(r)}
       \/ InFlight(r) /\ now = Overruled(r)

Init == trace \in DOMAIN Traces /\ step = 1
Next == step < Len(Steps) /\ step' = step + 1 /\ UNCHANGED trace
TraceSpec == Init /\ [][Next]_vars

BornRight == step = 1 => Steps[1].run = Unborn
EveryCommitIsAStep == step < Len(Steps) => Explained(Steps[step].run, Steps[step + 1])
==============================================================================
