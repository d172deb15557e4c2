-------------------------------- MODULE Pause --------------------------------
(* Pause, resume and catch-up: once the cluster is stable, what a pause or an outage has missed is decided.

   The steps are those of Fire, with every guard.  "Stable" means: no instance dies any more, the definition stays, slots
   are free, and somebody resumes whatever is paused.  Pauses are bounded by MaxEdits, except where Storm is TRUE: people who pause and
   resume for ever, always between an engine's look and its lock, can keep it from ever deciding anything.  No scheduler
   that obeys a pause at once can promise more, so that configuration is expected to fail. *)
EXTENDS Fire

CONSTANT Storm

\* As in Fire, but taking back a pause is not counted among the edits: it must never be too late for it.
ResumeNow ==
    LET d == Resumed(state, now, "policy")
        left == IF "aim" \in Guards THEN d ELSE [d EXCEPT !.look = None]
    IN /\ state.paused /\ Free
       /\ state' = left
       /\ UNCHANGED <<now, rows, times, under, spans, ruled, mind, edits>>

PauseAgain ==
    /\ Storm /\ ~state.paused /\ Free
    /\ state' = Paused(state, None)
    /\ UNCHANGED <<now, rows, times, under, spans, ruled, mind, edits>>

StableNext ==
    \/ Advance \/ ResumeNow \/ PauseAgain
    \/ \E i \in Instances : Engine(i, {FALSE})
    \/ \E u \in Untils : ~state.paused /\ Pause(u)

\* The budget of missed ticks is refilled: it is not empty for ever.
Progress(i) ==
    /\ mind[i].phase = "holds"
    /\ \E b \in 0..MaxBudget : (b > 0 \/ mind[i].read.look >= mind[i].at - Grace) /\ Commit(i, b, FALSE)

\* Fairness, with each ENABLED written out: TLC would compute the planner's whole decision for it, again and again.
PauseSpec ==
    /\ Init /\ [][StableNext]_vars
    /\ WF_vars(Advance)
    /\ <>[](state.paused /\ Free) => []<><<ResumeNow>>_vars
    /\ \A i \in Instances :
        /\ WF_vars(Open(i)) /\ WF_vars(Lock(i))
        /\ []<>(mind[i].phase = "holds") => []<><<Progress(i)>>_vars

LastTick == Max(Ticks[1])
AtTheEnd == now = Last
CatchUpEventuallyEnqueued == Policies[1].catchup = "all" => (AtTheEnd ~> \A t \in Ticks[1] : rows[t] = 1)
CoalescedEventuallyEnqueued == Policies[1].catchup = "coalesce" => (AtTheEnd ~> rows[LastTick] = 1)
EveryTickEventuallyDecided == AtTheEnd ~> state.cursor >= LastTick

OneVersion == <<{1, 2, 3}>>
OneSpec == <<"each">>
CatchAll == <<[catchup |-> "all", window |-> None, onResume |-> "policy"]>>
Coalesce == <<[catchup |-> "coalesce", window |-> None, onResume |-> "policy"]>>
Spread == <<[catchup |-> "spread", window |-> None, onResume |-> "policy"]>>
==============================================================================
