------------------------------- MODULE Overlap -------------------------------
(* Overlap and the buffer of one schedule: ticks and triggers that arrive while other runs are in flight or wait, runs
   that end, pauses and updates.  Everything happens under the lock of the state, so a transaction is one step. *)
EXTENDS Admission

CONSTANTS
    Ids,
    Policies,  \* the policies that an update may set: [overlap, slots, keep, shortest, shadow]
    Requests,  \* the overlap policies of triggers
    MaxEdits

VARIABLES
    state,       \* of each run: "none", "wait", "flight", "final"
    kind,        \* of each run: [auto, overlap], "own" for the policy of the schedule
    unheld,      \* runs in flight that no instance holds: a retry is due, or the instance has died
    policy,
    paused,
    releaseDue,  \* whether an engine must check the waiting runs
    edits

vars == <<state, kind, unheld, policy, paused, releaseDue, edits>>

-----------------------------------------------------------------------------
(* The steps of one schedule.  Ids come in the order of their numbers. *)

Init ==
    /\ state = [r \in Ids |-> "none"]
    /\ kind = [r \in Ids |-> [auto |-> TRUE, overlap |-> "own"]]
    /\ unheld = {}
    /\ policy \in Policies
    /\ paused = FALSE
    /\ releaseDue = FALSE
    /\ edits = 0

NewRuns == InState(state, "none")
UnheldIn(states) == unheld \cap InState(states, "flight")
TicksHeld == paused /\ "hold" \in Guards

\* engine/steps/fire.py: waiting runs go first, then the due ticks.  A paused schedule decides no ticks.
Fire(count) ==
    LET ready == ReleaseWaiting(policy, NewDecision(state, NoConstraints), NoConstraints, kind, TicksHeld)
        arrivals == [n \in 1..count |-> Smallest(NewRuns) + n - 1]
        after == IF paused THEN ready.state
                 ELSE StatesAfterAdmission(policy, ready, NoConstraints, kind, unheld, arrivals)
    IN /\ count <= Cardinality(NewRuns)
       /\ count > 0 \/ releaseDue
       /\ ~(paused /\ count > 0)
       /\ state' = after
       /\ unheld' = UnheldIn(after)
       /\ releaseDue' = (unheld # UnheldIn(after))
       /\ UNCHANGED <<kind, policy, paused, edits>>

\* operations/schedules/control.py: a trigger, also in a pause.  If it ends a run, the next waiting run starts at
\* once.
Trigger(overlap) ==
    LET r == Smallest(NewRuns)
        kinds == [kind EXCEPT ![r] = [auto |-> FALSE, overlap |-> overlap]]
        admitted == StatesAfterAdmission(policy, NewDecision(state, NoConstraints), NoConstraints, kinds, unheld, <<r>>)
        ended == unheld # UnheldIn(admitted)
        after == IF ~ended THEN admitted
                 ELSE LET decision == NewDecision(admitted, NoConstraints)
                      IN ReleaseWaiting(policy, decision, NoConstraints, kinds, TicksHeld).state
    IN /\ NewRuns # {}
       /\ kind' = kinds
       /\ state' = after
       /\ unheld' = UnheldIn(after)
       /\ releaseDue' = (releaseDue \/ ended)
       /\ UNCHANGED <<policy, paused, edits>>

\* engine/steps/settle.py: a run ends, and the run that waits for its slot starts in the same transaction.
Settle(r) ==
    LET freed == [state EXCEPT ![r] = "final"]
        after == IF "release" \notin Guards THEN freed
                 ELSE ReleaseWaiting(policy, NewDecision(freed, NoConstraints), NoConstraints, kind, TicksHeld).state
    IN /\ state[r] = "flight"
       /\ state' = after
       /\ unheld' = UnheldIn(after)
       /\ UNCHANGED <<kind, policy, paused, releaseDue, edits>>

\* A worker dies, or a run is retried.  An instance claims it later (Lease).
LoseHolder(r) ==
    /\ state[r] = "flight" /\ unheld' = unheld \cup {r}
    /\ UNCHANGED <<state, kind, policy, paused, releaseDue, edits>>
Claim(r) ==
    /\ r \in unheld /\ unheld' = unheld \ {r}
    /\ UNCHANGED <<state, kind, policy, paused, releaseDue, edits>>

\* operations/schedules/repository.py, save: an engine must check the waiting runs after a change.
MarkReleaseDue ==
    /\ releaseDue' = (releaseDue \/ ("wake" \in Guards /\ InState(state, "wait") # {}))
    /\ UNCHANGED <<state, kind, unheld>>

Pause == edits < MaxEdits /\ ~paused /\ paused' = TRUE /\ edits' = edits + 1 /\ MarkReleaseDue /\ UNCHANGED policy
Resume == paused /\ paused' = FALSE /\ MarkReleaseDue /\ UNCHANGED <<policy, edits>>
Update ==
    /\ edits < MaxEdits /\ edits' = edits + 1
    /\ \E p \in Policies : p # policy /\ policy' = p
    /\ MarkReleaseDue /\ UNCHANGED paused

Next ==
    \/ \E count \in 0..2 : Fire(count)
    \/ \E overlap \in Requests : Trigger(overlap)
    \/ \E r \in Ids : Settle(r) \/ LoseHolder(r) \/ Claim(r)
    \/ Pause \/ Resume \/ Update

OverlapSpec == Init /\ [][Next]_vars

\* For liveness: runs end, pauses end, and an engine checks the waiting runs if it must.
FairSpec ==
    /\ OverlapSpec
    /\ <>[]releaseDue => []<><<Fire(0)>>_vars
    /\ <>[]paused => []<><<Resume>>_vars
    /\ \A r \in Ids : <>[](state[r] = "flight") => []<><<Settle(r)>>_vars

-----------------------------------------------------------------------------
(* The guarantees *)

TypeOK == \A r \in Ids : state[r] \in {"none", "wait", "flight", "final"}

\* cancel_other and buffer_one keep one tick besides the other waiting runs.
BufferBounded == Cardinality(InState(state, "wait")) <= MaxBuffer + 1
QueueBounded == policy.overlap = "queue" /\ edits = 0 => Cardinality(InState(state, "wait")) <= MaxBuffer

NewStarts == InState(state', "flight") \ InState(state, "flight")
IsFree(r) == (IF kind'[r].overlap = "own" THEN policy.overlap ELSE kind'[r].overlap) = "allow"
FreeStarts == {r \in NewStarts : IsFree(r)}

OverlapRespected ==
    [][NewStarts # FreeStarts =>
        Cardinality(InState(state', "flight")) <= policy.slots + Cardinality(FreeStarts)]_vars

\* A run leaves the queue after all earlier ones, except ticks that a pause holds back.
FIFO ==
    [][\A r \in (NewStarts \cap InState(state, "wait")) \ FreeStarts :
        \A other \in InState(state', "wait") : other < r => (paused /\ kind[other].auto)]_vars

PausedHoldsTicks ==
    [][paused => \A r \in NewStarts : ~kind'[r].auto]_vars

BufferedEventuallyDecided == \A r \in Ids : (state[r] = "wait") ~> (state[r] # "wait")

-----------------------------------------------------------------------------
MakePolicy(overlap, slots, keep) ==
    [overlap |-> overlap, slots |-> slots, keep |-> keep, shortest |-> 0, shadow |-> FALSE]
Queues == {MakePolicy("queue", 1, "latest"), MakePolicy("skip", 1, "latest")}
Buffers ==
    {MakePolicy("buffer_one", 1, "latest"), MakePolicy("buffer_one", 1, "first"),
     MakePolicy("cancel_other", 1, "latest")}
AllPolicies ==
    Buffers \cup {MakePolicy("queue", 1, "latest"), MakePolicy("queue", 2, "latest"), MakePolicy("skip", 1, "latest"),
                  MakePolicy("allow", 1, "latest"), MakePolicy("terminate_other", 1, "latest")}
==============================================================================
