----------------------------- MODULE OverlapTrace -----------------------------
(* Traces of the simulation, held against the model of overlap and buffer: each commit that started, queued, skipped or
   ended runs of a schedule must be one of the steps that the model knows, with exactly the result that it computes.

   Module Traces is written by tests/models.  A run is a number, in the order in which it would wait.  Of each commit it
   says when it was (now), what the schedule obeyed (policy, paused, left: how many automatic starts there were still to
   be, last: when the last one had been), which runs nobody held (adrift), whose target was paused (stalled), which ticks
   somebody had asked to skip (unwanted), which ticks and requests came, in their order (ticks), which runs an outcome has
   ended (ended), whether it deleted the schedule (closed), and what every run is then (state). *)
EXTENDS Admission, Traces

VARIABLES trace, step
vars == <<trace, step>>

Kinds == Traces[trace].kinds
Steps == Traces[trace].steps

Before(was, is) == Standing(was.state, is)

\* engine/steps/fire.py: waiting runs go first.  A paused schedule decides no ticks.  An instance that does not serve the
\* queue of the schedule releases runs without an owner, and a tick under cancel_other may end them in the same commit.
ByFire(was, is) ==
    LET ready == Released(is.policy, Before(was, is), is, Kinds, is.paused)
        released == {r \in DOMAIN was.state : was.state[r] = "wait" /\ ready.state[r] = "flight"}
    IN \E unowned \in {{}, released} :
           is.state = Admitted(is.policy, ready, is, Kinds, is.adrift \cup unowned, is.ticks)

\* engine/releasing.py, operations/control.py and engine/backfilling.py: nothing is released first.
ByArrival(was, is) == is.state = Admitted(is.policy, Before(was, is), is, Kinds, is.adrift, is.ticks)

\* operations/control.py: somebody asks for a run, and another that nobody held has ended by that: its slot is taken.
ByRequest(was, is) ==
    LET admitted == Admitted(is.policy, Before(was, is), is, Kinds, is.adrift, is.ticks)
    IN /\ Len(is.ticks) = 1 /\ ~Kinds[is.ticks[1]].auto
       /\ \E r \in is.adrift : was.state[r] = "flight" /\ admitted[r] = "final"
       /\ is.state = Released(is.policy, Standing(admitted, is), is, Kinds, is.paused).state

\* engine/settling.py
Without(states, gone) == [r \in DOMAIN states |-> IF r \in gone THEN "final" ELSE states[r]]
BySettling(was, is) ==
    /\ is.ticks = <<>> /\ is.ended # {}
    /\ is.state = Released(is.policy, Standing(Without(was.state, is.ended), is), is, Kinds, is.paused).state

\* operations/schedules.py: what waits is dropped, and so is what nobody holds.
ByDelete(was, is) ==
    /\ is.closed
    /\ is.state = Without(was.state, InState(was.state, "wait") \cup (is.adrift \cap InState(was.state, "flight")))

Explained(was, is) ==
    ByFire(was, is) \/ ByArrival(was, is) \/ ByRequest(was, is) \/ BySettling(was, is) \/ ByDelete(was, is)

Init == trace \in DOMAIN Traces /\ step = 1
Next == step < Len(Steps) /\ step' = step + 1 /\ UNCHANGED trace
TraceSpec == Init /\ [][Next]_vars

BornRight == step = 1 => \A r \in DOMAIN Steps[1].state : Steps[1].state[r] = "none"
EveryCommitIsAStep == step < Len(Steps) => Explained(Steps[step], Steps[step + 1])
==============================================================================
