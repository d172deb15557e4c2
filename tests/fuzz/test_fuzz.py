"""The fuzzer for some cases, and everything it has ever found.

``python -m tests.fuzz --seconds 60`` is the long run.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter

import pytest
from schemathesis.core.failures import FailureGroup

from tests.fuzz import __main__ as command
from tests.fuzz import process, rest_sequences, search
from tests.fuzz.parsers import PARSERS, Broken, FuzzedParser, check_error
from tests.fuzz.rest_sequences import converse
from tests.fuzz.search import Misbehaved, Tally, judge, run_case, run_search
from tests.support.seeds import suite_seed
from tompion import InvalidSpec, Spec

CASES = 4_000
"""How many texts are tried: a number, because what two seconds are enough for depends on the machine."""
HOUR_S = 3_600.0
ROUNDS = 10
"""How many seeds are tried, at the most, until conversations have met what they must. What one seed meets changes with
every name in the description."""


def test_arbitrary_text_parses_or_raises_invalid_spec(capfd: pytest.CaptureFixture[str]) -> None:
    seed = suite_seed()
    with capfd.disabled():  # the seed is to be seen even when all is well
        sys.stderr.write(f"\nfuzz: python -m tests.fuzz --seed {seed}\n")
    tally = run_search(seed, HOUR_S, range(CASES))
    assert tally.cases == CASES
    assert set(tally.refused) == set(PARSERS), "a parser never rejected a text"


# ---------------------------------------------------------------- what was found

EVENT = "BEGIN:VCALENDAR\nBEGIN:VEVENT\n{}\nEND:VEVENT\nEND:VCALENDAR"

FOUND = [
    # numbers with more zeros than anyone writes
    ("cron, tompion", "0000059 * * * *"),
    ("cron, tompion", "*/0000015 * * * *"),
    ("cron, tompion", "0 0 * * FRI#00015"),
    ("calendar minute", "0" * 999 + "7"),
    # a step without a number
    ("cron, tompion", "*/ * * * *"),
    ("cron, tompion", "5/ * * * *"),
    # beyond the end of the week
    ("cron, tompion", "0 0 * * H(7-7)"),
    ("cron, tompion", "0 0 * * H(5-7)"),
    # zone names that are nearly right: the search for the right one took more than 5 ms
    ("cron, temporal", "TZ=As,a/Tokyo @hourly"),
    ("cron, tompion", "CRON_TZ=Europe/Be;rlin 0 9 * * 1 # standup"),
    ("cron, temporal", "CRON_TZ=ERI#urope/Berlin 0 9 * * 1 # standup"),
    ("compile", "TZ=Asia/T１okyo @hourly"),
    ("zone", "America/Argentina/" * 50),
    ("zone", "../../etc/passwd"),
    ("zone", "Europe/Berlin\0"),
    # from the first year to the last
    ("calendar year", "2200"),
    ("cron, tompion", "0 0 0 29 2 ? 2200"),
    # moments outside of what a datetime can hold, or with a line break in the middle
    ("icalendar", EVENT.format("DTSTART:00000101")),
    ("icalendar", EVENT.format("DTSTART:99991231\nDURATION:P9W")),
    ("icalendar", EVENT.format("DTSTART;TZID=UTC:00001231T235960Z\nDURATION:1w")),
    ("icalendar", EVENT.format("DTSTART:20260231")),
    ("window", "2026-03-29\n00:00"),
    ("time", "0001-01-01T00:00:00+23:59"),
    ("time", "9999-12-31T23:59:59-23:59"),
    ("start_at", "2026-01-01\ud80000:00"),
    # an all-day event every minute for fourteen years: a day's date, seven million times
    ("icalendar", EVENT.format("DTSTART:20261231\nRRULE:FREQ=MINUTELY;UNTIL=20400101;BYSECOND=0,30,60")),
    # names that the holidays library has, but not as countries
    ("json", '{"cron": "@daily", "exclude": {"holidays": ["country_holidays"]}}'),
    ("json", '{"cron": "@daily", "exclude": {"holidays": ["utils"]}}'),
    ("json", '{"cron": "@daily", "exclude": {"holidays": ["__class__"]}}'),
    ("json", '{"cron": "@daily", "exclude": {"holidays": ["DE-XX", ""]}}'),
    # invalid numbers, and far too many digits
    ("json", '{"intervals": [{"every": 1e400}]}'),
    ("json", '{"jitter_ms": ' + "9" * 5000 + "}"),
    ("json", '{"intervals": [' + "9" * 4000 + "]}"),
    ("duration", "9" * 5000),
    ("duration", "1s" * 5000),
    ("duration", "٣s"),
    # ranges that run backwards where nothing wraps
    ("json", '{"calendars": [{"year": [{"start": 2030, "end": 2026}]}]}'),
    ("json", '{"calendars": [{"hour": [{"start": 22, "end": 2}]}], "dialect": "temporal"}'),
    # other text that parsers trip over
    ("cron, tompion", ""),
    ("cron, tompion", "\0"),
    ("cron, tompion", "@"),
    ("cron, tompion", "@every"),
    ("cron, tompion", "@every 1h/"),
    ("cron, tompion", "@every " + "9" * 900 + "s"),
    ("cron, tompion", "TZ="),
    ("cron, tompion", "TZ==\t="),
    ("cron, tompion", "0 0 * * +"),
    ("cron, tompion", "+ + + + +"),
    ("cron, tompion", "# # # # #"),
    ("cron, tompion", " #" * 499),
    ("cron, tompion", "," * 1000),
    ("cron, tompion", "0," * 490 + "0 * * * *"),
    ("cron, tompion", "L-" + "9" * 900 + " * * * *"),
    ("cron, tompion", "0 0 L-" + "9" * 900 + " * *"),
    ("cron, tompion", "*" * 10_000),
    ("cron, tompion", "\u2003" * 1000),
    ("cron, quartz", "0 0 12 ? ? ?"),
    ("cron, temporal", "#"),
    ("rrule", "FREQ=SECONDLY;INTERVAL=999999999;BYMONTH=2;BYMONTHDAY=30"),
    ("rrule", "DTSTART:00010101T000000\nRRULE:FREQ=DAILY"),
    ("rrule", "DTSTART:99991231T235959\nRRULE:FREQ=SECONDLY"),
    ("rrule", "=;" * 4000),
    # TOML that its parser gives up on without saying so in its own way
    ("config file", "[limits]\ntick_ms = " + "9" * 5000),
    ("config file", "queues = " + "[" * 5000),
    ("config file", "a" + ".a" * 5000 + " = 1"),
    ("config file", "port = nan"),
    ("config file", "limits = 1"),
    ("config file", "issuer = [1]"),
    ("config variables", "TOMPION_PORT=" + "9" * 5000),
    ("config variables", "TOMPION_PORT=-8640"),
    ("config variables", "TOMPION_PUBLIC_URL=http://["),
    ("config variables", "TOMPION_HOSTS=\ud800"),
    # credentials that are nearly right, or nothing at all
    ("key", "tpn_0123456789ab_"),
    ("key", "tpn_" + "_" * 61),
    ("key", "tpn_0123456789ab_" + "ß" * 48),
    ("token", "a.b.c"),
    ("token", "=.=.="),
    ("token claims", "[" * 3000),
    ("token claims", '{"iss": "https://hmac.example", "exp": 1e400}'),
    ("token claims", '{"iss": ["https://hmac.example"]}'),
    # an instant that no float can hold, with a valid signature
    ("token claims", process.CLAIM_SEEDS[0].replace('"exp": 1', '"exp": 1' + "1" * 400)),
    ("token header", '{"alg": ["HS256"]}'),
    ("token header", '{"alg": "HS256", "alg": "none"}'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), FOUND)
def test_former_findings_stay_fixed(name: str, text: str) -> None:
    search.warm()
    judge(PARSERS[name], text, 0, Tally(), "regression", random.Random(0))


@pytest.mark.parametrize("depth", range(900, 1010, 2))
def test_deeply_nested_json_is_rejected(depth: int) -> None:
    """Just below the depth at which the decoder gives up, describing the value was too deep: a RecursionError."""
    with pytest.raises(InvalidSpec):
        Spec.from_json('{"cron": ' + "[" * depth + "]" * depth + "}")


# ---------------------------------------------------------------- conversations


def test_rest_sequences_match_the_description() -> None:
    """Requests that go on from an earlier answer reach what a request that stands alone does not."""
    met: Counter[str] = Counter()
    for seed in range(ROUNDS):
        met += converse(seed=seed, seconds=HOUR_S, most=4)
        if met["linked"] > 2 and met["status 200"] > 2:
            break
    assert met["linked"] > 2
    assert met["status 200"] > 2


def test_undescribed_response_ends_a_sequence(monkeypatch: pytest.MonkeyPatch) -> None:
    described = json.loads(json.dumps(rest_sequences.DOCUMENT))
    for methods in described["paths"].values():
        for operation in methods.values():
            for status in ("400", "404"):
                operation["responses"].pop(status, None)
    monkeypatch.setattr(rest_sequences, "DOCUMENT", described)
    with pytest.raises(FailureGroup, match="Undocumented status code"):
        converse(seed=1, seconds=HOUR_S, most=4)


# ---------------------------------------------------------------- the fuzzer itself can fail


def with_parser(monkeypatch: pytest.MonkeyPatch, parser: FuzzedParser) -> None:
    monkeypatch.setattr(search, "PARSERS", {parser.name: parser})


def refuse(problem: str, position: int | None = None) -> InvalidSpec:
    return InvalidSpec(problem, position=position, text="text")


def test_unexpected_exception_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(text: str) -> None:
        raise KeyError(text)

    with_parser(monkeypatch, FuzzedParser("broken", stumble, lambda _draw: "a\nb"))
    with pytest.raises(Misbehaved, match=r"seed 7, case 3: KeyError(.|\n)*text: 'a\\nb'"):
        run_case(7, 3, Tally())


def test_slow_text_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    with_parser(monkeypatch, FuzzedParser("slow", lambda text: Spec(cron=text), lambda _draw: "0 9 * * *", limit_s=0.0))
    with pytest.raises(Misbehaved, match="more than 0"):
        run_case(7, 3, Tally())


def test_endless_parser_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def loop(_text: str) -> None:
        while True:
            pass

    monkeypatch.setattr(search, "ENDLESS_S", 0.05)
    with_parser(monkeypatch, FuzzedParser("endless", loop, lambda _draw: "x"))
    with pytest.raises(Misbehaved, match="no end after"):
        run_case(7, 3, Tally())


@pytest.mark.parametrize("error", [refuse("outside", 5), refuse("outside", -1)])
def test_bad_message_is_detected(error: InvalidSpec) -> None:
    with pytest.raises(Broken):
        check_error(error)


def test_case_is_reproducible() -> None:
    def texts(seed: int) -> list[str]:
        return [PARSERS["json"].make(random.Random(f"{seed}/{number}")) for number in range(20)]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)


def test_command_prints_its_tally(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["fuzz", "--seconds", "0.2", "--seed", "5"])
    assert command.main() == 0
    written = capsys.readouterr().out
    assert written.startswith("seed 5\n")
    assert "per second" in written
    assert "slowest" in written


def test_command_fails_with_the_offending_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with_parser(monkeypatch, FuzzedParser("broken", lambda text: Spec(cron=int(text)), lambda _draw: "\ud800"))  # type: ignore[arg-type]  # on purpose
    monkeypatch.setattr(sys, "argv", ["fuzz", "--seconds", "1"])
    assert command.main() == 1
    assert "text: '\\ud800'" in capsys.readouterr().out
