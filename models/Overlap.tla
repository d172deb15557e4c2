------------------------------- MODULE Overlap -------------------------------
(* Overlap and the buffer of one schedule: ticks and triggers that meet what runs and what waits, runs that end, pauses
   and updates in between.  Everything here happens under the lock of the state, so a transaction is one step. *)
EXTENDS Admission

CONSTANTS
    Ids,
    Policies,  \* what the schedule may be changed to: [overlap, slots, keep, shortest, shadow]
    Requests,  \* the overlap policies of triggers
    MaxEdits

VARIABLES
    state,    \* of each run: "none", "wait", "flight", "final"
    kind,     \* of each run: [auto, overlap], "own" for the schedule's policy
    adrift,   \* runs in flight that nobody holds: to be tried again, or left behind by somebody who has died
    policy,
    paused,
    stirred,  \* whether an engine is to look at what waits
    edits

vars == <<state, kind, adrift, policy, paused, stirred, edits>>

-----------------------------------------------------------------------------
(* The steps of one schedule.  Ids come in the order of their numbers. *)

Init ==
    /\ state = [r \in Ids |-> "none"]
    /\ kind = [r \in Ids |-> [auto |-> TRUE, overlap |-> "own"]]
    /\ adrift = {}
    /\ policy \in Policies
    /\ paused = FALSE
    /\ stirred = FALSE
    /\ edits = 0

Unborn == InState(state, "none")
Drifting(states) == adrift \cap InState(states, "flight")
Held == paused /\ "hold" \in Guards

\* engine/firing.py: what waits goes first, then the ticks that are due; none while the schedule is paused.
Fire(count) ==
    LET ready == Released(policy, Standing(state, Calm), Calm, kind, Held)
        arrivals == [n \in 1..count |-> Smallest(Unborn) + n - 1]
        after == IF paused THEN ready.state ELSE Admitted(policy, ready, Calm, kind, adrift, arrivals)
    IN /\ count <= Cardinality(Unborn)
       /\ count > 0 \/ stirred
       /\ ~(paused /\ count > 0)
       /\ state' = after
       /\ adrift' = Drifting(after)
       /\ stirred' = (adrift # Drifting(after))
       /\ UNCHANGED <<kind, policy, paused, edits>>

\* operations/control.py: whether or not the schedule is paused.  What waits for whoever has ended by that starts at once.
Trigger(overlap) ==
    LET r == Smallest(Unborn)
        kinds == [kind EXCEPT ![r] = [auto |-> FALSE, overlap |-> overlap]]
        admitted == Admitted(policy, Standing(state, Calm), Calm, kinds, adrift, <<r>>)
        ended == adrift # Drifting(admitted)
        after == IF ended THEN Released(policy, Standing(admitted, Calm), Calm, kinds, Held).state ELSE admitted
    IN /\ Unborn # {}
       /\ kind' = kinds
       /\ state' = after
       /\ adrift' = Drifting(after)
       /\ stirred' = (stirred \/ ended)
       /\ UNCHANGED <<policy, paused, edits>>

\* engine/settling.py: a run ends, and what waits for its slot starts in the same transaction.
Settle(r) ==
    LET freed == [state EXCEPT ![r] = "final"]
        after == IF "release" \in Guards THEN Released(policy, Standing(freed, Calm), Calm, kind, Held).state ELSE freed
    IN /\ state[r] = "flight"
       /\ state' = after
       /\ adrift' = Drifting(after)
       /\ UNCHANGED <<kind, policy, paused, stirred, edits>>

\* A worker dies, or a run is to be tried again; somebody picks it up later (Lease).
Drift(r) ==
    /\ state[r] = "flight" /\ adrift' = adrift \cup {r}
    /\ UNCHANGED <<state, kind, policy, paused, stirred, edits>>
Claim(r) ==
    /\ r \in adrift /\ adrift' = adrift \ {r}
    /\ UNCHANGED <<state, kind, policy, paused, stirred, edits>>

\* operations/editing.py, save: what waits is looked at, now that things are otherwise.
Edited ==
    /\ stirred' = (stirred \/ ("woken" \in Guards /\ InState(state, "wait") # {}))
    /\ UNCHANGED <<state, kind, adrift>>

Pause == edits < MaxEdits /\ ~paused /\ paused' = TRUE /\ edits' = edits + 1 /\ Edited /\ UNCHANGED policy
Resume == paused /\ paused' = FALSE /\ Edited /\ UNCHANGED <<policy, edits>>
Update ==
    /\ edits < MaxEdits /\ edits' = edits + 1
    /\ \E p \in Policies : p # policy /\ policy' = p
    /\ Edited /\ UNCHANGED paused

Next ==
    \/ \E count \in 0..2 : Fire(count)
    \/ \E overlap \in Requests : Trigger(overlap)
    \/ \E r \in Ids : Settle(r) \/ Drift(r) \/ Claim(r)
    \/ Pause \/ Resume \/ Update

OverlapSpec == Init /\ [][Next]_vars

\* For liveness: whatever runs ends, a pause is taken back, and an engine that is to look does.
FairSpec ==
    /\ OverlapSpec
    /\ <>[]stirred => []<><<Fire(0)>>_vars
    /\ <>[]paused => []<><<Resume>>_vars
    /\ \A r \in Ids : <>[](state[r] = "flight") => []<><<Settle(r)>>_vars

-----------------------------------------------------------------------------
(* What is promised *)

TypeOK == \A r \in Ids : state[r] \in {"none", "wait", "flight", "final"}

\* cancel_other and buffer_one keep one tick beside whatever else waits.
BufferBounded == Cardinality(InState(state, "wait")) <= MaxBuffer + 1
QueueBounded == policy.overlap = "queue" /\ edits = 0 => Cardinality(InState(state, "wait")) <= MaxBuffer

NewStarts == InState(state', "flight") \ InState(state, "flight")
IsFree(r) == (IF kind'[r].overlap = "own" THEN policy.overlap ELSE kind'[r].overlap) = "allow"
FreeStarts == {r \in NewStarts : IsFree(r)}

OverlapRespected ==
    [][NewStarts # FreeStarts =>
        Cardinality(InState(state', "flight")) <= policy.slots + Cardinality(FreeStarts)]_vars

\* Whoever leaves the queue leaves nobody behind who came earlier, and whom nothing else holds back.
FIFO ==
    [][\A r \in (NewStarts \cap InState(state, "wait")) \ FreeStarts :
        \A other \in InState(state', "wait") : other < r => (paused /\ kind[other].auto)]_vars

PausedHoldsTicks ==
    [][paused => \A r \in NewStarts : ~kind'[r].auto]_vars

BufferedEventuallyDecided == \A r \in Ids : (state[r] = "wait") ~> (state[r] # "wait")

-----------------------------------------------------------------------------
P(overlap, slots, keep) == [overlap |-> overlap, slots |-> slots, keep |-> keep, shortest |-> 0, shadow |-> FALSE]
Queues == {P("queue", 1, "latest"), P("skip", 1, "latest")}
Buffers == {P("buffer_one", 1, "latest"), P("buffer_one", 1, "first"), P("cancel_other", 1, "latest")}
Everything ==
    Buffers \cup {P("queue", 1, "latest"), P("queue", 2, "latest"), P("skip", 1, "latest"), P("allow", 1, "latest"),
                  P("terminate_other", 1, "latest")}
==============================================================================
