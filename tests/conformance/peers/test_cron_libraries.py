"""Tompion compared with croniter, cronsim and croner, on random expressions.

Every disagreement must be a documented difference, and every documented difference has an example.
``TOMPION_TEST_SEED`` sets the seed. Every failure shows it.
"""

from __future__ import annotations

import random
import sys

import pytest

from tests.conformance.peers.comparison import Outcome, Peer, Spec, compare, draw_questions, explain, tompion_answer
from tests.conformance.peers.croner_peer import run_driver
from tests.conformance.peers.examples import EXAMPLES, PEERS, Example, read_answer
from tests.oracle.walk import load_zone, offset_at
from tests.support.corpus import ZONES, all_transitions
from tests.support.seeds import suite_seed

EXPRESSIONS = 2_200
PLACES_EACH = 3
CHUNKS = 2
MAX_LISTED = 20


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("peer", PEERS.values(), ids=PEERS)
def test_every_disagreement_is_a_documented_difference(
    peer: Peer, chunk: int, capfd: pytest.CaptureFixture[str]
) -> None:
    seed = suite_seed()
    rng = random.Random(f"{peer.name} {chunk} {seed}")
    questions = draw_questions(rng, peer, EXPRESSIONS // CHUNKS, PLACES_EACH)
    outcome = compare(peer, questions)
    with capfd.disabled():  # the seed is printed even if the test passes
        sys.stderr.write(f"\n{peer.name} chunk {chunk}: TOMPION_TEST_SEED={seed}, {format_outcome(outcome)}\n")
    assert len({question.expression for question in questions}) * CHUNKS >= 2_000
    assert outcome.agreed > 0.9 * outcome.questions
    listed = "\n".join(str(case) for case in outcome.unexplained[:MAX_LISTED])
    assert not outcome.unexplained, f"seed {seed}, {len(outcome.unexplained)} that no difference predicts:\n{listed}"


def format_outcome(outcome: Outcome) -> str:
    """Return one line for the log."""
    codes = ", ".join(f"{' and '.join(codes)}: {count}" for codes, count in outcome.codes.most_common())
    return f"{outcome.questions} questions, {outcome.agreed} agreed, {codes}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.peer}: {example.name}")
def test_answers_are_as_documented(example: Example) -> None:
    """Both answers are exactly as documented, and only this difference predicts the peer's answer."""
    peer, question = PEERS[example.peer], example.question
    [theirs] = peer.answers([question])
    assert theirs == read_answer(example.theirs)
    assert tompion_answer(Spec(example.expression, example.zone), question) == read_answer(example.ours)
    assert explain(peer, question, theirs) == (example.code,)


@pytest.mark.parametrize("peer", PEERS.values(), ids=PEERS)
def test_every_difference_has_a_documented_example(peer: Peer) -> None:
    assert len(set(peer.codes)) == len(peer.codes)
    assert {example.code for example in EXAMPLES if example.peer == peer.name} == set(peer.codes)


def test_example_names_are_unique() -> None:
    names = [(example.peer, example.name) for example in EXAMPLES]
    assert len(set(names)) == len(names)


def test_no_difference_predicts_a_wrong_answer() -> None:
    """The predictions are exact: no difference predicts a slightly wrong answer."""
    rng = random.Random(1)
    for peer in (PEERS["croniter"], PEERS["croner"]):
        for question in draw_questions(rng, peer, 50, 1):
            tick = tompion_answer(Spec(question.expression, question.zone), question)
            if tick is not None:
                assert explain(peer, question, tick + 7 * 3600 + 11) == ()


def test_node_has_the_same_time_zone_data() -> None:
    """Croner uses the zone data of Node. Different zone data would appear as disagreements about the rules."""
    changes = {zone: [place.instant for place in all_transitions() if place.zone == zone] for zone in ZONES}
    calm = range(500_000_000, 2_250_000_000, 1_300_000)  # twice a month, from 1985 to 2041
    queries = {
        zone: [*calm, *(at - nudge for at in instants for nudge in (0, 1))] for zone, instants in changes.items()
    }
    response = run_driver(offsets=[{"zone": zone, "instants": instants} for zone, instants in queries.items()])
    assert response["versions"]["croner"] == "11.0.0"
    for (zone, instants), offsets in zip(queries.items(), response["offsets"], strict=True):
        ours = [offset_at(instant, load_zone(zone)) for instant in instants]
        assert offsets == ours, f"Node's tz {response['versions']['tz']} differs in {zone}"
