"""Permissions, sign-in, and the content security policy."""

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
"""Headings that a reader sees at the URLs of actions without permission."""
ATTEMPTS = {
    "html": "require-trusted-types-for",
    "script": "require-trusted-types-for",
    "image": "img-src",
    "frame": "frame-src",
    "style": "style-src-elem",
    "ask": "connect-src",
}
"""Attempts of a script in the page, and the directive that blocks each."""


def is_known(service: Service) -> bool:
    try:
        service.client.schedules.list()
    except Unauthenticated:
        return False
    return True


def test_the_output_of_a_run_is_rendered_as_text(page: Page, service: Service) -> None:
    service.client.create("hostile", cron=FAR, function="tasks:hostile", description=HOSTILE, payload=HOSTILE)
    service.client.create("fails", cron=FAR, function="tasks:fails")
    page.goto(f"{service.url}/schedules")
    for name, label in (("hostile", "Output"), ("fails", "Error")):
        run = service.client.trigger(name)
        page.goto(f"{service.url}/runs/{run.run_id}")
        expect(page.get_by_label(label, exact=True)).to_contain_text(HOSTILE)
        expect(page).to_have_title(f"Run {run.run_id} · Tompion")
    for tab in ("", "/runs", "/audit", "/json", "/versions"):
        page.goto(f"{service.url}/schedules/hostile{tab}")
        expect(page.get_by_text(HOSTILE).first).to_be_visible()
    assert page.locator("img[src=x]").count() == 0


def test_the_policy_blocks_injected_scripts(page: Page, service: Service, browser_errors: list[str]) -> None:
    """The policy is the last line of defence: text never becomes a script or an element."""
    page.goto(f"{service.url}/schedules")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    for attempt, directive in ATTEMPTS.items():
        with page.expect_console_message() as logged:
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
        assert logged.value.type == "error"
        assert browser_errors, attempt
        browser_errors.clear()
    assert page.locator("img[src=x]").count() == 0


@contextmanager
def visited(window: BrowserContext, home: Path, *options: str) -> Iterator[tuple[Service, Page]]:
    """A service and a tab that is closed before the service stops, because its requests would fail."""
    with serving(home, *options) as service, window.new_page() as page:
        yield service, page


def test_sign_in_with_a_key_and_out_again(window: BrowserContext, tmp_path: Path) -> None:
    with visited(window, tmp_path, "--auth", "required") as (service, page):
        page.goto(f"{service.url}/schedules?status=paused")
        page.get_by_label("API key or token").fill("tpn_000000000000_" + "0" * 48)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_text("unknown, expired or revoked API key")).to_be_visible()
        page.get_by_label("API key or token").fill(make_key(tmp_path, "operator"))
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="No matching schedules")).to_be_visible()
        assert page.evaluate("document.cookie") == "", "scripts can not read the cookie"
        kept = page.evaluate("JSON.stringify([localStorage, sessionStorage])")
        assert "tpn_" not in kept
        page.reload()
        expect(page.get_by_role("heading", name="Schedules", level=1)).to_be_visible()
        page.get_by_role("button", name="Signed in as").click()
        page.get_by_role("menuitem", name="Sign out").click()
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        page.reload()
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_a_reader_sees_no_actions_without_permission(window: BrowserContext, tmp_path: Path) -> None:
    with visited(window, tmp_path, "--auth", "required") as (service, page):
        editor = make_key(tmp_path, "editor")
        with_key = Service(service.url, tmp_path, editor)
        with_key.client.create("report", cron=FAR, function="tasks:work")
        with_key.client.trigger("report")
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
        for address, heading in REFUSED.items():
            page.goto(f"{service.url}{address}")
            expect(page.get_by_role("heading", name=heading)).to_be_visible()
            for name in ("Create", "Save", "New API key"):
                expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
        page.keyboard.press("Control+k")
        expect(page.get_by_role("option", name="Schedules")).to_be_visible()
        for name in ("New schedule", "Pause a schedule…", "Run a schedule now…", "API keys"):
            expect(page.get_by_role("option", name=name)).to_have_count(0)
        with_key.client.close()


def test_a_read_only_service_shows_no_actions(window: BrowserContext, tmp_path: Path) -> None:
    """Once administrators saw actions that a read-only service rejects."""
    (tmp_path / "tompion.toml").write_text("read_only = true\n")
    with visited(window, tmp_path) as (service, page):
        page.goto(f"{service.url}/keys")
        expect(page.get_by_role("heading", name="No API keys yet")).to_be_visible()
        expect(page.get_by_role("button", name="New API key")).to_have_count(0)
        page.goto(f"{service.url}/new")
        expect(page.get_by_text("Read-only mode: changes are disabled.")).to_be_visible()


def test_a_revoked_key_leads_to_the_sign_in_form(window: BrowserContext, tmp_path: Path) -> None:
    """Once the rows stayed on the screen after the key was revoked."""
    with visited(window, tmp_path, "--auth", "required") as (service, page):
        admin = Service(service.url, tmp_path, make_key(tmp_path, "admin"))
        admin.client.create("report", cron=FAR, function="tasks:work")
        new_key = admin.client.keys.create("guest", role="operator")
        page.goto(f"{service.url}/schedules")
        page.get_by_label("API key or token").fill(new_key.secret)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("link", name="report", exact=True)).to_be_visible()
        admin.client.keys.revoke(new_key.key.key_id)
        guest = Service(service.url, tmp_path, new_key.secret)
        while is_known(guest):
            pass  # a key is cached for a moment. Each iteration waits for a request
        guest.client.close()
        # A live update may have led to the form already, so the button is clicked only if it is still there.
        page.evaluate("document.querySelector('[aria-label=\"Run report now\"]')?.click()")
        expect(page.get_by_label("API key or token")).to_be_visible()
        expect(page.get_by_role("link", name="report", exact=True)).to_have_count(0)
        admin.client.close()


def test_a_change_before_the_stream_opens_is_shown(page: Page, service: Service) -> None:
    """Once a change before the stream was open was not shown until the next change."""
    service.client.create("early", cron=FAR, function="tasks:work")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/api/v1/events", hold)
    page.goto(f"{service.url}/schedules/early/runs")
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    run = service.client.trigger("early")
    while service.client.runs.get(run.run_id).status not in FINAL:
        pass
    held[0].continue_()
    expect(page.get_by_text("1 succeeded")).to_be_visible()


def test_a_lost_connection_is_shown_and_restored(
    window: BrowserContext, service: Service, browser_errors: list[str]
) -> None:
    page = window.new_page()
    page.goto(f"{service.url}/schedules")
    expect(page.get_by_role("img", name="Live updates on")).to_be_visible()
    page.route("**/api/v1/events", lambda route: route.abort())
    page.reload()
    expect(page.get_by_role("img", name="Disconnected")).to_be_visible()
    page.unroute("**/api/v1/events")
    expect(page.get_by_role("img", name="Live updates on")).to_be_visible()
    assert {message.partition(":")[0] for message in browser_errors} == {"Failed to load resource"}
    browser_errors.clear()
