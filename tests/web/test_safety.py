"""Who may do what on the page, and what the output of a run cannot do there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.web.kit import Service, make_key, serving
from tompion.errors import Unauthenticated
from tompion.model.run import FINAL

HOSTILE = "<img src=x onerror=alert(1)><script>document.title='owned'</script>"
FAR = "0 0 1 1 *"
REFUSED = {
    "/new": "You don't have permission to create schedules",
    "/new?from=report": "You don't have permission to create schedules",
    "/schedules/report/edit": "You don't have permission to edit report",
    "/keys": "You don't have permission to view API keys",
}
"""What addresses say to a reader."""
ATTEMPTS = {
    "html": "require-trusted-types-for",
    "script": "require-trusted-types-for",
    "image": "img-src",
    "frame": "frame-src",
    "style": "style-src-elem",
    "ask": "connect-src",
}
"""What somebody tries who can change the page, and what stands against it."""


def is_known(service: Service) -> bool:
    try:
        service.other.list_schedules()
    except Unauthenticated:
        return False
    return True


def test_the_output_of_a_run_is_text_and_nothing_else(page: Page, service: Service) -> None:
    service.other.create("hostile", cron=FAR, function="tasks:hostile", description=HOSTILE, payload=HOSTILE)
    service.other.create("fails", cron=FAR, function="tasks:fails")
    page.goto(f"{service.url}/schedules")
    for name, label in (("hostile", "Output"), ("fails", "Error")):
        run = service.other.trigger(name)
        page.goto(f"{service.url}/runs/{run.run_id}")
        expect(page.get_by_label(label, exact=True)).to_contain_text(HOSTILE)
        expect(page).to_have_title(f"Run {run.run_id} · Tompion")
    for tab in ("", "/runs", "/audit", "/json", "/versions"):
        page.goto(f"{service.url}/schedules/hostile{tab}")
        expect(page.get_by_text(HOSTILE).first).to_be_visible()
    assert page.locator("img[src=x]").count() == 0


def test_a_script_that_gets_onto_the_page_is_not_run(page: Page, service: Service, wrong: list[str]) -> None:
    """The policy is what is left when everything else has failed: of text no script and no element is made."""
    page.goto(f"{service.url}/schedules")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    for attempt, directive in ATTEMPTS.items():
        with page.expect_console_message() as said:
            blocked = page.evaluate(
                """attempt => new Promise(resolve => {
                    document.addEventListener('securitypolicyviolation', event => {
                        event.stopImmediatePropagation()
                        resolve(event.effectiveDirective)
                    }, { once: true })
                    const box = document.body.appendChild(document.createElement('div'))
                    try {
                        if (attempt === 'html') box.innerHTML = '<img src=x onerror=alert(1)>'
                        if (attempt === 'script') document.createElement('script').src = 'https://evil.example/x.js'
                        if (attempt === 'image') document.createElement('img').src = 'https://evil.example/x.png'
                        if (attempt === 'frame') {
                            box.appendChild(document.createElement('iframe')).src = 'https://evil.example/'
                        }
                        if (attempt === 'style') box.appendChild(document.createElement('style')).append('* {}')
                        if (attempt === 'ask') void fetch('https://evil.example/').catch(() => undefined)
                    } catch (error) {
                        if (!(error instanceof TypeError)) throw error
                    }
                })""",
                attempt,
            )
        assert blocked == directive, attempt
        assert said.value.type == "error"
        assert wrong, attempt
        wrong.clear()
    assert page.locator("img[src=x]").count() == 0


@contextmanager
def visited(window: BrowserContext, home: Path, *options: str) -> Iterator[tuple[Service, Page]]:
    """A service of its own, and a page that is closed before it ends: it would ask for it in vain."""
    with serving(home, *options) as service, window.new_page() as page:
        yield service, page


def test_sign_in_with_a_key_and_out_again(window: BrowserContext, tmp_path: Path) -> None:
    with visited(window, tmp_path, "--auth", "required") as (service, page):
        page.goto(f"{service.url}/schedules?state=paused")
        page.get_by_label("API key or token").fill("tpn_000000000000_" + "0" * 48)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_text("unknown, expired or revoked API key")).to_be_visible()
        page.get_by_label("API key or token").fill(make_key(tmp_path, "operator"))
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="No matching schedules")).to_be_visible()
        assert page.evaluate("document.cookie") == "", "no script reads it"
        kept = page.evaluate("JSON.stringify([localStorage, sessionStorage])")
        assert "tpn_" not in kept
        page.reload()
        expect(page.get_by_role("heading", name="Schedules", level=1)).to_be_visible()
        page.get_by_role("button", name="Signed in as").click()
        page.get_by_role("menuitem", name="Sign out").click()
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        page.reload()
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_a_reader_is_shown_nothing_that_they_may_not_do(window: BrowserContext, tmp_path: Path) -> None:
    with visited(window, tmp_path, "--auth", "required") as (service, page):
        editor = make_key(tmp_path, "editor")
        with_key = Service(service.url, tmp_path, editor)
        with_key.other.create("report", cron=FAR, function="tasks:work")
        with_key.other.trigger("report")
        page.goto(f"{service.url}/schedules")
        page.get_by_label("API key or token").fill(make_key(tmp_path, "reader"))
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("link", name="report", exact=True)).to_be_visible()
        for name in ("Pause report", "Run report now", "Skip next run of report", "Bulk actions"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        expect(page.get_by_role("checkbox")).to_have_count(0)
        for tab in ("", "/versions", "/backfills"):
            page.goto(f"{service.url}/schedules/report{tab}")
            expect(page.get_by_role("heading", name="report", level=1)).to_be_visible()
            for name in ("Pause", "Run now", "Restore version 1", "Start backfill", "More actions"):
                expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
        for address, said in REFUSED.items():
            page.goto(f"{service.url}{address}")
            expect(page.get_by_role("heading", name=said)).to_be_visible()
            for name in ("Create", "Save", "New API key"):
                expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
        page.keyboard.press("Control+k")
        expect(page.get_by_role("option", name="Schedules")).to_be_visible()
        for name in ("New schedule", "Pause a schedule…", "Run a schedule now…", "API keys"):
            expect(page.get_by_role("option", name=name)).to_have_count(0)
        with_key.other.close()


def test_nobody_changes_a_service_that_is_read_only(window: BrowserContext, tmp_path: Path) -> None:
    """Admins were shown what a read-only service refuses them as well."""
    (tmp_path / "tompion.toml").write_text("read_only = true\n")
    with visited(window, tmp_path) as (service, page):
        page.goto(f"{service.url}/keys")
        expect(page.get_by_role("heading", name="No API keys yet")).to_be_visible()
        expect(page.get_by_role("button", name="New API key")).to_have_count(0)
        page.goto(f"{service.url}/new")
        expect(page.get_by_text("Read-only mode: changes are disabled.")).to_be_visible()


def test_whoever_is_not_known_any_more_signs_in_again(window: BrowserContext, tmp_path: Path) -> None:
    """The rows of somebody whose key was revoked stayed where they were, each with an error."""
    with visited(window, tmp_path, "--auth", "required") as (service, page):
        admin = Service(service.url, tmp_path, make_key(tmp_path, "admin"))
        admin.other.create("report", cron=FAR, function="tasks:work")
        made = admin.other.create_key("guest", role="operator")
        page.goto(f"{service.url}/schedules")
        page.get_by_label("API key or token").fill(made.secret)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("link", name="report", exact=True)).to_be_visible()
        admin.other.revoke_key(made.key.key_id)
        guest = Service(service.url, tmp_path, made.secret)
        while is_known(guest):
            pass  # a key is believed for a moment; each look is a request: it waits by itself
        guest.other.close()
        page.get_by_role("button", name="Run report now").click()
        expect(page.get_by_label("API key or token")).to_be_visible()
        expect(page.get_by_role("link", name="report", exact=True)).to_have_count(0)
        admin.other.close()


def test_what_changes_before_the_page_listens_is_shown(page: Page, service: Service) -> None:
    """A page that had read and did not listen yet showed what it had read for as long as nothing else happened."""
    service.other.create("early", cron=FAR, function="tasks:work")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/v1/events", hold)
    page.goto(f"{service.url}/schedules/early/runs")
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    run = service.other.trigger("early")
    while service.other.get_run(run.run_id).state not in FINAL:
        pass
    held[0].continue_()
    expect(page.get_by_text("1 succeeded")).to_be_visible()


def test_a_service_that_goes_away_is_said_to_and_comes_back_by_itself(
    window: BrowserContext, service: Service, wrong: list[str]
) -> None:
    page = window.new_page()
    page.goto(f"{service.url}/schedules")
    expect(page.get_by_role("img", name="Live updates on")).to_be_visible()
    page.route("**/api/v1/events", lambda route: route.abort())
    page.reload()
    expect(page.get_by_role("img", name="Disconnected")).to_be_visible()
    page.unroute("**/api/v1/events")
    expect(page.get_by_role("img", name="Live updates on")).to_be_visible()
    assert {each.partition(":")[0] for each in wrong} == {"Failed to load resource"}
    wrong.clear()
