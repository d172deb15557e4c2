"""The list of schedules and the view of one: filters, actions, keyboard, live updates."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.web.kit import Service

FAR = "0 0 1 1 *"
"""The next tick is in the new year, so no run starts during a test."""


def row(page: Page, schedule_id: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=schedule_id, exact=True))


def fact(page: Page, name: str) -> Locator:
    return page.locator("dl > div").filter(has=page.get_by_text(name, exact=True))


def test_a_row_shows_timing_next_run_and_recent_runs(page: Page, service: Service) -> None:
    service.client.create("report", cron="0 9 * * MON-FRI", timezone="America/New_York", function="tasks:work")
    page.goto(f"{service.url}/schedules")
    expect(page).to_have_title("Schedules · Tompion")
    cell = row(page, "report")
    expect(cell).to_contain_text("At 09:00, Monday to Friday, in America/New_York time.")
    expect(cell).to_contain_text("09:00 New York")
    expect(cell).to_contain_text(re.compile(r"in \d+"))
    expect(cell).to_contain_text("No runs")


def test_every_tab_has_a_url_that_survives_a_reload(page: Page, service: Service) -> None:
    service.client.create("billing/report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules")
    page.get_by_role("link", name="billing/report").click()
    heading = page.get_by_role("heading", name="billing/report", level=1)
    expect(heading).to_be_visible()
    for tab in ("Runs", "Timeline", "Versions", "Backfills", "History", "JSON", "Calendar"):
        page.get_by_label("Schedule sections").get_by_role("link", name=tab).click()
        expect(page.get_by_role("link", name=tab, exact=True).and_(page.locator("[aria-current=page]"))).to_be_visible()
        page.reload()
        expect(heading).to_be_visible()
        expect(page.get_by_role("link", name=tab, exact=True).and_(page.locator("[aria-current=page]"))).to_be_visible()


def test_pause_with_actor_and_end_and_resume(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules")
    page.get_by_role("button", name="Pause report").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("the warehouse is being moved")
    dialog.get_by_label("On behalf of").fill("ann")
    dialog.get_by_label("Resume automatically at").fill("2030-01-02T09:00")
    dialog.get_by_role("button", name="Pause", exact=True).click()
    expect(row(page, "report")).to_contain_text("Paused by ann")
    stored = service.client.get("report")
    assert (stored.paused_by, stored.note) == ("ann", "the warehouse is being moved")
    assert stored.paused_until is not None
    assert stored.paused_until.isoformat() == "2030-01-02T08:00:00+00:00", "nine in Berlin"
    page.get_by_role("link", name="report", exact=True).click()
    expect(page.get_by_text("“the warehouse is being moved”")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume", exact=True).click()
    expect(page.get_by_text("Active", exact=True)).to_be_visible()
    assert service.client.get("report").status == "active"


def test_a_pause_with_an_end_in_the_past_is_not_sent(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules")
    page.get_by_role("button", name="Pause report").click()
    page.get_by_label("Resume automatically at").fill("2020-01-01T00:00")
    expect(page.get_by_text("Must be in the future")).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    assert service.client.get("report").status == "active"


def test_run_a_schedule_from_its_row(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work", payload={"day": "any"})
    page.goto(f"{service.url}/schedules")
    page.get_by_role("button", name="Run report now").click()
    outcome = row(page, "report").get_by_role("listitem").get_by_role("link")
    expect(outcome).to_have_attribute("aria-label", re.compile("Success"))
    outcome.click()
    expect(page.get_by_label("Result", exact=True)).to_have_text('{\n  "rows": 12\n}')
    expect(page.get_by_label("Input", exact=True)).to_have_text('{\n  "day": "any"\n}')
    expect(page.get_by_label("Timings")).to_contain_text("Started")
    expect(page.get_by_text(service.client.runs.list("report").items[0].idempotency_key)).to_be_visible()


def test_skip_the_next_run(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work", timezone="Europe/Berlin")
    first = service.client.get("report").next_run_at
    page.goto(f"{service.url}/schedules")
    page.get_by_role("button", name="Skip next run of report").click()
    expect(page.get_by_role("status")).to_contain_text("will be skipped")
    assert list(service.client.describe("report").skipped_ticks) == [first]
    page.goto(f"{service.url}/schedules/report")
    months = page.get_by_role("button", name="Next month")
    assert first is not None
    year = first.year if first.month == 1 else first.year + 1
    while not page.get_by_role("heading", name=f"January {year}").is_visible():
        months.click()
    page.get_by_role("button", name=f"1 January {year}: 1 skipped").click()
    ticks = page.get_by_label(f"Runs on {year}-01-01")
    expect(ticks).to_contain_text("Will be skipped")
    ticks.get_by_role("button", name="Don't skip run at").click()
    expect(page.get_by_role("status")).to_contain_text("will run")
    expect(ticks).not_to_contain_text("Will be skipped")
    assert service.client.get("report").next_run_at == first
    ticks.get_by_role("button", name="Skip run at").click()
    skips = page.get_by_label("Skipped runs")
    expect(skips).to_contain_text(f"{year}-01-01")
    skips.get_by_role("button", name="Undo skip").click()
    expect(skips).not_to_be_visible()
    assert service.client.describe("report").skipped_ticks == ()


def test_a_skip_is_undone_from_the_toast(page: Page, service: Service) -> None:
    """The undo is for the tick that was shown, even if another tick is the next one by then."""
    service.client.create("report", cron=FAR, function="tasks:work")
    first = service.client.get("report").next_run_at
    page.goto(f"{service.url}/schedules")
    page.get_by_role("button", name="Skip next run of report").click()
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("will run")
    assert service.client.get("report").next_run_at == first
    assert [item.operation for item in service.client.schedules.history("report", limit=3).items] == [
        "unskip",
        "skip",
        "create",
    ]


def test_the_list_shows_the_number_of_matching_schedules(page: Page, service: Service) -> None:
    for number in range(3):
        service.client.create(f"report-{number}", cron=FAR, function="tasks:work", labels={"team": "ab"[number % 2]})
    page.goto(f"{service.url}/schedules")
    head = page.get_by_role("main")
    expect(head.get_by_text("3", exact=True)).to_be_visible()
    page.goto(f"{service.url}/schedules?label=team%3Da")
    expect(head.get_by_text("2 of 3", exact=True)).to_be_visible()
    service.client.delete("report-0")
    expect(head.get_by_text("1 of 2", exact=True)).to_be_visible()


def test_changes_of_other_clients_are_shown_live(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/schedules")
    expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Live updates on"))).to_be_visible()
    service.client.create("created-elsewhere", cron=FAR, function="tasks:work")
    expect(row(page, "created-elsewhere")).to_be_visible()
    service.client.pause("created-elsewhere", paused_by="bob")
    expect(row(page, "created-elsewhere")).to_contain_text("Paused by bob")
    page.get_by_role("link", name="created-elsewhere").click()
    page.get_by_role("link", name="Runs", exact=True).last.click()
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    service.client.trigger("created-elsewhere")
    expect(page.get_by_role("cell", name="Success")).to_be_visible()


def test_filters_are_part_of_the_url_and_apply_to_bulk_actions(page: Page, service: Service) -> None:
    for name, team in (("invoices", "billing"), ("reminders", "billing"), ("backup", "data")):
        service.client.create(name, cron=FAR, function="tasks:work", labels={"team": team})
    page.goto(f"{service.url}/schedules")
    page.get_by_role("textbox", name="Label").fill("team=billing")
    expect(row(page, "backup")).to_have_count(0)
    expect(page).to_have_url(re.compile(r"label=team"))
    page.reload()
    expect(row(page, "invoices")).to_be_visible()
    expect(row(page, "backup")).to_have_count(0)
    page.get_by_role("button", name="Bulk actions").click()
    page.get_by_role("menuitem", name="Pause all matching schedules").click()
    touched = page.get_by_label("Affected schedules").get_by_role("listitem")
    expect(touched).to_have_text(["invoices", "reminders"])
    assert service.client.get("invoices").status == "active", "the action is not confirmed yet"
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("2 schedules paused")
    states = {item.schedule_id: item.status for item in service.client.schedules.list().items}
    assert states == {"invoices": "paused", "reminders": "paused", "backup": "active"}


def test_selected_schedules_are_run(page: Page, service: Service) -> None:
    for name in ("one", "two", "three"):
        service.client.create(name, cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules")
    page.get_by_role("checkbox", name="Select one", exact=True).check()
    page.get_by_role("checkbox", name="Select two", exact=True).check()
    page.get_by_role("button", name="2 selected").click()
    page.get_by_role("menuitem", name="Run 2 selected schedules now").click()
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_role("status")).to_contain_text("2 runs started")
    assert {run.schedule_id for run in service.client.runs.recent().items} == {"one", "two"}


def test_restore_a_version(page: Page, service: Service) -> None:
    service.client.create("report", cron="0 9 * * *", function="tasks:work")
    service.client.patch("report", cron="0 10 * * *")
    page.goto(f"{service.url}/schedules/report/versions")
    expect(page.get_by_role("deletion")).to_contain_text("0 9 * * *")
    page.get_by_role("button", name="Restore version 1").click()
    page.get_by_role("button", name="Restore", exact=True).click()
    expect(page.get_by_text("At 09:00 every day, in UTC.")).to_be_visible()
    expect(page.get_by_role("row").nth(1)).to_contain_text("3 Current")
    assert service.client.get("report").definition_version == 3


def test_a_backfill_to_the_end(page: Page, service: Service) -> None:
    service.client.create("report", cron="0 * * * *", function="tasks:work", timezone="UTC")
    page.goto(f"{service.url}/schedules/report/backfills")
    page.get_by_label("Start").fill("2026-01-01T01:00")
    page.get_by_label("End (inclusive)").fill("2026-01-01T06:00")
    expect(page.get_by_text("6 runs will be started.")).to_be_visible()
    page.get_by_role("button", name="Start backfill").click()
    expect(page.get_by_text("6 of 6 runs")).to_be_visible()
    expect(page.get_by_text("Done", exact=True)).to_be_visible()
    expect(fact(page, "Total")).to_contain_text("6 succeeded")


def test_pause_a_schedule_with_the_keyboard_only(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules")
    expect(row(page, "report")).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Search schedules and commands")).to_be_focused()
    page.keyboard.type("report")
    expect(page.get_by_role("option", name="report Active")).to_be_visible()
    page.keyboard.press("Enter")
    pause = page.get_by_role("button", name="Pause", exact=True)
    expect(pause).to_be_visible()
    for _ in range(60):
        if pause.evaluate("element => element === document.activeElement"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Reason")).to_be_focused()
    page.keyboard.type("by hand")
    page.keyboard.press("Enter")
    expect(page.get_by_text("“by hand”")).to_be_visible()
    expect(page.get_by_role("button", name="Resume")).to_be_focused()
    assert service.client.get("report").status == "paused"


def test_the_focus_stays_in_the_paused_row(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules")
    pause = page.get_by_role("button", name="Pause report")
    pause.press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Reason")).to_be_focused()
    page.keyboard.press("Escape")
    expect(pause).to_be_focused()
    pause.press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Reason")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Resume report")).to_be_focused()


def test_the_skip_link_moves_the_focus_to_the_content(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/schedules")
    expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to main content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="New schedule")).to_be_focused()


def test_the_details_of_a_pause_are_reachable_by_keyboard(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work", timezone="Europe/Berlin")
    service.client.pause("report", paused_by="ann", note="a move", until="2030-01-01T00:00:00Z")
    page.goto(f"{service.url}/schedules")
    row(page, "report").get_by_role("link", name="report").focus()
    page.keyboard.press("Tab")
    tooltip = page.get_by_role("tooltip")
    expect(tooltip).to_contain_text("resumes Tue 2030-01-01 01:00")
    expect(tooltip).to_contain_text("“a move”")
    page.keyboard.press("Escape")
    expect(tooltip).to_have_count(0)
    page.goto(f"{service.url}/schedules/report")
    expect(
        page.get_by_text(re.compile("Paused by ann on .* · resumes Tue 2030-01-01 01:00 · “a move”"))
    ).to_be_visible()


def test_actions_of_the_palette(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules")
    page.get_by_label("Search", exact=True).focus()

    def command(text: str, option: str) -> None:
        page.keyboard.press("Control+k")
        page.keyboard.type(text)
        expect(page.get_by_role("option", name=option, selected=True)).to_be_visible()
        page.keyboard.press("Enter")

    command("run rep", "Run report now")
    expect(page.get_by_role("status")).to_contain_text("Run of report started")
    expect(page.get_by_label("Search", exact=True)).to_be_focused()
    command("skip rep", "Skip next run of report")
    expect(page.get_by_role("status")).to_contain_text("will be skipped")
    command("pause rep", "Pause report")
    expect(page.get_by_role("dialog", name="Pause report").get_by_label("Reason")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Resume report")).to_be_visible()
    command("resume rep", "Resume report")
    expect(page.get_by_role("button", name="Pause report")).to_be_visible()
    command("dark", "Dark theme")
    expect(page.get_by_role("button", name="Theme: Dark")).to_be_visible()
    command("new", "New schedule")
    expect(page.get_by_role("heading", name="New schedule", level=1)).to_be_visible()


def test_the_selected_command_is_scrolled_into_view(page: Page, service: Service) -> None:
    page.set_viewport_size({"width": 1000, "height": 400})
    page.goto(f"{service.url}/schedules")
    expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()
    page.keyboard.press("Control+k")
    options = page.get_by_role("option")
    expect(options.first).to_be_visible()
    expect(options.last).not_to_be_in_viewport()
    for _ in range(options.count()):
        page.keyboard.press("ArrowDown")
    expect(options.last).to_be_in_viewport()


def test_a_failed_action_shows_error_and_hint(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work")
    refused = {"status": 409, "code": "busy", "detail": "it is being moved", "hint": "try it after the move"}
    page.route("**/trigger", lambda route: route.fulfill(status=409, json=refused))
    page.goto(f"{service.url}/schedules")
    page.get_by_role("button", name="Run report now").click()
    expect(page.get_by_role("status")).to_contain_text("It is being moved")
    expect(page.get_by_role("status")).to_contain_text("Try it after the move")


def test_delete_explains_what_is_kept(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules/report")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete…").click()
    dialog = page.get_by_role("dialog", name="Delete report?")
    expect(dialog).to_contain_text("Its history stays available")
    assert service.client.get("report").status == "active", "the action is not confirmed yet"
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="More actions")).to_have_count(0)
    assert service.client.get("report").status == "closed"


def test_filters_show_the_format_and_suggestions(page: Page, service: Service) -> None:
    service.client.workflows.put("nightly", {"executor": "http", "options": {"url": "https://example.org/a"}})
    service.client.create("report", cron=FAR, function="tasks:work", labels={"team": "data"})
    service.client.create("etl", cron=FAR, workflow_id="nightly")
    page.goto(f"{service.url}/schedules")
    page.get_by_role("textbox", name="Label").fill("team")
    expect(page.get_by_text("Use key=value")).to_be_visible()
    expect(row(page, "etl")).to_be_visible()
    page.get_by_role("textbox", name="Label").fill("")
    page.get_by_role("combobox", name="Workflow").fill("nig")
    page.get_by_role("option", name="nightly").click()
    expect(row(page, "report")).to_have_count(0)
    expect(row(page, "etl")).to_be_visible()


def test_the_time_zone_choice_is_stored(page: Page, service: Service) -> None:
    service.client.create("report", times=["2030-01-01T00:00:00Z"], timezone="Asia/Tokyo", function="tasks:work")
    page.goto(f"{service.url}/schedules")
    cell = row(page, "report").get_by_role("time")
    expect(cell).to_have_text("Tue 1 Jan 2030 01:00")
    page.get_by_text("Schedule", exact=True).first.click()
    expect(cell).to_have_text("Tue 1 Jan 2030 09:00")
    page.get_by_text("UTC", exact=True).first.click()
    expect(cell).to_have_text("Tue 1 Jan 2030 00:00")
    page.reload()
    expect(cell).to_have_text("Tue 1 Jan 2030 00:00")


def test_a_search_keeps_the_typed_text(page: Page, service: Service) -> None:
    """Once the answer for the first letters replaced the text that was typed in the meantime."""
    for name in ("billing", "bills", "other"):
        service.client.create(name, cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules")
    expect(row(page, "other")).to_be_visible()
    search = page.get_by_role("textbox", name="Search")
    search.press_sequentially("billing", delay=5)
    expect(row(page, "bills")).to_have_count(0)
    expect(row(page, "billing")).to_be_visible()
    expect(search).to_have_value("billing")
    expect(page).to_have_url(re.compile(r"text=billing$"))
    page.get_by_role("button", name="Clear filters", exact=True).click()
    expect(search).to_have_value("")
    expect(row(page, "other")).to_be_visible()


def test_a_schedule_that_is_opened_again_is_up_to_date(page: Page, service: Service) -> None:
    """A view begins with the cached schedule of the list. Later changes must replace it."""
    service.client.create("report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules")
    page.get_by_role("link", name="report", exact=True).click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.go_back()
    expect(row(page, "report")).to_be_visible()
    service.client.pause("report", note="a move")
    page.get_by_role("link", name="report", exact=True).click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    expect(page.get_by_text("a move")).to_be_visible()
