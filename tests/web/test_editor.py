"""The editor: form and JSON, preview and effect of a change, conflicts."""

from __future__ import annotations

import json
from urllib.request import urlopen

from playwright.sync_api import Page, expect

from tests.web.kit import Service

FAR = "0 0 1 1 *"


def test_create_with_the_builder(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/schedules")
    page.get_by_role("link", name="New schedule").click()
    page.get_by_role("textbox", name="Schedule ID", exact=True).fill("weekly-report")
    builder = page.get_by_role("group", name="Cron builder")
    expect(builder.get_by_label("Time of day")).to_have_value("09:00")
    builder.get_by_label("Time of day").fill("07:30")
    builder.get_by_text("Fri", exact=True).click()
    expect(page.get_by_label("Cron", exact=True)).to_have_value("30 7 * * MON-THU")
    page.get_by_role("combobox", name="Time zone").fill("Europe/Berlin")
    expect(page.get_by_label("Summary")).to_have_text("At 07:30, Monday to Thursday, in Europe/Berlin time.")
    expect(page.get_by_label("Next runs").get_by_role("listitem")).to_have_count(20)
    expect(page.get_by_label("Upcoming DST changes")).to_contain_text("no tick is near the change")
    page.get_by_label("Function", exact=True).fill("tasks:work")
    page.get_by_role("button", name="Policies").click()
    page.get_by_label("Max attempts").fill("3")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("heading", name="weekly-report", level=1)).to_be_visible()
    schedule = service.client.get("weekly-report")
    assert (list(schedule.cron), schedule.timezone) == (["30 7 * * MON-THU"], "Europe/Berlin")
    assert (schedule.function, schedule.max_attempts) == ("tasks:work", 3)


def test_the_target_of_an_executor_is_edited_as_json(page: Page, service: Service) -> None:
    service.client.create("report", cron="0 9 * * *", http={"url": "https://a.example/run", "method": "PUT"})
    page.goto(f"{service.url}/schedules/report")
    expect(page.get_by_text("http https://a.example/run")).to_be_visible()
    page.get_by_role("link", name="Edit").click()
    target = page.get_by_label("Target", exact=True)
    expect(target).to_have_value('{\n  "http": {\n    "method": "PUT",\n    "url": "https://a.example/run"\n  }\n}')
    target.fill('{"http": ')
    expect(target).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    target.fill('{"http": {"url": "https://b.example/run"}}')
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("http https://b.example/run")).to_be_visible()
    assert service.client.get("report").definition.action.target == {"url": "https://b.example/run"}


def test_errors_are_shown_at_their_fields_while_typing(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/new")
    page.get_by_label("Cron", exact=True).fill("61 * * * *")
    expect(page.get_by_role("alert")).to_contain_text("61")
    expect(page.get_by_label("Cron", exact=True)).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Cron", exact=True).fill("30 2 * * *")
    page.get_by_role("combobox", name="Time zone").fill("Europe/Berlin")
    expect(page.get_by_label("Upcoming DST changes")).to_contain_text("02:30 does not exist that day")
    page.get_by_label("Cron", exact=True).fill("0 0 30 2 *")
    expect(page.get_by_label("Next runs")).to_contain_text("this schedule never runs")


def test_the_effect_of_an_edit_is_shown_before_it_is_saved(page: Page, service: Service) -> None:
    service.client.create("report", cron="0 9 * * *", function="tasks:work", payload={"keep": [1, None]})
    page.goto(f"{service.url}/schedules/report")
    page.get_by_role("link", name="Edit").click()
    effect = page.get_by_label("Effect of this change")
    expect(effect).to_contain_text("No change to the next 20 runs.")
    page.get_by_label("Cron", exact=True).fill("0 9,21 * * *")
    expect(effect).to_contain_text("Next 20 runs: 0 removed, 10 added, 10 unchanged.")
    assert service.client.get("report").definition_version == 1, "nothing has been saved"
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="report", level=1)).to_have_text("report")
    expect(page.get_by_text("At 09:00 and 21:00 every day, in UTC.")).to_be_visible()
    saved = service.client.get("report")
    assert (saved.definition_version, saved.payload) == (2, {"keep": [1, None]})


def test_an_edit_conflict_shows_both_changes(page: Page, service: Service) -> None:
    service.client.create("report", cron="0 9 * * *", function="tasks:work", description="first")
    page.goto(f"{service.url}/schedules/report/edit")
    page.get_by_label("Cron", exact=True).fill("0 10 * * *")
    service.client.patch("report", description="theirs")
    page.get_by_role("button", name="Save").click()
    dialog = page.get_by_role("dialog", name="Edit conflict")
    expect(dialog.get_by_label("Their changes")).to_contain_text("theirs")
    expect(dialog.get_by_label("Your changes")).to_contain_text("0 10 * * *")
    stored = service.client.get("report")
    assert (list(stored.cron), stored.description) == (["0 9 * * *"], "theirs"), "nothing was overwritten"
    dialog.get_by_role("button", name="Merge").click()
    expect(page.get_by_label("Description")).to_have_value("theirs")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="report", level=1)).to_have_text("report")
    stored = service.client.get("report")
    assert (list(stored.cron), stored.description) == (["0 10 * * *"], "theirs")


def test_a_field_that_both_users_changed_is_marked(page: Page, service: Service) -> None:
    service.client.create("report", cron="0 9 * * *", function="tasks:work", description="first")
    page.goto(f"{service.url}/schedules/report/edit")
    page.get_by_label("Description").fill("mine")
    page.get_by_label("Cron", exact=True).fill("0 10 * * *")
    service.client.patch("report", description="theirs", queue="slow")
    page.get_by_role("button", name="Save").click()
    dialog = page.get_by_role("dialog", name="Edit conflict")
    expect(dialog).to_contain_text("Both edits changed: description. Merging keeps yours.")
    for side in ("Their changes", "Your changes"):
        marked = dialog.get_by_label(side).get_by_role("listitem").filter(has_text="conflict")
        expect(marked).to_have_count(1)
        expect(marked).to_contain_text("description")


def test_invalid_json_cannot_be_saved(page: Page, service: Service) -> None:
    """Once invalid JSON was ignored and the previous value was saved."""
    service.client.create("report", cron=FAR, function="tasks:work", payload={"day": 1})
    page.goto(f"{service.url}/schedules/report/edit")
    save = page.get_by_role("button", name="Save")
    page.get_by_label("Input").fill('{"day": 2')
    expect(save).to_be_disabled()
    expect(page.get_by_role("status").filter(has_text="Invalid JSON")).to_be_visible()
    page.keyboard.press("Control+Enter")
    page.get_by_label("Input").fill('{"day": 2}')
    expect(save).to_be_enabled()
    page.get_by_text("JSON", exact=True).click()
    written = page.get_by_label("JSON definition")
    whole = written.input_value()
    written.fill(whole + "}")
    expect(save).to_be_disabled()
    expect(page.get_by_role("radio", name="Form")).to_be_disabled()
    written.fill(whole)
    assert service.client.get("report").definition_version == 1, "nothing was saved meanwhile"
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="report", level=1)).to_have_text("report")
    assert service.client.get("report").payload == {"day": 2}


def test_several_intervals_have_separate_rows(page: Page, service: Service) -> None:
    """Once a change of the first interval removed the second one."""
    service.client.create("often", intervals=["1h", {"every": "90m", "offset": "5m"}], function="tasks:work")
    page.goto(f"{service.url}/schedules/often/edit")
    page.get_by_label("Interval", exact=True).fill("2h")
    expect(page.get_by_label("Offset 2")).to_have_value("5m")
    page.get_by_role("button", name="Cron", exact=True).click()
    page.get_by_label("Cron", exact=True).fill("0 6 * * *")
    page.get_by_role("button", name="Add cron").click()
    page.get_by_role("group", name="Cron builder 2").get_by_label("Time of day").fill("18:30")
    expect(page.get_by_label("Cron 2", exact=True)).to_have_value("30 18 * * *")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="often", level=1)).to_have_text("often")
    often = service.client.get("often")
    assert list(often.cron) == ["0 6 * * *", "30 18 * * *"]
    assert [(item.every_s, item.offset_s) for item in often.intervals] == [(7_200, 0), (5_400, 300)]


def test_several_excluded_dates_can_be_typed(page: Page, service: Service) -> None:
    """Once the comma disappeared while typing."""
    page.goto(f"{service.url}/new")
    page.get_by_label("Excluded dates", exact=True).press_sequentially("2026-12-25, 2026-12-26")
    expect(page.get_by_label("Excluded dates", exact=True)).to_have_value("2026-12-25, 2026-12-26")
    page.get_by_role("button", name="Exclude a time range").click()
    page.get_by_label("Exclude from").fill("2026-12-30T18:00")
    page.get_by_label("Exclude to").fill("2027-01-02")
    page.get_by_role("textbox", name="Schedule ID", exact=True).fill("quiet")
    page.get_by_label("Function", exact=True).fill("tasks:work")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("heading", name="quiet", level=1)).to_be_visible()
    exclude = service.client.get("quiet").exclude
    assert list(exclude.dates) == ["2026-12-25", "2026-12-26"]
    assert [item.end for item in exclude.windows] == ["2027-01-02"]


def test_structured_calendars_have_a_form(page: Page, service: Service) -> None:
    """Once the form of a schedule with calendars only was empty."""
    office = {"hour": [9, {"start": 13, "end": 17, "step": 2}], "day_of_week": "MON-FRI"}
    service.client.create("office", calendars=[office], exclude={"holidays": ["DE-BY"]}, function="tasks:work")
    before = service.client.get("office")
    page.goto(f"{service.url}/schedules/office/edit")
    calendar = page.get_by_role("group", name="calendar 1")
    expect(calendar.get_by_label("Hour")).to_have_value("9,13-17/2")
    expect(calendar.get_by_label("Day of week")).to_have_value("MON-FRI")
    expect(page.get_by_label("Public holidays (country codes)")).to_have_value("DE-BY")
    calendar.get_by_label("Minute").fill("30")
    page.get_by_label("Public holidays (country codes)").fill("DE-BY, AT")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="office", level=1)).to_have_text("office")
    after = service.client.get("office")
    assert after.calendars[0].minute == "30"
    assert [item.country for item in after.exclude.holidays] == ["DE", "AT"]
    assert after.exclude.holidays[0] == before.exclude.holidays[0]


def test_leaving_with_unsaved_changes_needs_a_confirmation(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules/report/edit")
    page.get_by_label("Cron", exact=True).fill("0 10 * * *")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Runs", exact=True).click()
    dialog = page.get_by_role("dialog", name="Discard unsaved changes?")
    dialog.get_by_role("button", name="Keep editing").click()
    expect(page.get_by_label("Cron", exact=True)).to_have_value("0 10 * * *")
    page.get_by_role("button", name="Cancel").click()
    dialog.get_by_role("button", name="Discard", exact=True).click()
    expect(page.get_by_role("heading", name="report", level=1)).to_have_text("report")
    assert service.client.get("report").definition_version == 1


def test_an_error_at_a_field_does_not_move_other_inputs(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/new")
    neighbour = page.get_by_role("combobox", name="Cron syntax")
    before = neighbour.bounding_box()
    zone = page.get_by_role("combobox", name="Time zone")
    zone.fill("Europe/Berln")
    expect(zone).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_text("did you mean 'Europe/Berlin'?")).to_have_count(2)
    assert neighbour.bounding_box() == before


def test_duplicate(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work", labels={"team": "data"}, max_attempts=4)
    page.goto(f"{service.url}/schedules/report")
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("menuitem", name="Duplicate").click()
    expect(page.get_by_role("textbox", name="Schedule ID", exact=True)).to_have_value("report-copy")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("heading", name="report-copy", level=1)).to_be_visible()
    assert service.client.get("report-copy").definition == service.client.get("report").definition


def test_a_definition_can_be_edited_as_json(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work")
    page.goto(f"{service.url}/schedules/report/edit")
    page.get_by_text("JSON", exact=True).click()
    written = page.get_by_label("JSON definition")
    written.fill('{"intervals": ["90m"], "start_at": "2030-01-01T00:00:00Z", "function": "tasks:work", "shadow": true}')
    expect(page.get_by_label("Summary")).to_contain_text("Every 90 minutes")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Shadow", exact=True)).to_be_visible()
    assert service.client.get("report").shadow


def test_the_document_of_the_api_is_accepted_whole(page: Page, service: Service) -> None:
    service.client.create("report", cron="0 9 * * *", function="tasks:work", remaining_actions=5)
    with urlopen(f"{service.url}/api/v1/schedules/report") as answer:
        document = json.load(answer)
    page.goto(f"{service.url}/schedules/report/edit")
    page.get_by_text("JSON", exact=True).click()
    page.get_by_label("JSON definition").fill(json.dumps({**document, "cron": ["0 10 * * *"]}))
    expect(page.get_by_label("Summary")).to_contain_text("At 10:00")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="report", level=1)).to_have_text("report")
    saved = service.client.get("report")
    assert (saved.cron, saved.remaining_actions, saved.definition_version) == (("0 10 * * *",), 5, 2)


def test_a_schedule_that_only_runs_when_triggered_can_be_edited(page: Page, service: Service) -> None:
    service.client.create("manual", cron=[], function="tasks:work", timezone="Europe/Berlin")
    page.goto(f"{service.url}/schedules/manual/edit")
    expect(page.get_by_label("Cron", exact=True)).to_have_count(0)
    page.get_by_label("Description", exact=True).fill("by hand")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="manual", level=1)).to_have_text("manual")
    saved = service.client.get("manual")
    assert (saved.cron, saved.description, saved.next_run_at) == ((), "by hand", None)


def test_a_flat_document_is_accepted(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/new")
    page.get_by_text("JSON", exact=True).click()
    written = page.get_by_label("JSON definition")
    written.fill('{"cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin", "function": "tasks:work"}')
    expect(page.get_by_label("Summary")).to_contain_text("At 09:00, Monday to Friday")
    page.get_by_text("Form", exact=True).click()
    expect(page.get_by_label("Cron", exact=True)).to_have_value("0 9 * * MON-FRI")


def test_a_cron_value_of_another_type_does_not_break_the_form(page: Page, service: Service) -> None:
    """Once a number in place of a text replaced the view by an error, and the draft was lost."""
    page.goto(f"{service.url}/new")
    page.get_by_text("JSON", exact=True).click()
    page.get_by_label("JSON definition").fill('{"cron": [5], "function": "tasks:work"}')
    page.get_by_text("Form", exact=True).click()
    expect(page.get_by_label("Cron", exact=True)).to_have_value("5")


def test_saving_a_deleted_schedule_shows_an_error(page: Page, service: Service) -> None:
    service.client.create("report", cron="0 9 * * *", function="tasks:work")
    page.goto(f"{service.url}/schedules/report/edit")
    page.get_by_label("Cron", exact=True).fill("0 10 * * *")
    service.client.delete("report")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("report was deleted in the meantime")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_deleted_schedule_cannot_be_edited(page: Page, service: Service) -> None:
    service.client.create("report", cron="0 9 * * *", function="tasks:work")
    service.client.delete("report")
    page.goto(f"{service.url}/schedules/report/edit")
    expect(page.get_by_role("heading", name="report was deleted")).to_be_visible()
    page.get_by_role("link", name="Duplicate").click()
    expect(page.get_by_label("Cron", exact=True)).to_have_value("0 9 * * *")
