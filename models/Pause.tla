-------------------------------- MODULE Pause --------------------------------
(* Pause, resume and catch-up: once the cluster is stable, the ticks that a pause or an outage has missed are decided.

   The steps are those of Fire, with every guard.  "Stable" means that no instance crashes, the definition does not
   change, slots are free, and a user resumes every paused schedule.  MaxEdits bounds the number of pauses, except if
   EndlessPauses is TRUE.  Users who pause and resume without end, always between the query and the lock of an engine,
   can prevent every decision.  No scheduler that obeys a pause at once can guarantee more, so that configuration must
   fail. *)
EXTENDS Fire

CONSTANT EndlessPauses

\* As in Fire, but a resume does not count as an edit, because it must always be possible.
ResumeNow ==
    LET s == ResumedState(state, now, "policy")
        resumed == IF "nextFire" \in Guards THEN s ELSE [s EXCEPT !.nextFire = None]
    IN /\ state.paused /\ Unlocked
       /\ state' = resumed
       /\ UNCHANGED <<now, rows, decisions, decidedBy, ranges, coverage, session, edits>>

PauseAgain ==
    /\ EndlessPauses /\ ~state.paused /\ Unlocked
    /\ state' = PausedState(state, None)
    /\ UNCHANGED <<now, rows, decisions, decidedBy, ranges, coverage, session, edits>>

StableNext ==
    \/ Advance \/ ResumeNow \/ PauseAgain
    \/ \E i \in Instances : Engine(i, {FALSE})
    \/ \E u \in PauseLengths : ~state.paused /\ Pause(u)

\* The budget of missed ticks is refilled, so it does not stay empty.
Progress(i) ==
    /\ session[i].phase = "locked"
    /\ \E b \in 0..MaxBudget : (b > 0 \/ session[i].read.nextFire >= session[i].at - Grace) /\ Commit(i, b, FALSE)

\* Fairness, with each ENABLED written out.  Otherwise TLC would compute the whole decision of the planner for each
\* one.
PauseSpec ==
    /\ Init /\ [][StableNext]_vars
    /\ WF_vars(Advance)
    /\ <>[](state.paused /\ Unlocked) => []<><<ResumeNow>>_vars
    /\ \A i \in Instances :
        /\ WF_vars(Open(i)) /\ WF_vars(Lock(i))
        /\ []<>(session[i].phase = "locked") => []<><<Progress(i)>>_vars

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
