----------------------------- MODULE OverlapTrace -----------------------------
(* Compares traces of the simulation with the model of overlap and buffer.  Each commit that started, queued, skipped
   or ended runs of a schedule must be a step of the model, with exactly the result that the model computes.

   tests/models writes the module Traces.  A run is a number, in the order in which runs wait.  A commit has:
     now           its time
     policy        the policy of the schedule
     paused        whether the schedule is paused
     left, last    the number of automatic starts that are left, and the time of the last one
     unheld        the runs in flight that no instance held
     targetPaused  the runs whose target was paused
     skipped       the ticks that a user wants to skip
     ticks         the ticks and requests of the commit, in their order
     ended         the runs that an outcome has ended
     closed        whether the commit deleted the schedule
     state         the state of every run after the commit *)
EXTENDS Admission, Traces

VARIABLES trace, step
vars == <<trace, step>>

Kinds == Traces[trace].kinds
Steps == Traces[trace].steps

DecisionBefore(before, after) == NewDecision(before.state, after)

\* engine/steps/fire.py: waiting runs go first.  A paused schedule decides no ticks.  An instance that does not serve the
\* queue of the schedule releases runs without an owner, and a tick under cancel_other may end them in the same commit.
ByFire(before, after) ==
    LET ready == ReleaseWaiting(after.policy, DecisionBefore(before, after), after, Kinds, after.paused)
        released == {r \in DOMAIN before.state : before.state[r] = "wait" /\ ready.state[r] = "flight"}
    IN \E unowned \in {{}, released} :
           after.state = StatesAfterAdmission(after.policy, ready, after, Kinds, after.unheld \cup unowned, after.ticks)

\* engine/steps/planned.py, engine/steps/backfill.py and operations/schedules/control.py: no waiting run goes first.
ByArrival(before, after) ==
    after.state =
        StatesAfterAdmission(after.policy, DecisionBefore(before, after), after, Kinds, after.unheld, after.ticks)

\* operations/schedules/control.py: a requested run ends an unheld run, and the next waiting run takes its slot.
ByRequest(before, after) ==
    LET decision == DecisionBefore(before, after)
        admitted == StatesAfterAdmission(after.policy, decision, after, Kinds, after.unheld, after.ticks)
    IN /\ Len(after.ticks) = 1 /\ ~Kinds[after.ticks[1]].auto
       /\ \E r \in after.unheld : before.state[r] = "flight" /\ admitted[r] = "final"
       /\ after.state = ReleaseWaiting(after.policy, NewDecision(admitted, after), after, Kinds, after.paused).state

\* engine/steps/settle.py
WithEnded(states, dropped) == [r \in DOMAIN states |-> IF r \in dropped THEN "final" ELSE states[r]]
BySettling(before, after) ==
    /\ after.ticks = <<>> /\ after.ended # {}
    /\ LET decision == NewDecision(WithEnded(before.state, after.ended), after)
       IN after.state = ReleaseWaiting(after.policy, decision, after, Kinds, after.paused).state

\* operations/schedules/crud.py: a delete drops waiting runs and runs that no instance holds.
ByDelete(before, after) ==
    /\ after.closed
    /\ LET unheldInFlight == after.unheld \cap InState(before.state, "flight")
       IN after.state = WithEnded(before.state, InState(before.state, "wait") \cup unheldInFlight)

IsStep(before, after) ==
    \/ ByFire(before, after) \/ ByArrival(before, after) \/ ByRequest(before, after)
    \/ BySettling(before, after) \/ ByDelete(before, after)

Init == trace \in DOMAIN Traces /\ step = 1
Next == step < Len(Steps) /\ step' = step + 1 /\ UNCHANGED trace
TraceSpec == Init /\ [][Next]_vars

FirstStepIsCorrect == step = 1 => \A r \in DOMAIN Steps[1].state : Steps[1].state[r] = "none"
EveryCommitIsAStep == step < Len(Steps) => IsStep(Steps[step], Steps[step + 1])
==============================================================================
