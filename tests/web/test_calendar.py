"""The calendar of a schedule tells what was not read from what is empty, and stands in the address."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from playwright.sync_api import Page, expect

from tests.web.kit import Service
from tests.web.test_detail import change

OF = "(SELECT schedule_key FROM schedules WHERE schedule_id = ?)"


def named(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def cell(page: Page, day: date, text: str) -> None:
    """A day of the month that is shown says what falls on it."""
    label = re.compile(rf"^{named(day)}: {text}")
    expect(page.get_by_role("button", name=label)).to_be_visible()


def drop(service: Service, name: str, after: datetime, until: datetime, ticks: int) -> None:
    change(
        service,
        f"INSERT INTO dropped_ranges SELECT {OF}, ?, ?, ?, 'missed', 1, ?",
        name, int(after.timestamp()), int(until.timestamp()), ticks, int(until.timestamp()) * 1_000,
    )  # fmt: skip


def test_every_day_of_a_minutely_schedule_has_its_ticks(page: Page, service: Service) -> None:
    """It showed 500 ticks, and said that tomorrow there were none."""
    service.other.create("often", cron="* * * * *", timezone="UTC", function="tasks:work")
    page.add_init_script("localStorage.setItem('tompion.zone', 'utc')")
    today = datetime.now(UTC).date()
    tomorrow = today + timedelta(days=1)
    far = (today.replace(day=1) + timedelta(days=70)).replace(day=1)
    page.goto(f"{service.url}/schedules/often?month={tomorrow:%Y-%m}&day={tomorrow}")
    cell(page, tomorrow, "1,440 upcoming$")
    agenda = page.get_by_label(f"Runs on {tomorrow}")
    expect(agenda.get_by_role("listitem").first).to_contain_text("00:00:00")
    expect(agenda).to_contain_text("1,200 upcoming")
    page.goto(f"{service.url}/schedules/often?month={far:%Y-%m}")
    cell(page, far, "1,440 upcoming$")
    cell(page, far + timedelta(days=27), "1,440 upcoming$")


def test_what_is_too_much_to_be_counted_is_not_called_empty(page: Page, service: Service) -> None:
    service.other.create("always", cron="* * * * * *", timezone="UTC", function="tasks:work")
    service.other.pause("always")
    page.add_init_script("localStorage.setItem('tompion.zone', 'utc')")
    far = (datetime.now(UTC).date().replace(day=1) + timedelta(days=70)).replace(day=15)
    page.goto(f"{service.url}/schedules/always?month={far:%Y-%m}&day={far}")
    cell(page, far, "Not loaded$")
    expect(page.get_by_label(f"Runs on {far}")).to_contain_text("Not loaded.")


def test_an_hourly_schedule_goes_on_after_three_weeks(page: Page, service: Service) -> None:
    service.other.create("hourly", cron="0 * * * *", timezone="Europe/Berlin", function="tasks:work")
    far = (datetime.now(UTC).date().replace(day=1) + timedelta(days=100)).replace(day=1)
    page.goto(f"{service.url}/schedules/hourly?month={far:%Y-%m}")
    cell(page, far + timedelta(days=13), "24 upcoming$")
    cell(page, far + timedelta(days=26), r"\d\d upcoming$")


def test_what_was_dropped_lies_on_its_days(page: Page, service: Service) -> None:
    """An outage of three days lay on its last day, as 72 ticks."""
    page.add_init_script("localStorage.setItem('tompion.zone', 'utc')")
    service.other.create("hourly", cron="0 * * * *", timezone="UTC", function="tasks:work")
    service.other.create("daily", cron="0 9 * * *", timezone="UTC", function="tasks:work")
    begin = datetime.now(UTC).date() - timedelta(days=40)
    first = datetime.combine(begin, time(), UTC)
    drop(service, "hourly", first - timedelta(hours=1), first + timedelta(hours=71), 72)
    drop(service, "daily", first - timedelta(hours=15), first + timedelta(hours=57), 3)
    for name, count in (("hourly", 24), ("daily", 1)):
        for offset in range(3):
            day = begin + timedelta(days=offset)
            page.goto(f"{service.url}/schedules/{name}?day={day}")
            cell(page, day, f"{count} missed$")
            expect(page.get_by_label(f"Runs on {day}")).to_contain_text(f"{count} missed")
        page.goto(f"{service.url}/schedules/{name}?day={begin - timedelta(days=1)}")
        cell(page, begin - timedelta(days=1), "no runs$")


def test_the_month_and_the_day_stand_in_the_address(page: Page, service: Service) -> None:
    service.other.create("daily", cron="0 9 * * *", timezone="Europe/Berlin", function="tasks:work")
    page.goto(f"{service.url}/schedules/daily")
    page.get_by_role("button", name="Next month").click()
    title = page.get_by_label("Calendar", exact=True).get_by_role("heading")
    expect(page).to_have_url(re.compile(r"month=\d{4}-\d\d"))
    shown = title.inner_text()
    page.get_by_role("button", name=re.compile(rf"^17 {shown}: 1 upcoming")).click()
    expect(page).to_have_url(re.compile(r"day=\d{4}-\d\d-17"))
    page.reload()
    expect(title).to_have_text(shown)
    expect(page.get_by_role("button", name=re.compile(rf"^17 {shown}"))).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Today").click()
    expect(page).not_to_have_url(re.compile("month="))
