"""Hundreds of cross-site scripting payloads in every field that users can write."""

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
"""Height of a window that shows all rows of a list."""
ATTACKS = """
import json, pathlib
TEXTS = json.loads(pathlib.Path("payloads.json").read_text())

def answers(**fields):
    return TEXTS

def fails(**fields):
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
    """Return a payload as a name, without the characters that a name can not contain."""
    return "".join(item for item in text if item.isprintable()).strip()[:190]


NAMES = [name_of(item) for item in ALL]
OF_NAMESPACES = [item.replace("/", "") for item in NAMES[:3]]


def furnish(client: Client, worker: Http) -> None:
    """Write the payloads into every field that users can write."""
    for number, (text, name) in enumerate(zip(ALL, NAMES, strict=True)):
        client.create(
            f"{number:03} {name}",
            cron=f"{FAR} # {name}",
            function="attacks:answers",
            description=text,
            labels={name: NAMES[-number - 1]},
            user_id=name,
            payload={text: text},
            memo={name: text},
            paused=number % 20 == 0,
        )
    for number in range(0, len(ALL), 20):
        some = " ".join(ALL[number : number + 8])[:900]
        client.pause(f"{number:03} {NAMES[number]}", note=some, paused_by=NAMES[number + 1])
        client.workflows.put(NAMES[number], {"function": "attacks:answers", "dag": ALL})
        client.calendars.put({"name": NAMES[number + 1], "dates": ["2027-01-01"]})
        client.queues.pause(NAMES[number], note=some)
        client.keys.create(NAMES[number], role="reader")
        assert worker("POST", "/api/v1/workers", {"name": NAMES[number], "queues": [NAMES[number + 1]]}).status < 300
    worker.close()


def history(client: Client, victim: str) -> list[str]:
    """Change a schedule, and run functions that return and raise every payload."""
    some = " ".join(ALL[:8])[:900]
    client.patch(victim, description=" ".join(ALL[8:30])[:1_900])
    client.schedules.skip(victim, note=some)
    (backfill,) = client.backfill(victim, datetime(2025, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))
    client.create("adaptive", intervals="60s", adaptive=True, max_interval_ms=600_000, function="attacks:answers")
    client.schedules.hint("adaptive", interval_ms=120_000, ttl_ms=3_600_000, reason=some)
    client.create("fails", cron=FAR, function="attacks:fails")
    runs = [client.trigger(victim), client.trigger("fails")]
    until = datetime.now(UTC) + timedelta(seconds=MS / 1_000)
    while client.schedules.get_backfill(backfill.backfill_id).status == "RUNNING" and datetime.now(UTC) < until:
        pass  # each iteration waits for a request
    return [run.run_id for run in runs]


@pytest.fixture
def wide(browser: Browser, browser_errors: list[str]) -> Iterator[tuple[Page, list[str]]]:
    """A tab in a very high window. Dialogs, errors and requests to other hosts are recorded."""
    context = browser.new_context(viewport={"width": 1440, "height": TALL})
    context.add_init_script(WATCH)
    context.set_default_timeout(MS * 2)

    def note(request: Request) -> None:
        if NOWHERE in request.url or not request.url.startswith(("http://127.0.0.1", "data:image/")):
            browser_errors.append(request.url)

    def refuse(dialog: Dialog) -> None:
        browser_errors.append(dialog.message)
        dialog.dismiss()

    context.on("request", note)
    context.on("dialog", refuse)
    context.on("weberror", lambda error: browser_errors.append(str(error.error)))
    yield context.new_page(), browser_errors
    context.close()


def looked_at(page: Page, browser_errors: list[str]) -> str:
    """Return the text of a view after checking that no payload worked."""
    result = page.evaluate(LOOK, MARK)
    assert (result["pwned"], result["refused"], result["strange"], browser_errors) == (False, [], [], []), page.url
    return str(result["text"])


def test_every_payload_is_text_in_every_view(wide: tuple[Page, list[str]], service: Service) -> None:
    page, browser_errors = wide
    assert len(set(NAMES)) >= 200
    (service.home / "payloads.json").write_text(json.dumps(ALL))
    (service.home / "attacks.py").write_text(ATTACKS)
    furnish(service.client, Http(service.url))
    victim = f"{0:03} {NAMES[0]}"
    answered, failed = history(service.client, victim)
    seen = 0

    def view(path: str, wanted: str) -> str:
        nonlocal seen
        page.goto(f"{service.url}{path}")
        expect(page.locator("body")).to_contain_text(wanted, timeout=MS * 2)
        seen += 1
        return looked_at(page, browser_errors)

    page.goto(f"{service.url}/schedules")
    for number in (99, 199, len(NAMES) - 1):
        expect(page.locator("body")).to_contain_text(f"{number:03} {NAMES[number]}", timeout=MS * 2)
    listed = looked_at(page, browser_errors)
    assert [name for name in NAMES if name not in listed] == [], "the list shows every name"
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


def test_the_checks_find_payloads_in_an_unprotected_page(wide: tuple[Page, list[str]]) -> None:
    """On a page that renders the payloads as HTML without a policy, most of them work."""
    page, browser_errors = wide
    page.goto("about:blank")
    strange = 0
    for text in ALL:
        page.evaluate("text => document.body.innerHTML = text", text)
        strange += bool(page.evaluate(LOOK, MARK)["strange"])
    assert strange >= 150
    assert "1" in browser_errors, "some of them opened a dialog"
    browser_errors.clear()
