-------------------------------- MODULE Lease --------------------------------
(* One lease for an instance, the attempt as the fence of each run, and the rescue of what a dead worker held.

   A process joins under a new number, which has a lease.  Whatever takes runs is a transaction that first looks whether
   the lease is there, and shares a lock that keeps it there (Lead); then it takes and commits (Take, Rescue, Adopt,
   Settle).  Whoever rescues ends every lease that is over and that nobody just leads under, exposes what was held under
   it, and claims.

   Time is not counted: a lease may lapse at any moment, and a heartbeat that comes later than that makes it whole again
   unless somebody has ended it.  That is more than clocks allow, so what holds here holds for every lock_ttl_ms. *)
EXTENDS Attempt, FiniteSets

CONSTANTS
    Processes,
    Runs,
    MaxNumber,   \* how many times processes may join
    MaxAttempt,  \* how many times a run may be taken
    MaxStops,    \* how often a process may die
    Slow         \* processes whose lease may lapse while they live

VARIABLES
    lease,   \* of each number: "never", "held", "lapsed" or "ended"
    run,     \* of each run: [state, attempt, owner, held]
    number,  \* of each process: the one it works under, 0 for a process that is dead
    leads,   \* whether a process is in a transaction that takes runs
    known,   \* of each process: the attempts that it executes
    said,    \* of each process: the attempts that it knows the end of
    ended,   \* how many final records each run has had
    wrote,   \* the fence that the last write of a worker showed, and the one that was in force
    stops

vars == <<lease, run, number, leads, known, said, ended, wrote, stops>>
Numbers == 1..MaxNumber

-----------------------------------------------------------------------------
Init ==
    /\ lease = [n \in Numbers |-> "never"]
    /\ run = [r \in Runs |-> Unborn]
    /\ number = [p \in Processes |-> 0]
    /\ leads = [p \in Processes |-> FALSE]
    /\ known = [p \in Processes |-> {}]
    /\ said = [p \in Processes |-> {}]
    /\ ended = [r \in Runs |-> 0]
    /\ wrote = [fence |-> 0, due |-> 0]
    /\ stops = 0

Joins(p) ==
    \E n \in Numbers :
        /\ lease[n] = "never" /\ \A m \in Numbers : m < n => lease[m] # "never"
        /\ lease' = [lease EXCEPT ![n] = "held"]
        /\ number' = [number EXCEPT ![p] = n]

\* engine/membership.py: join.
Join(p) == number[p] = 0 /\ Joins(p) /\ UNCHANGED <<run, leads, known, said, ended, wrote, stops>>

\* membership.beat, and _join_again: whoever has lost its lease lets go of what it executes.  What has ended already is
\* still written, under the fence that it had.
Beat(p) ==
    /\ number[p] # 0 /\ lease[number[p]] \in {"lapsed", "ended"} /\ ~leads[p]
    /\ IF lease[number[p]] = "lapsed"
       THEN lease' = [lease EXCEPT ![number[p]] = "held"] /\ UNCHANGED <<number, known>>
       ELSE Joins(p) /\ known' = [known EXCEPT ![p] = {}]
    /\ UNCHANGED <<run, leads, said, ended, wrote, stops>>

Lapse(n) ==
    /\ lease[n] = "held" /\ \A p \in Processes : number[p] = n => p \in Slow
    /\ lease' = [lease EXCEPT ![n] = "lapsed"]
    /\ UNCHANGED <<run, number, leads, known, said, ended, wrote, stops>>

\* membership.leading: hold_lease, with its shared lock until the end of the transaction.
Lead(p) ==
    /\ number[p] # 0 /\ ~leads[p] /\ lease[number[p]] \in {"held", "lapsed"}
    /\ leads' = [leads EXCEPT ![p] = TRUE]
    /\ UNCHANGED <<lease, run, number, known, said, ended, wrote, stops>>

\* A transaction ends.  Its answer may be lost: then the process does not know what it has taken.
Answered(p, taken) ==
    /\ leads' = [leads EXCEPT ![p] = FALSE]
    /\ \/ known' = [known EXCEPT ![p] = @ \cup taken]
       \/ taken # {} /\ UNCHANGED known

\* engine/firing.py: a tick is decided, and starts here or, for another queue, with nobody.
Take(p, r) ==
    /\ leads[p] /\ run[r].state = "none"
    /\ \E n \in {number[p], 0} :
        /\ run' = [run EXCEPT ![r] = Born(@, n)]
        /\ Answered(p, IF n = 0 THEN {} ELSE {<<r, 1>>})
    /\ UNCHANGED <<lease, number, said, ended, wrote, stops>>

\* seize_lease: over, not our own, and nobody just leads under it.
Seizable(p) ==
    {n \in Numbers :
        /\ n # number[p]
        /\ lease[n] \in IF "expiry" \in Guards THEN {"lapsed"} ELSE {"held", "lapsed"}
        /\ "share" \in Guards => \A q \in Processes : number[q] = n => ~leads[q]}

\* engine/rescuing.py: claim.  How many it claims is limited; what it has exposed waits for the next.
Opened(p) == [r \in Runs |-> IF run[r].owner \in Seizable(p) THEN Exposed(run[r]) ELSE run[r]]
Free(p) == {r \in Runs : Claimable(Opened(p)[r]) /\ run[r].attempt < MaxAttempt}

Rescue(p, chosen) ==
    LET open == Opened(p)
    IN /\ leads[p] /\ chosen \subseteq Free(p)
       /\ Seizable(p) # {} \/ chosen # {}
       /\ run' = [r \in Runs |-> IF r \in chosen THEN Claimed(open[r], number[p]) ELSE open[r]]
       /\ Answered(p, {<<r, open[r].attempt + 1>> : r \in chosen})
       /\ lease' = [n \in Numbers |-> IF n \in Seizable(p) THEN "ended" ELSE lease[n]]
       /\ UNCHANGED <<number, said, ended, wrote, stops>>

\* engine/host.py: _adopt, after any failure and at every sweep.
Adopt(p) ==
    LET lost == {r \in Runs : /\ Adoptable(run[r], number[p]) /\ run[r].attempt < MaxAttempt
                              /\ <<r, run[r].attempt>> \notin known[p] \cup said[p]}
    IN /\ leads[p] /\ lost # {}
       /\ run' = [r \in Runs |-> IF r \in lost THEN Adopted(run[r]) ELSE run[r]]
       /\ Answered(p, {<<r, run[r].attempt + 1>> : r \in lost})
       /\ UNCHANGED <<lease, number, said, ended, wrote, stops>>

\* engine/launching.py: an attempt ends, whoever holds its run by now.
Execute(p) ==
    \E attempt \in known[p] :
        /\ known' = [known EXCEPT ![p] = @ \ {attempt}]
        /\ said' = [said EXCEPT ![p] = @ \cup {attempt}]
        /\ UNCHANGED <<lease, run, number, leads, ended, wrote, stops>>

Write(r, fence, written) ==
    IF Accepts(run[r], fence)
    THEN /\ run' = [run EXCEPT ![r] = written]
         /\ ended' = [ended EXCEPT ![r] = IF written.state = "final" THEN @ + 1 ELSE @]
         /\ wrote' = [fence |-> fence, due |-> run[r].attempt]
    ELSE UNCHANGED <<run, ended, wrote>>

\* engine/settling.py: final, or to be tried again.  Without an answer the outcome stays, and is written once more.
Settle(p) ==
    \E outcome \in said[p] :
        LET r == outcome[1]
        IN /\ leads[p]
           /\ Write(r, outcome[2], Finished(run[r])) \/ Write(r, outcome[2], LeftBehind(run[r]))
           /\ said' = [said EXCEPT ![p] = @ \ {outcome}] \/ UNCHANGED said
           /\ leads' = [leads EXCEPT ![p] = FALSE]
           /\ UNCHANGED <<lease, number, known, stops>>

\* engine/host.py: a stopping process gives back what it has not ended.  That takes nothing, and needs no lease.
HandBack(p) ==
    \E attempt \in known[p] :
        /\ Write(attempt[1], attempt[2], LeftBehind(run[attempt[1]]))
        /\ known' = [known EXCEPT ![p] = @ \ {attempt}]
        /\ UNCHANGED <<lease, number, leads, said, stops>>

\* plan/decide.py: another tick of the schedule, or a delete, ends what is in flight.
Overrule(r) ==
    /\ InFlight(run[r])
    /\ run' = [run EXCEPT ![r] = Overruled(@)]
    /\ ended' = [ended EXCEPT ![r] = @ + 1]
    /\ UNCHANGED <<lease, number, leads, known, said, wrote, stops>>

\* A process dies.  What it knew is gone, and its transaction with it.
Die(p) ==
    /\ number[p] # 0 /\ stops < MaxStops
    /\ stops' = stops + 1
    /\ number' = [number EXCEPT ![p] = 0]
    /\ leads' = [leads EXCEPT ![p] = FALSE]
    /\ known' = [known EXCEPT ![p] = {}]
    /\ said' = [said EXCEPT ![p] = {}]
    /\ UNCHANGED <<lease, run, ended, wrote>>

Step(p) ==
    \/ Join(p) \/ Beat(p) \/ Lead(p) \/ Adopt(p) \/ Execute(p) \/ Settle(p) \/ HandBack(p) \/ Die(p)
    \/ \E r \in Runs : Take(p, r)
    \/ \E chosen \in SUBSET Runs : Rescue(p, chosen)

Next == (\E p \in Processes : Step(p)) \/ (\E n \in Numbers : Lapse(n)) \/ (\E r \in Runs : Overrule(r))

LeaseSpec == Init /\ [][Next]_vars

\* For liveness: processes go on, time passes for the dead, and somebody rescues all that it may, again and again.
FairSpec ==
    /\ LeaseSpec
    /\ \A n \in Numbers : WF_vars(Lapse(n))
    /\ \A p \in Processes :
        /\ WF_vars(Join(p)) /\ WF_vars(Beat(p)) /\ WF_vars(Lead(p))
        /\ "rescue" \in Guards =>
            ([]<>(leads[p] /\ (Seizable(p) # {} \/ Free(p) # {})) => []<><<Rescue(p, Free(p))>>_vars)

-----------------------------------------------------------------------------
(* What is promised *)

TypeOK ==
    /\ \A n \in Numbers : lease[n] \in {"never", "held", "lapsed", "ended"}
    /\ \A r \in Runs : run[r].state \in {"none", "flight", "final"} /\ run[r].attempt \in 0..MaxAttempt

OneTerminalRecord == \A r \in Runs : ended[r] <= 1
FencedWritesOnly == wrote.fence = wrote.due

\* What is held is held under a lease that somebody can find to be over.
HeldUnderLease == \A r \in Runs : run[r].held => lease[run[r].owner] \in {"held", "lapsed"}

FenceMonotone == [][\A r \in Runs : run'[r].attempt >= run[r].attempt]_vars
FinalIsFinal == [][\A r \in Runs : run[r].state = "final" => run'[r] = run[r]]_vars
NeverTakenFromTheLiving ==
    [][\A r \in Runs : (run[r].held /\ run'[r].owner # run[r].owner /\ run'[r].attempt > run[r].attempt)
            => lease[run[r].owner] # "held"]_vars

Lost(r) == run[r].held /\ \A p \in Processes : number[p] # run[r].owner
Saved(r) == \/ run[r].state = "final" \/ run[r].attempt = MaxAttempt
            \/ run[r].held /\ \E p \in Processes : number[p] = run[r].owner
LostWorkerEventuallyRescued == \A r \in Runs : Lost(r) ~> Saved(r)
==============================================================================
