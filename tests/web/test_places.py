"""The other views: problems, queues, calendars, workflows, keys, audit log, instances, settings."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.web.kit import Service
from tompion.client import Client

FAR = "0 0 1 1 *"
HOLIDAYS = """BEGIN:VCALENDAR
BEGIN:VEVENT
DTSTART;VALUE=DATE:20261225
DTEND;VALUE=DATE:20261227
END:VEVENT
BEGIN:VEVENT
DTSTART:20261231T120000Z
END:VEVENT
END:VCALENDAR
"""


def test_the_overview_links_to_failed_runs(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:fails")
    service.client.create("often", cron="* * * * *", function="tasks:work")
    page.goto(service.url)
    expect(page.get_by_label("Problems")).to_contain_text("All good.")
    expect(page.get_by_label("Activity").get_by_role("link", name="often")).to_be_visible()
    expect(page.get_by_label("Instances")).to_contain_text("Engine")
    service.client.trigger("report")
    concern = page.get_by_label("Problems").get_by_role("link", name="report")
    expect(concern).to_be_visible()
    concern.click()
    expect(page.get_by_role("cell", name="Failed")).to_be_visible()


def test_a_queue_is_paused_and_resumed(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/queues")
    page.get_by_role("button", name="Pause queue default").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("an upgrade")
    page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("cell", name="Paused")).to_contain_text("an upgrade")
    assert [item.paused for item in service.client.queues.list() if item.queue == "default"] == [True]
    page.get_by_role("button", name="Resume queue default").click()
    expect(page.get_by_role("cell", name="Active", exact=True)).to_be_visible()


def test_dates_of_a_calendar_are_imported_from_a_file(page: Page, service: Service, tmp_path: Path) -> None:
    file = tmp_path / "holidays.ics"
    file.write_text(HOLIDAYS)
    page.goto(f"{service.url}/calendars")
    page.get_by_role("button", name="New calendar").click()
    page.get_by_role("textbox", name="Name").fill("closing-days")
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("2 dates from holidays.ics. 1 timed or recurring event skipped")).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("cell", name="closing-days", exact=True)).to_be_visible()
    assert service.client.calendars.get("closing-days").dates == ("2026-12-25", "2026-12-26")


def test_a_calendar_has_a_url_with_its_dates_and_schedules(page: Page, service: Service) -> None:
    service.client.calendars.put({"name": "holidays", "dates": ["2026-12-25", "2027-01-01"]})
    service.client.create("rests", cron=FAR, function="tasks:work", exclude={"named": ["holidays"]})
    service.client.create("works", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/calendars")
    page.get_by_role("link", name="holidays", exact=True).click()
    one = page.get_by_label("Calendar holidays")
    expect(one).to_contain_text("2027-01-01")
    page.reload()
    expect(one.get_by_role("link", name="rests")).to_be_visible()
    expect(one.get_by_role("link", name="works")).to_have_count(0)


def test_a_workflow_gets_a_new_version(page: Page, service: Service) -> None:
    service.client.workflows.put("ping", {"executor": "http", "options": {"url": "https://example.org/a"}})
    page.goto(f"{service.url}/workflows")
    page.get_by_role("link", name="ping", exact=True).click()
    page.get_by_role("button", name="Edit").click()
    written = page.get_by_role("textbox", name="Definition (JSON)")
    written.fill("{")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Invalid JSON")).to_be_visible()
    written.fill('{"executor": "http", "options": {"url": "https://example.org/b"}}')
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Changes in version 2")).to_be_visible()
    expect(page.get_by_role("insertion")).to_contain_text("https://example.org/b")
    page.goto(f"{page.url}?version=1")
    expect(page.get_by_label("Definition (JSON)", exact=True)).to_contain_text("https://example.org/a")
    page.get_by_role("button", name="Pause workflow ping").click()
    page.get_by_role("dialog").get_by_label("Reason").fill("it moves")
    page.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_text("Paused", exact=True)).to_be_visible()
    expect(page.get_by_text("“it moves”")).to_be_visible()
    assert service.client.workflows.get("ping").paused
    service.client.workflows.resume("ping")


def test_a_missing_workflow_links_to_the_list(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/workflows/none")
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("It may have been deleted or belong to another namespace.")
    expect(alert.get_by_role("button", name="Try again")).to_have_count(0)
    alert.get_by_role("link", name="Workflows").click()
    expect(page.get_by_role("heading", name="Workflows", level=1)).to_be_visible()


def test_a_key_is_shown_once_and_revoked(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/keys")
    page.get_by_role("button", name="New API key").click()
    page.get_by_role("textbox", name="Name").fill("for-ci")
    page.get_by_role("button", name="Create key").click()
    secret = page.get_by_label("API key", exact=True).inner_text().strip()
    with Client(service.url, key=secret) as client:
        client.schedules.list()
        page.get_by_role("button", name="Done").click()
        expect(page.get_by_text(secret)).to_have_count(0)
        page.get_by_role("button", name="Revoke for-ci").click()
        page.get_by_role("button", name="Revoke", exact=True).click()
        expect(page.get_by_role("cell", name="Revoked")).to_be_visible()
    key_id = secret.split("_")[1]
    assert [item.revoked_at is not None for item in service.client.keys.list().items if item.key_id == key_id] == [True]


def test_the_audit_log_follows_changes(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/audit")
    expect(page.get_by_role("row").nth(1)).to_contain_text("Created")
    service.client.pause("report", note="for a test")
    expect(page.get_by_role("row").nth(1)).to_contain_text("Paused")
    service.client.calendars.put({"name": "holidays", "dates": ["2026-12-25"]})
    expect(page.get_by_role("row").nth(1)).to_contain_text("Calendar holidays")
    page.get_by_role("combobox", name="Action").or_(page.get_by_role("textbox", name="Action")).first.click()
    page.get_by_role("option", name="Paused", exact=True).click()
    expect(page).to_have_url(re.compile("operation=pause"))
    expect(page.get_by_role("row").nth(1)).to_contain_text("report")
    expect(page.get_by_role("row").filter(has_text="Saved calendar")).to_have_count(0)


def test_defaults_are_left_out_of_the_changes_of_a_new_schedule(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work", labels={"team": "data"})
    page.goto(f"{service.url}/schedules/report/audit")
    change = page.get_by_role("row").nth(1)
    expect(change).to_contain_text("labels.team")
    expect(change).not_to_contain_text("overlap_policy")


def test_instances_and_settings_are_shown(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/instances")
    expect(page.get_by_role("cell", name="Healthy").first).to_be_visible()
    page.goto(f"{service.url}/settings")
    page.get_by_label("Search settings").fill("lookahead")
    expect(page.get_by_role("row")).to_have_count(2)
    row = page.get_by_role("row").nth(1)
    expect(row).to_contain_text("How far ahead spread distributes missed ticks.")
    expect(row).to_contain_text("600001m")
    page.get_by_label("Search settings").fill("port that the service listens on")
    expect(page.get_by_role("row").nth(1)).to_contain_text("default: 8640")
    page.get_by_label("Search settings").fill("no setting matches this")
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_role("row").nth(20)).to_be_visible()
