"""The calendar of a schedule: days that are not loaded, dropped ticks, and its URL."""

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
    """Expect the summary of a day in the month grid."""
    label = re.compile(rf"^{named(day)}: {text}")
    expect(page.get_by_role("button", name=label)).to_be_visible()


def drop(service: Service, name: str, after: datetime, until: datetime, ticks: int) -> None:
    change(
        service,
        f"INSERT INTO dropped_ranges SELECT {OF}, ?, ?, ?, 'missed', 1, ?",
        name, int(after.timestamp()), int(until.timestamp()), ticks, int(until.timestamp()) * 1_000,
    )  # fmt: skip


def test_every_day_of_a_minutely_schedule_has_upcoming_runs(page: Page, service: Service) -> None:
    """Once it showed 500 ticks, and none for the next day."""
    service.client.create("often", cron="* * * * *", timezone="UTC", function="tasks:work")
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


def test_a_day_that_was_not_counted_is_not_shown_as_empty(page: Page, service: Service) -> None:
    service.client.create("always", cron="* * * * * *", timezone="UTC", function="tasks:work")
    service.client.pause("always")
    page.add_init_script("localStorage.setItem('tompion.zone', 'utc')")
    far = (datetime.now(UTC).date().replace(day=1) + timedelta(days=70)).replace(day=15)
    page.goto(f"{service.url}/schedules/always?month={far:%Y-%m}&day={far}")
    cell(page, far, "Not loaded$")
    expect(page.get_by_label(f"Runs on {far}")).to_contain_text("Not loaded.")


def test_an_hourly_schedule_has_runs_in_later_months(page: Page, service: Service) -> None:
    service.client.create("hourly", cron="0 * * * *", timezone="Europe/Berlin", function="tasks:work")
    far = (datetime.now(UTC).date().replace(day=1) + timedelta(days=100)).replace(day=1)
    page.goto(f"{service.url}/schedules/hourly?month={far:%Y-%m}")
    cell(page, far + timedelta(days=13), "24 upcoming$")
    cell(page, far + timedelta(days=26), r"\d\d upcoming$")


def test_a_dropped_range_is_split_by_day(page: Page, service: Service) -> None:
    """Once all 72 ticks of an outage of three days were on its last day."""
    page.add_init_script("localStorage.setItem('tompion.zone', 'utc')")
    service.client.create("hourly", cron="0 * * * *", timezone="UTC", function="tasks:work")
    service.client.create("daily", cron="0 9 * * *", timezone="UTC", function="tasks:work")
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


def test_month_and_day_are_part_of_the_url(page: Page, service: Service) -> None:
    service.client.create("daily", cron="0 9 * * *", timezone="Europe/Berlin", function="tasks:work")
    page.goto(f"{service.url}/schedules/daily")
    page.get_by_role("button", name="Next month").click()
    title = page.get_by_label("Calendar", exact=True).get_by_role("heading")
    expect(page).to_have_url(re.compile(r"month=\d{4}-\d\d"))
    month = title.inner_text()
    page.get_by_role("button", name=re.compile(rf"^17 {month}: 1 upcoming")).click()
    expect(page).to_have_url(re.compile(r"day=\d{4}-\d\d-17"))
    page.reload()
    expect(title).to_have_text(month)
    expect(page.get_by_role("button", name=re.compile(rf"^17 {month}"))).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Today").click()
    expect(page).not_to_have_url(re.compile("month="))
