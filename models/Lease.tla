-------------------------------- MODULE Lease --------------------------------
(* One lease for each instance, the attempt as the fence of each run, and the rescue of the runs of a dead worker.

   A process registers as a new instance, which has a lease.  Each transaction that takes runs first checks the lease
   and takes a shared lock on it (BeginTransaction).  Then it changes runs and commits (StartRun, Rescue, Readopt,
   Settle).  A rescue ends every lapsed lease that no transaction has locked, releases the runs that were held under
   it, and claims runs.

   There is no clock.  A lease may lapse at any moment, and a later heartbeat renews it unless a rescue has ended it.
   Clocks allow less than that, so the guarantees hold for every lock_ttl_ms. *)
EXTENDS Attempt, FiniteSets

CONSTANTS
    Processes,
    Runs,
    MaxInstances,  \* the number of registrations
    MaxAttempt,    \* the number of attempts of a run
    MaxDeaths,     \* the number of deaths of processes
    MayLapse       \* processes whose lease may lapse while they live

VARIABLES
    lease,          \* of each instance: "never", "held", "lapsed" or "ended"
    run,            \* of each run: [state, attempt, owner, held]
    instance,       \* of each process: its registered instance, 0 for a dead process
    inTransaction,  \* of each process: whether it is in a transaction that takes runs
    executing,      \* of each process: the attempts that it executes
    outcomes,       \* of each process: the finished attempts whose outcome is not written yet
    finalRecords,   \* of each run: the number of its final records
    lastWrite,      \* the fence of the last write of a worker, and the current fence at that time
    deaths

vars == <<lease, run, instance, inTransaction, executing, outcomes, finalRecords, lastWrite, deaths>>
InstanceIds == 1..MaxInstances

-----------------------------------------------------------------------------
Init ==
    /\ lease = [n \in InstanceIds |-> "never"]
    /\ run = [r \in Runs |-> NoRun]
    /\ instance = [p \in Processes |-> 0]
    /\ inTransaction = [p \in Processes |-> FALSE]
    /\ executing = [p \in Processes |-> {}]
    /\ outcomes = [p \in Processes |-> {}]
    /\ finalRecords = [r \in Runs |-> 0]
    /\ lastWrite = [fence |-> 0, current |-> 0]
    /\ deaths = 0

RegisterAsNew(p) ==
    \E n \in InstanceIds :
        /\ lease[n] = "never" /\ \A m \in InstanceIds : m < n => lease[m] # "never"
        /\ lease' = [lease EXCEPT ![n] = "held"]
        /\ instance' = [instance EXCEPT ![p] = n]

\* engine/lease.py: register.
Register(p) ==
    /\ instance[p] = 0 /\ RegisterAsNew(p)
    /\ UNCHANGED <<run, inTransaction, executing, outcomes, finalRecords, lastWrite, deaths>>

\* engine/lease.py: renew and replace.  A process that has lost its lease stops executing its runs.  It still writes
\* the outcomes of finished attempts, with their old fence.
Renew(p) ==
    /\ instance[p] # 0 /\ lease[instance[p]] \in {"lapsed", "ended"} /\ ~inTransaction[p]
    /\ IF lease[instance[p]] = "lapsed"
       THEN lease' = [lease EXCEPT ![instance[p]] = "held"] /\ UNCHANGED <<instance, executing>>
       ELSE RegisterAsNew(p) /\ executing' = [executing EXCEPT ![p] = {}]
    /\ UNCHANGED <<run, inTransaction, outcomes, finalRecords, lastWrite, deaths>>

Lapse(n) ==
    /\ lease[n] = "held" /\ \A p \in Processes : instance[p] = n => p \in MayLapse
    /\ lease' = [lease EXCEPT ![n] = "lapsed"]
    /\ UNCHANGED <<run, instance, inTransaction, executing, outcomes, finalRecords, lastWrite, deaths>>

\* engine/step_runner.py: in_transaction.  The statement lease_hold has a shared lock until the end of the
\* transaction.
BeginTransaction(p) ==
    /\ instance[p] # 0 /\ ~inTransaction[p] /\ lease[instance[p]] \in {"held", "lapsed"}
    /\ inTransaction' = [inTransaction EXCEPT ![p] = TRUE]
    /\ UNCHANGED <<lease, run, instance, executing, outcomes, finalRecords, lastWrite, deaths>>

\* A transaction ends.  If its response is lost, the process does not know which runs it has claimed.
EndTransaction(p, claimed) ==
    /\ inTransaction' = [inTransaction EXCEPT ![p] = FALSE]
    /\ \/ executing' = [executing EXCEPT ![p] = @ \cup claimed]
       \/ claimed # {} /\ UNCHANGED executing

\* engine/steps/fire.py: a tick is decided.  It starts here or, for another queue, without an owner.
StartRun(p, r) ==
    /\ inTransaction[p] /\ run[r].state = "none"
    /\ \E n \in {instance[p], 0} :
        /\ run' = [run EXCEPT ![r] = StartedRun(@, n)]
        /\ EndTransaction(p, IF n = 0 THEN {} ELSE {<<r, 1>>})
    /\ UNCHANGED <<lease, instance, outcomes, finalRecords, lastWrite, deaths>>

\* lease_expire_one: a lapsed lease of another instance that no transaction has locked.
ExpiredLeases(p) ==
    {n \in InstanceIds :
        /\ n # instance[p]
        /\ lease[n] \in IF "expiry" \in Guards THEN {"lapsed"} ELSE {"held", "lapsed"}
        /\ "share" \in Guards => \A q \in Processes : instance[q] = n => ~inTransaction[q]}

\* engine/steps/rescue.py: claim.  It claims a limited number of runs.  The others wait for the next rescue.
RunsAfterExpiry(p) == [r \in Runs |-> IF run[r].owner \in ExpiredLeases(p) THEN ReleasedRun(run[r]) ELSE run[r]]
ClaimableRuns(p) == {r \in Runs : Claimable(RunsAfterExpiry(p)[r]) /\ run[r].attempt < MaxAttempt}

Rescue(p, chosen) ==
    LET released == RunsAfterExpiry(p)
    IN /\ inTransaction[p] /\ chosen \subseteq ClaimableRuns(p)
       /\ ExpiredLeases(p) # {} \/ chosen # {}
       /\ run' = [r \in Runs |-> IF r \in chosen THEN ClaimedRun(released[r], instance[p]) ELSE released[r]]
       /\ EndTransaction(p, {<<r, released[r].attempt + 1>> : r \in chosen})
       /\ lease' = [n \in InstanceIds |-> IF n \in ExpiredLeases(p) THEN "ended" ELSE lease[n]]
       /\ UNCHANGED <<instance, outcomes, finalRecords, lastWrite, deaths>>

\* engine/finder.py: _reconcile, after any failure and at every sweep.
Readopt(p) ==
    LET unknownRuns == {r \in Runs : /\ Readoptable(run[r], instance[p]) /\ run[r].attempt < MaxAttempt
                                     /\ <<r, run[r].attempt>> \notin executing[p] \cup outcomes[p]}
    IN /\ inTransaction[p] /\ unknownRuns # {}
       /\ run' = [r \in Runs |-> IF r \in unknownRuns THEN ReadoptedRun(run[r]) ELSE run[r]]
       /\ EndTransaction(p, {<<r, run[r].attempt + 1>> : r \in unknownRuns})
       /\ UNCHANGED <<lease, instance, outcomes, finalRecords, lastWrite, deaths>>

\* engine/execution/launcher.py: an attempt ends.  Another instance may hold its run by then.
Execute(p) ==
    \E attempt \in executing[p] :
        /\ executing' = [executing EXCEPT ![p] = @ \ {attempt}]
        /\ outcomes' = [outcomes EXCEPT ![p] = @ \cup {attempt}]
        /\ UNCHANGED <<lease, run, instance, inTransaction, finalRecords, lastWrite, deaths>>

Write(r, fence, written) ==
    IF AcceptsWrite(run[r], fence)
    THEN /\ run' = [run EXCEPT ![r] = written]
         /\ finalRecords' = [finalRecords EXCEPT ![r] = IF written.state = "final" THEN @ + 1 ELSE @]
         /\ lastWrite' = [fence |-> fence, current |-> run[r].attempt]
    ELSE UNCHANGED <<run, finalRecords, lastWrite>>

\* engine/steps/settle.py: the run becomes final, or is retried.  Without a response, the outcome is written again.
Settle(p) ==
    \E outcome \in outcomes[p] :
        LET r == outcome[1]
        IN /\ inTransaction[p]
           /\ Write(r, outcome[2], FinishedRun(run[r])) \/ Write(r, outcome[2], HandedBackRun(run[r]))
           /\ outcomes' = [outcomes EXCEPT ![p] = @ \ {outcome}] \/ UNCHANGED outcomes
           /\ inTransaction' = [inTransaction EXCEPT ![p] = FALSE]
           /\ UNCHANGED <<lease, instance, executing, deaths>>

\* engine/outcome_writer.py: a stopping process hands back its unfinished runs.  It takes no run, so it needs no
\* lease.
HandBack(p) ==
    \E attempt \in executing[p] :
        /\ Write(attempt[1], attempt[2], HandedBackRun(run[attempt[1]]))
        /\ executing' = [executing EXCEPT ![p] = @ \ {attempt}]
        /\ UNCHANGED <<lease, instance, inTransaction, outcomes, deaths>>

\* plan/decide.py: another tick of the schedule, or a delete, ends the runs in flight.
Terminate(r) ==
    /\ InFlight(run[r])
    /\ run' = [run EXCEPT ![r] = TerminatedRun(@)]
    /\ finalRecords' = [finalRecords EXCEPT ![r] = @ + 1]
    /\ UNCHANGED <<lease, instance, inTransaction, executing, outcomes, lastWrite, deaths>>

\* A process dies.  It loses its memory, and its transaction is rolled back.
Die(p) ==
    /\ instance[p] # 0 /\ deaths < MaxDeaths
    /\ deaths' = deaths + 1
    /\ instance' = [instance EXCEPT ![p] = 0]
    /\ inTransaction' = [inTransaction EXCEPT ![p] = FALSE]
    /\ executing' = [executing EXCEPT ![p] = {}]
    /\ outcomes' = [outcomes EXCEPT ![p] = {}]
    /\ UNCHANGED <<lease, run, finalRecords, lastWrite>>

Step(p) ==
    \/ Register(p) \/ Renew(p) \/ BeginTransaction(p) \/ Readopt(p) \/ Execute(p) \/ Settle(p) \/ HandBack(p) \/ Die(p)
    \/ \E r \in Runs : StartRun(p, r)
    \/ \E chosen \in SUBSET Runs : Rescue(p, chosen)

Next == (\E p \in Processes : Step(p)) \/ (\E n \in InstanceIds : Lapse(n)) \/ (\E r \in Runs : Terminate(r))

LeaseSpec == Init /\ [][Next]_vars

\* For liveness: processes continue, leases of dead processes lapse, and rescues claim every run that they can.
FairSpec ==
    /\ LeaseSpec
    /\ \A n \in InstanceIds : WF_vars(Lapse(n))
    /\ \A p \in Processes :
        /\ WF_vars(Register(p)) /\ WF_vars(Renew(p)) /\ WF_vars(BeginTransaction(p))
        /\ "rescue" \in Guards =>
            ([]<>(inTransaction[p] /\ (ExpiredLeases(p) # {} \/ ClaimableRuns(p) # {}))
                => []<><<Rescue(p, ClaimableRuns(p))>>_vars)

-----------------------------------------------------------------------------
(* The guarantees *)

TypeOK ==
    /\ \A n \in InstanceIds : lease[n] \in {"never", "held", "lapsed", "ended"}
    /\ \A r \in Runs : run[r].state \in {"none", "flight", "final"} /\ run[r].attempt \in 0..MaxAttempt

OneTerminalRecord == \A r \in Runs : finalRecords[r] <= 1
FencedWritesOnly == lastWrite.fence = lastWrite.current

\* A held run is under a lease whose end a rescue can detect.
HeldUnderLease == \A r \in Runs : run[r].held => lease[run[r].owner] \in {"held", "lapsed"}

FenceMonotone == [][\A r \in Runs : run'[r].attempt >= run[r].attempt]_vars
FinalIsFinal == [][\A r \in Runs : run[r].state = "final" => run'[r] = run[r]]_vars
NoClaimWhileLeaseIsHeld ==
    [][\A r \in Runs : (run[r].held /\ run'[r].owner # run[r].owner /\ run'[r].attempt > run[r].attempt)
            => lease[run[r].owner] # "held"]_vars

IsOrphaned(r) == run[r].held /\ \A p \in Processes : instance[p] # run[r].owner
IsRecovered(r) ==
    \/ run[r].state = "final" \/ run[r].attempt = MaxAttempt
    \/ run[r].held /\ \E p \in Processes : instance[p] = run[r].owner
LostWorkerEventuallyRescued == \A r \in Runs : IsOrphaned(r) ~> IsRecovered(r)
==============================================================================
