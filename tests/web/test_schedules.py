"""The list of schedules and the page of one: finding, acting, and seeing what others do."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.web.kit import Service

FAR = "0 0 1 1 *"
"""A tick in the new year: nothing happens by itself while a test looks."""


def row(page: Page, schedule_id: str) -> Locator:
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=schedule_id, exact=True))


def fact(page: Page, name: str) -> Locator:
    return page.locator("dl > div").filter(has=page.get_by_text(name, exact=True))


def test_a_list_row_says_what_when_and_how_it_went(page: Page, service: Service) -> None:
    service.other.create("report", cron="0 9 * * MON-FRI", timezone="America/New_York", function="tasks:work")
    page.goto(f"{service.url}/schedules")
    expect(page).to_have_title("Schedules · Tompion")
    shown = row(page, "report")
    expect(shown).to_contain_text("At 09:00, Monday to Friday, in America/New_York time.")
    expect(shown).to_contain_text("09:00 New York")
    expect(shown).to_contain_text(re.compile(r"in \d+"))
    expect(shown).to_contain_text("No runs")


def test_every_view_has_an_address_that_survives_a_reload(page: Page, service: Service) -> None:
    service.other.create("billing/report", cron=FAR, function="tasks:work")
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


def test_pause_with_by_and_until_and_resume(page: Page, service: Service) -> None:
    service.other.create("report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules")
    page.get_by_role("button", name="Pause report").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Reason").fill("the warehouse is being moved")
    dialog.get_by_label("On behalf of").fill("ann")
    dialog.get_by_label("Resume automatically at").fill("2030-01-02T09:00")
    dialog.get_by_role("button", name="Pause", exact=True).click()
    expect(row(page, "report")).to_contain_text("Paused by ann")
    stored = service.other.get("report")
    assert (stored.paused_by, stored.pause_note) == ("ann", "the warehouse is being moved")
    assert stored.paused_until is not None
    assert stored.paused_until.isoformat() == "2030-01-02T08:00:00+00:00", "nine in Berlin"
    page.get_by_role("link", name="report", exact=True).click()
    expect(page.get_by_text("“the warehouse is being moved”")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    page.get_by_role("dialog").get_by_role("button", name="Resume", exact=True).click()
    expect(page.get_by_text("Active", exact=True)).to_be_visible()
    assert service.other.get("report").state == "active"


def test_a_pause_that_is_over_already_is_not_sent(page: Page, service: Service) -> None:
    service.other.create("report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules")
    page.get_by_role("button", name="Pause report").click()
    page.get_by_label("Resume automatically at").fill("2020-01-01T00:00")
    expect(page.get_by_text("Must be in the future")).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    assert service.other.get("report").state == "active"


def test_trigger_from_the_row_and_look_at_the_run(page: Page, service: Service) -> None:
    service.other.create("report", cron=FAR, function="tasks:work", payload={"day": "any"})
    page.goto(f"{service.url}/schedules")
    page.get_by_role("button", name="Run report now").click()
    outcome = row(page, "report").get_by_role("listitem").get_by_role("link")
    expect(outcome).to_have_attribute("aria-label", re.compile("Success"))
    outcome.click()
    expect(page.get_by_label("Result", exact=True)).to_have_text('{\n  "rows": 12\n}')
    expect(page.get_by_label("Input", exact=True)).to_have_text('{\n  "day": "any"\n}')
    expect(page.get_by_label("Timings")).to_contain_text("Started")
    expect(page.get_by_text(service.other.runs("report").items[0].key)).to_be_visible()


def test_skip_the_next_tick(page: Page, service: Service) -> None:
    service.other.create("report", cron=FAR, function="tasks:work", timezone="Europe/Berlin")
    first = service.other.get("report").next_run_at
    page.goto(f"{service.url}/schedules")
    page.get_by_role("button", name="Skip next run of report").click()
    expect(page.get_by_role("status")).to_contain_text("will be skipped")
    assert list(service.other.describe("report").skipped_ticks) == [first]
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
    assert service.other.get("report").next_run_at == first
    ticks.get_by_role("button", name="Skip run at").click()
    skips = page.get_by_label("Skipped runs")
    expect(skips).to_contain_text(f"{year}-01-01")
    skips.get_by_role("button", name="Undo skip").click()
    expect(skips).not_to_be_visible()
    assert service.other.describe("report").skipped_ticks == ()


def test_a_skip_is_taken_back_where_it_was_asked_for(page: Page, service: Service) -> None:
    """Also when another tick has become the next one: it is the tick that was shown that is meant."""
    service.other.create("report", cron=FAR, function="tasks:work")
    first = service.other.get("report").next_run_at
    page.goto(f"{service.url}/schedules")
    page.get_by_role("button", name="Skip next run of report").click()
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status")).to_contain_text("will run")
    assert service.other.get("report").next_run_at == first
    assert [each.operation for each in service.other.history("report", limit=3).items] == ["unskip", "skip", "create"]


def test_the_list_says_how_many_match_and_of_how_many(page: Page, service: Service) -> None:
    for number in range(3):
        service.other.create(f"report-{number}", cron=FAR, function="tasks:work", labels={"team": "ab"[number % 2]})
    page.goto(f"{service.url}/schedules")
    head = page.get_by_role("main")
    expect(head.get_by_text("3", exact=True)).to_be_visible()
    page.goto(f"{service.url}/schedules?label=team%3Da")
    expect(head.get_by_text("2 of 3", exact=True)).to_be_visible()
    service.other.delete("report-0")
    expect(head.get_by_text("1 of 2", exact=True)).to_be_visible()


def test_what_another_client_does_is_seen_as_it_happens(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/schedules")
    expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Live updates on"))).to_be_visible()
    service.other.create("made-elsewhere", cron=FAR, function="tasks:work")
    expect(row(page, "made-elsewhere")).to_be_visible()
    service.other.pause("made-elsewhere", paused_by="bob")
    expect(row(page, "made-elsewhere")).to_contain_text("Paused by bob")
    page.get_by_role("link", name="made-elsewhere").click()
    page.get_by_role("link", name="Runs", exact=True).last.click()
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    service.other.trigger("made-elsewhere")
    expect(page.get_by_role("cell", name="Success")).to_be_visible()


def test_filters_stand_in_the_address_and_bulk_shows_what_it_touches(page: Page, service: Service) -> None:
    for name, team in (("invoices", "billing"), ("reminders", "billing"), ("backup", "data")):
        service.other.create(name, cron=FAR, function="tasks:work", labels={"team": team})
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
    assert service.other.get("invoices").state == "active", "nothing has happened yet"
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("2 schedules paused")
    states = {each.schedule_id: each.state for each in service.other.list_schedules().items}
    assert states == {"invoices": "paused", "reminders": "paused", "backup": "active"}


def test_a_chosen_few_are_triggered(page: Page, service: Service) -> None:
    for name in ("one", "two", "three"):
        service.other.create(name, cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules")
    page.get_by_role("checkbox", name="Select one", exact=True).check()
    page.get_by_role("checkbox", name="Select two", exact=True).check()
    page.get_by_role("button", name="2 selected").click()
    page.get_by_role("menuitem", name="Run 2 selected schedules now").click()
    page.get_by_role("button", name="Run now").click()
    expect(page.get_by_role("status")).to_contain_text("2 runs started")
    assert {run.schedule_id for run in service.other.recent_runs().items} == {"one", "two"}


def test_restore_a_version(page: Page, service: Service) -> None:
    service.other.create("report", cron="0 9 * * *", function="tasks:work")
    service.other.patch("report", cron="0 10 * * *")
    page.goto(f"{service.url}/schedules/report/versions")
    expect(page.get_by_role("deletion")).to_contain_text("0 9 * * *")
    page.get_by_role("button", name="Restore version 1").click()
    page.get_by_role("button", name="Restore", exact=True).click()
    expect(page.get_by_text("At 09:00 every day, in UTC.")).to_be_visible()
    expect(page.get_by_role("row").nth(1)).to_contain_text("3 Current")
    assert service.other.get("report").version == 3


def test_a_backfill_to_the_end(page: Page, service: Service) -> None:
    service.other.create("report", cron="0 * * * *", function="tasks:work", timezone="UTC")
    page.goto(f"{service.url}/schedules/report/backfills")
    page.get_by_label("Start").fill("2026-01-01T01:00")
    page.get_by_label("End (inclusive)").fill("2026-01-01T06:00")
    expect(page.get_by_text("6 runs will be started.")).to_be_visible()
    page.get_by_role("button", name="Start backfill").click()
    expect(page.get_by_text("6 of 6 runs")).to_be_visible()
    expect(page.get_by_text("Done", exact=True)).to_be_visible()
    expect(fact(page, "Total")).to_contain_text("6 succeeded")


def test_keyboard_alone_pauses_a_schedule(page: Page, service: Service) -> None:
    service.other.create("report", cron=FAR, function="tasks:work")
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
    assert service.other.get("report").state == "paused"


def test_the_focus_stays_in_a_row_that_is_paused(page: Page, service: Service) -> None:
    service.other.create("report", cron=FAR, function="tasks:work")
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


def test_the_first_tab_leads_past_the_navigation(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/schedules")
    expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to main content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="New schedule")).to_be_focused()


def test_who_paused_it_is_within_reach_of_keyboard_and_finger(page: Page, service: Service) -> None:
    service.other.create("report", cron=FAR, function="tasks:work", timezone="Europe/Berlin")
    service.other.pause("report", paused_by="ann", note="a move", until="2030-01-01T00:00:00Z")
    page.goto(f"{service.url}/schedules")
    row(page, "report").get_by_role("link", name="report").focus()
    page.keyboard.press("Tab")
    told = page.get_by_role("tooltip")
    expect(told).to_contain_text("resumes Tue 2030-01-01 01:00")
    expect(told).to_contain_text("“a move”")
    page.keyboard.press("Escape")
    expect(told).to_have_count(0)
    page.goto(f"{service.url}/schedules/report")
    expect(
        page.get_by_text(re.compile("Paused by ann on .* · resumes Tue 2030-01-01 01:00 · “a move”"))
    ).to_be_visible()


def test_deeds_of_the_palette(page: Page, service: Service) -> None:
    service.other.create("report", cron=FAR, function="tasks:work")
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


def test_what_is_chosen_in_the_palette_can_be_seen(page: Page, service: Service) -> None:
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


def test_what_could_not_be_done_is_said_with_the_way_out(page: Page, service: Service) -> None:
    service.other.create("report", cron=FAR, function="tasks:work")
    refused = {"status": 409, "code": "busy", "detail": "it is being moved", "hint": "try it after the move"}
    page.route("**/trigger", lambda route: route.fulfill(status=409, json=refused))
    page.goto(f"{service.url}/schedules")
    page.get_by_role("button", name="Run report now").click()
    expect(page.get_by_role("status")).to_contain_text("It is being moved")
    expect(page.get_by_role("status")).to_contain_text("Try it after the move")


def test_delete_says_what_stays(page: Page, service: Service) -> None:
    service.other.create("report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules/report")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Delete…").click()
    dialog = page.get_by_role("dialog", name="Delete report?")
    expect(dialog).to_contain_text("Its history stays available")
    assert service.other.get("report").state == "active", "nothing has happened yet"
    dialog.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="More actions")).to_have_count(0)
    assert service.other.get("report").state == "closed"


def test_filters_help_to_write_what_they_want(page: Page, service: Service) -> None:
    service.other.put_workflow("nightly", {"executor": "http", "options": {"url": "https://example.org/a"}})
    service.other.create("report", cron=FAR, function="tasks:work", labels={"team": "data"})
    service.other.create("etl", cron=FAR, workflow_id="nightly")
    page.goto(f"{service.url}/schedules")
    page.get_by_role("textbox", name="Label").fill("team")
    expect(page.get_by_text("Use key=value")).to_be_visible()
    expect(row(page, "etl")).to_be_visible()
    page.get_by_role("textbox", name="Label").fill("")
    page.get_by_role("combobox", name="Workflow").fill("nig")
    page.get_by_role("option", name="nightly").click()
    expect(row(page, "report")).to_have_count(0)
    expect(row(page, "etl")).to_be_visible()


def test_the_time_zone_switch_is_kept(page: Page, service: Service) -> None:
    service.other.create("report", times=["2030-01-01T00:00:00Z"], timezone="Asia/Tokyo", function="tasks:work")
    page.goto(f"{service.url}/schedules")
    shown = row(page, "report").get_by_role("time")
    expect(shown).to_have_text("Tue 1 Jan 2030 01:00")
    page.get_by_text("Schedule", exact=True).first.click()
    expect(shown).to_have_text("Tue 1 Jan 2030 09:00")
    page.get_by_text("UTC", exact=True).first.click()
    expect(shown).to_have_text("Tue 1 Jan 2030 00:00")
    page.reload()
    expect(shown).to_have_text("Tue 1 Jan 2030 00:00")


def test_a_search_follows_the_typing_and_loses_no_letter(page: Page, service: Service) -> None:
    """An answer to the first letters came back into the field, over those that had been typed meanwhile."""
    for name in ("billing", "bills", "other"):
        service.other.create(name, cron=FAR, function="tasks:work")
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


def test_a_schedule_is_shown_as_it_is_now_when_it_is_opened_again(page: Page, service: Service) -> None:
    """A view begins with what the list has read; what has happened since must not stay hidden behind it."""
    service.other.create("report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules")
    page.get_by_role("link", name="report", exact=True).click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.go_back()
    expect(row(page, "report")).to_be_visible()
    service.other.pause("report", note="a move")
    page.get_by_role("link", name="report", exact=True).click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    expect(page.get_by_text("a move")).to_be_visible()
