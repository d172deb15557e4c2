"""Tompion against croniter, cronsim and croner, on expressions that are new at each run.

Whatever they disagree on must be one of the differences that are documented, and shown one by one by the examples.
``TOMPION_TEST_SEED`` draws other cases. The seed stands in every failure.
"""

from __future__ import annotations

import random
import sys

import pytest

from tests.conformance.peers.comparing import Outcome, Peer, Spec, ask, compare, draw_questions, explain
from tests.conformance.peers.croner_peer import run_driver
from tests.conformance.peers.examples import EXAMPLES, PEERS, Example, read_answer
from tests.oracle.walk import load_zone, offset_at
from tests.support.corpus import ZONES, all_transitions
from tests.support.seeds import suite_seed

EXPRESSIONS = 2_200
PLACES_EACH = 3
CHUNKS = 2
MOST_SHOWN = 20


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("peer", PEERS.values(), ids=PEERS)
def test_every_disagreement_is_documented(peer: Peer, chunk: int, capfd: pytest.CaptureFixture[str]) -> None:
    seed = suite_seed()
    rng = random.Random(f"{peer.name} {chunk} {seed}")
    questions = draw_questions(rng, peer, EXPRESSIONS // CHUNKS, PLACES_EACH)
    outcome = compare(peer, questions)
    with capfd.disabled():  # the seed is to be seen even when all is well
        sys.stderr.write(f"\n{peer.name} chunk {chunk}: TOMPION_TEST_SEED={seed}, {summary(outcome)}\n")
    assert len({question.expression for question in questions}) * CHUNKS >= 2_000
    assert outcome.agreed > 0.9 * outcome.questions
    shown = "\n".join(str(each) for each in outcome.unexplained[:MOST_SHOWN])
    assert not outcome.unexplained, f"seed {seed}, {len(outcome.unexplained)} that nothing predicts:\n{shown}"


def summary(outcome: Outcome) -> str:
    """One line for the log."""
    codes = ", ".join(f"{' and '.join(codes)}: {count}" for codes, count in outcome.codes.most_common())
    return f"{outcome.questions} questions, {outcome.agreed} agreed; {codes}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.peer}: {example.name}")
def test_documented_difference(example: Example) -> None:
    """Both answers are exactly these; and it is this difference, and no other, that predicts the peer's."""
    peer, question = PEERS[example.peer], example.question
    [theirs] = peer.answers([question])
    assert theirs == read_answer(example.theirs)
    assert ask(Spec(example.expression, example.zone), question) == read_answer(example.ours)
    assert explain(peer, question, theirs) == (example.code,)


@pytest.mark.parametrize("peer", PEERS.values(), ids=PEERS)
def test_every_difference_has_an_example(peer: Peer) -> None:
    assert len(set(peer.codes)) == len(peer.codes)
    assert {example.code for example in EXAMPLES if example.peer == peer.name} == set(peer.codes)


def test_example_names_are_unique() -> None:
    names = [(example.peer, example.name) for example in EXAMPLES]
    assert len(set(names)) == len(names)


def test_a_wrong_answer_is_never_explained() -> None:
    """The predictions are exact: an answer that is a little off, or arbitrary, is nobody's difference."""
    rng = random.Random(1)
    for peer in (PEERS["croniter"], PEERS["croner"]):
        for question in draw_questions(rng, peer, 50, 1):
            tick = ask(Spec(question.expression, question.zone), question)
            if tick is not None:
                assert explain(peer, question, tick + 7 * 3600 + 11) == ()


def test_node_has_the_same_zone_data() -> None:
    """Zones come from Node there; a disagreement about the zones themselves would be blamed on the rules."""
    changes = {zone: [place.instant for place in all_transitions() if place.zone == zone] for zone in ZONES}
    calm = range(500_000_000, 2_250_000_000, 1_300_000)  # twice a month, from 1985 to 2041
    asked = {zone: [*calm, *(at - nudge for at in instants for nudge in (0, 1))] for zone, instants in changes.items()}
    answered = run_driver(offsets=[{"zone": zone, "instants": instants} for zone, instants in asked.items()])
    assert answered["versions"]["croner"] == "11.0.0"
    for (zone, instants), offsets in zip(asked.items(), answered["offsets"], strict=True):
        ours = [offset_at(instant, load_zone(zone)) for instant in instants]
        assert offsets == ours, f"Node's tz {answered['versions']['tz']} differs in {zone}"
