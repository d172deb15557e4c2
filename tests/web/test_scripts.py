"""Hundreds of texts that would do something if the page took them for more than text, wherever one can be written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Dialog, Page, Request, expect

from tests.support.service import Http
from tests.web.conftest import MS
from tests.web.kit import Service
from tests.web.payloads import ALL, MARK, NOWHERE
from tompion.client import Client

FAR = "0 0 1 1 *"
TALL = 40_000
"""A window in which every row of a list is shown."""
ATTACKS = """
import json, pathlib
TEXTS = json.loads(pathlib.Path("payloads.json").read_text())

def says(**given):
    return TEXTS

def fails(**given):
    raise ValueError("\\n".join(TEXTS))
"""
WATCH = """
window.refused = []
document.addEventListener('securitypolicyviolation', event => refused.push(event.violatedDirective + event.sample))
"""
LOOK = """mark => ({
    pwned: typeof pwned !== 'undefined' || ({}).pwned !== undefined,
    refused: window.refused,
    text: document.body.innerText + [...document.querySelectorAll('input, textarea')].map(each => each.value).join(' '),
    strange: [...document.querySelectorAll('*')].filter(each =>
        each.hasAttribute(mark)
        || ['IFRAME', 'OBJECT', 'EMBED', 'BASE', 'FRAMESET', 'PORTAL', 'APPLET', 'MARQUEE', 'PLAINTEXT', 'XMP', 'MATH']
            .includes(each.tagName.toUpperCase())
        || (each.tagName === 'SCRIPT' && !each.getAttribute('src')?.startsWith('/assets/'))
        || (each.tagName === 'META' && each.httpEquiv)
        || [...each.attributes].some(({name, value}) => /^on/i.test(name) || name === 'srcdoc' || (
            /^(href|src|data|action|formaction|xlink:href|poster|background|srcset|ping)$/i.test(name)
            && !(each.tagName === 'IMG' && value.startsWith('data:image/'))
            && !/^(https?:)?\\/\\/127\\.0\\.0\\.1|^[/?#]|^$/.test(value)))
    ).map(each => each.outerHTML.slice(0, 200)),
})"""


def name_of(text: str) -> str:
    """A payload as it can be the name of something: what no name can hold is left out."""
    return "".join(each for each in text if each.isprintable()).strip()[:190]


NAMES = [name_of(each) for each in ALL]
OF_NAMESPACES = [each.replace("/", "") for each in NAMES[:3]]


def furnish(other: Client, worker: Http) -> None:
    """Write every payload wherever somebody may write something."""
    for number, (text, name) in enumerate(zip(ALL, NAMES, strict=True)):
        other.create(
            f"{number:03} {name}",
            cron=f"{FAR} # {name}",
            function="attacks:says",
            description=text,
            labels={name: NAMES[-number - 1]},
            user_id=name,
            payload={text: text},
            memo={name: text},
            paused=number % 20 == 0,
        )
    for number in range(0, len(ALL), 20):
        some = " ".join(ALL[number : number + 8])[:900]
        other.pause(f"{number:03} {NAMES[number]}", note=some, paused_by=NAMES[number + 1])
        other.put_workflow(NAMES[number], {"function": "attacks:says", "dag": ALL})
        other.put_calendar({"name": NAMES[number + 1], "dates": ["2027-01-01"]})
        other.pause_target(queue=NAMES[number], note=some)
        other.create_key(NAMES[number], role="reader")
        assert worker("POST", "/api/v1/workers", {"name": NAMES[number], "queues": [NAMES[number + 1]]}).status < 300
    worker.close()


def history(other: Client, victim: str) -> list[str]:
    """Let something happen to a schedule, and run what answers and what fails with every payload."""
    some = " ".join(ALL[:8])[:900]
    other.patch(victim, description=" ".join(ALL[8:30])[:1_900])
    other.skip(victim, note=some)
    (made,) = other.backfill(victim, datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))
    other.create("adaptive", intervals="60s", adaptive=True, max_interval_ms=600_000, function="attacks:says")
    other.hint("adaptive", interval_ms=120_000, ttl_ms=3_600_000, reason=some)
    other.create("fails", cron=FAR, function="attacks:fails")
    runs = [other.trigger(victim), other.trigger("fails")]
    until = datetime.now(UTC) + timedelta(seconds=MS / 1_000)
    while other.get_backfill(made.backfill_id).state == "RUNNING" and datetime.now(UTC) < until:
        pass  # each look is a request: it waits by itself
    return [run.run_id for run in runs]


@pytest.fixture
def wide(browser: Browser, wrong: list[str]) -> Iterator[tuple[Page, list[str]]]:
    """A page in a window as high as a house; dialogs, errors and requests to others are noted."""
    context = browser.new_context(viewport={"width": 1440, "height": TALL})
    context.add_init_script(WATCH)
    context.set_default_timeout(MS * 2)

    def note(request: Request) -> None:
        if NOWHERE in request.url or not request.url.startswith(("http://127.0.0.1", "data:image/")):
            wrong.append(request.url)

    def refuse(dialog: Dialog) -> None:
        wrong.append(dialog.message)
        dialog.dismiss()

    context.on("request", note)
    context.on("dialog", refuse)
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    yield context.new_page(), wrong
    context.close()


def looked_at(page: Page, wrong: list[str]) -> str:
    """What a view shows, once it is known to show it as text and to have done nothing else."""
    found = page.evaluate(LOOK, MARK)
    assert (found["pwned"], found["refused"], found["strange"], wrong) == (False, [], [], []), page.url
    return str(found["text"])


def test_two_hundred_attacks_are_text_in_every_view(wide: tuple[Page, list[str]], service: Service) -> None:
    page, wrong = wide
    assert len(set(NAMES)) >= 200
    (service.home / "payloads.json").write_text(json.dumps(ALL))
    (service.home / "attacks.py").write_text(ATTACKS)
    furnish(service.other, Http(service.url))
    victim = f"{0:03} {NAMES[0]}"
    answered, failed = history(service.other, victim)
    seen = 0

    def view(path: str, wanted: str) -> str:
        nonlocal seen
        page.goto(f"{service.url}{path}")
        expect(page.locator("body")).to_contain_text(wanted, timeout=MS * 2)
        seen += 1
        return looked_at(page, wrong)

    page.goto(f"{service.url}/schedules")
    for number in (99, 199, len(NAMES) - 1):
        expect(page.locator("body")).to_contain_text(f"{number:03} {NAMES[number]}", timeout=MS * 2)
    listed = looked_at(page, wrong)
    assert [name for name in NAMES if name not in listed] == [], "the list shows each of them"
    assert all(text in view(f"/runs/{answered}", "data-pwn") for text in ("onerror", "ontoggle", "__proto__"))
    assert "onerror" in view(f"/runs/{failed}", "data-pwn")
    one = f"/schedules/{quote(victim, safe='')}"
    for tab in ("", "/runs", "/timeline", "/versions", "/backfills", "/audit", "/json", "/edit"):
        view(one + tab, NAMES[0])
    view("/schedules/adaptive/adaptive", "adaptive")
    for place in ("/runs", "/workflows", "/calendars", "/queues", "/keys", "/audit", "/instances"):
        view(place, "data-pwn")
    for place in ("/", "/settings"):
        view(place, "Tompion")
    view(f"/workflows/{quote(NAMES[0], safe='')}", "data-pwn")
    view(f"/schedules?text={quote(ALL[0])}&label={quote(ALL[1])}", "schedule")
    view(f"/schedules/{quote(ALL[3], safe='')}", "data-pwn")
    view(f"/{quote(ALL[4], safe='')}?namespace={quote(OF_NAMESPACES[0])}", "Tompion")
    view(f"/new?from={quote(victim, safe='')}", "Duplicate")
    for name in OF_NAMESPACES:
        view(f"/schedules?namespace={quote(name)}", "Schedules")
    assert seen >= 25


def test_what_finds_them_finds_them(wide: tuple[Page, list[str]]) -> None:
    """On a page without a policy that takes them for HTML, hundreds of them do something or leave something behind."""
    page, wrong = wide
    page.goto("about:blank")
    strange = 0
    for text in ALL:
        page.evaluate("text => document.body.innerHTML = text", text)
        strange += bool(page.evaluate(LOOK, MARK)["strange"])
    assert strange >= 150
    assert "1" in wrong, "some of them have even been heard"
    wrong.clear()
