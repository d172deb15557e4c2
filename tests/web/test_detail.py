"""The overview and the details of a schedule: calendar, timeline, backfills, hints, badges."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from playwright.sync_api import Page, Route, expect

from tests.web.kit import Service
from tests.web.test_schedules import FAR, fact, row

HIDE = """hidden => {
  Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden })
  document.dispatchEvent(new Event('visibilitychange'))
}"""


def change(service: Service, statement: str, *values: object) -> None:
    """Change the database directly."""
    with closing(sqlite3.connect(service.home / "web.db", timeout=120)) as connection:
        connection.execute(statement, values)
        connection.commit()


def test_the_overview_does_not_wait_for_the_forecast(page: Page, service: Service) -> None:
    """With 100,000 schedules the forecast takes seconds."""
    service.client.create("often", cron="* * * * *", function="tasks:work")
    held: list[Route] = []
    page.route("**/api/v1/forecast*", lambda route: held.append(route))  # noqa: PLW0108 - Playwright wraps functions
    page.goto(service.url)
    expect(page.get_by_label("Activity").get_by_role("link", name="often")).to_be_visible()
    expect(page.get_by_label("Activity").get_by_text("Loading upcoming runs…")).to_be_visible()
    expect(page.get_by_label("Problems")).to_contain_text("All good.")
    expect(page.get_by_label("Instances")).to_contain_text("Engine")
    expect(page.get_by_label("Scheduled load").locator("[aria-busy=true]")).to_be_visible()
    assert len(held) == 1, "one request for both time ranges and the load spikes"
    held[0].continue_()
    expect(page.get_by_role("img", name=re.compile("upcoming runs?, at most"))).to_be_visible()
    expect(page.get_by_label("Scheduled load").get_by_role("img")).to_be_visible()
    page.get_by_text("24h", exact=True).click()
    expect(page.get_by_role("heading", name="Activity: last 24 hours and next 24 hours")).to_be_visible()
    assert len(held) == 1
    page.reload()
    expect(page.get_by_role("heading", name="Activity: last 24 hours and next 24 hours")).to_be_visible()


def test_a_forecast_that_fails_leaves_the_rest_of_the_overview(page: Page, service: Service) -> None:
    page.route(
        "**/api/v1/forecast*", lambda route: route.fulfill(status=422, json={"title": "no", "detail": "too far"})
    )
    page.goto(service.url)
    expect(page.get_by_label("Scheduled load").get_by_role("button", name="Try again")).to_be_visible()
    expect(page.get_by_label("Problems")).to_contain_text("All good.")


def test_start_delays_are_drawn(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work")
    page.goto(service.url)
    expect(page.get_by_label("Start delay")).to_contain_text("No runs in this period.")
    service.client.trigger("report")
    expect(page.get_by_role("img", name=re.compile("Runs started at most .* late"))).to_be_visible()


def test_every_kind_of_problem_is_listed(page: Page, service: Service) -> None:
    for name in ("failing", "forgotten", "stuck", "growing", "missing", "degraded"):
        service.client.create(name, cron=FAR, timezone="Europe/Berlin", function="tasks:work")
    service.client.pause("forgotten", paused_by="ann")
    of = "WHERE schedule_key = (SELECT schedule_key FROM schedules WHERE schedule_id = ?)"
    long_ago = int((datetime.now(UTC) - timedelta(days=9)).timestamp() * 1000)
    change(service, f"UPDATE schedule_state SET failures = 3 {of}", "failing")
    change(service, "UPDATE schedules SET paused_ms = ? WHERE schedule_id = ?", long_ago, "forgotten")
    change(service, f"UPDATE schedule_state SET in_flight = 1, last_start_ms = {long_ago} {of}", "stuck")
    change(service, f"UPDATE schedule_state SET waiting = 12 {of}", "growing")
    change(
        service,
        "INSERT INTO dropped_ranges SELECT schedule_key, 1, 2, 4, 'missed', 1, ? FROM schedules WHERE schedule_id = ?",
        int(datetime.now(UTC).timestamp() * 1000),
        "missing",
    )
    change(service, "UPDATE schedules SET zones = 'Europe/Berlin:gone' WHERE schedule_id = ?", "degraded")
    page.goto(service.url)
    panel = page.get_by_label("Problems")
    for text in (
        "3 runs failed in a row",
        "Paused by ann for 9 days, without an end",
        "1 run in flight, and none of them started",
        "12 runs waiting for the previous run, or for a paused target",
        "4 ticks missed in the last day: no engine was running, or it was overloaded",
        "Its time zone is not in the installed",
    ):
        expect(panel).to_contain_text(text)


def test_a_dst_change_is_explained_on_its_day(page: Page, service: Service) -> None:
    service.client.create("report", cron="30 2 * * *", timezone="Europe/Berlin", function="tasks:work")
    page.goto(f"{service.url}/schedules/report")
    for _ in range(24):
        if page.get_by_role("heading", name=re.compile(r"^March ")).is_visible():
            break
        page.get_by_role("button", name="Next month").click()
    year = int(page.get_by_role("heading", name=re.compile(r"^March ")).inner_text().split()[1])
    last = max(day for day in range(25, 32) if datetime(year, 3, day, tzinfo=UTC).weekday() == 6)
    page.get_by_role("button", name=f"{last} March {year}: 1 upcoming").click()
    agenda = page.get_by_label(f"Runs on {year}-03-{last}")
    expect(agenda).to_contain_text("03:00:00")
    expect(agenda).to_contain_text("02:30")


def test_overlapping_runs_have_separate_lanes(page: Page, service: Service) -> None:
    service.client.create("report", cron=FAR, function="tasks:work")
    for _ in range(3):
        service.client.trigger("report")
    page.goto(f"{service.url}/schedules/report/runs")
    expect(page.get_by_role("cell", name="Success")).to_have_count(3)
    change(service, "UPDATE schedule_runs SET started_ms = started_ms - 60000 WHERE started_ms IS NOT NULL")
    page.goto(f"{service.url}/schedules/report/timeline")
    bars = page.get_by_role("group", name="3 runs, at most 3 at a time").get_by_role("link")
    expect(bars).to_have_count(3)
    page.get_by_text("24h", exact=True).click()
    expect(page).to_have_url(re.compile("window=24h"))
    page.reload()
    expect(page.get_by_role("radio", name="24h")).to_be_checked()
    expect(page.get_by_role("group", name="Legend")).to_have_text(re.compile(r"^\s*success$"))
    bars.first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/runs/"))


def test_a_running_backfill_is_cancelled(page: Page, service: Service) -> None:
    service.client.create("report", cron="* * * * *", function="tasks:work", timezone="UTC")
    service.client.queues.pause("default")
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    service.client.backfill("report", begin, begin + timedelta(hours=2), overlap="queue")
    page.goto(f"{service.url}/schedules/report/backfills")
    expect(page.get_by_role("cell", name=re.compile(r"\d+ of 121 runs"))).to_be_visible()
    page.get_by_role("button", name="Cancel backfill").click()
    expect(page.get_by_text("Cancelled", exact=True)).to_be_visible()
    service.client.queues.resume("default")


def test_a_date_that_does_not_exist_is_rejected(page: Page, service: Service) -> None:
    """Once 30 February was taken for 2 March."""
    service.client.create("report", cron="* * * * *", function="tasks:work", timezone="UTC")
    page.goto(f"{service.url}/schedules/report/backfills")
    page.get_by_label("Start").fill("2026-02-30 00:00")
    page.get_by_label("End (inclusive)").fill("2026-03-02 00:03")
    expect(page.get_by_text(re.compile("will be started"))).to_have_count(0)
    page.get_by_label("Start").fill("2026-03-02 00:00")
    expect(page.get_by_text("4 runs will be started.")).to_be_visible()


def test_times_are_parsed_in_the_displayed_zone(page: Page, service: Service) -> None:
    service.client.create("report", cron="0 * * * *", function="tasks:work", timezone="Asia/Tokyo")
    page.goto(f"{service.url}/schedules/report/backfills")
    page.get_by_label("Start").fill("2026-03-29 02:30")
    expect(page.get_by_text("Invalid time. Use 2026-01-31 09:00 (Europe/Berlin)")).to_be_visible()
    page.get_by_label("Start").fill("2026-10-25 02:30")
    page.get_by_label("End (inclusive)").fill("2026-10-25 03:30")
    expect(page.get_by_text("2 runs will be started.")).to_be_visible()
    page.get_by_text("Schedule", exact=True).first.click()
    expect(page.get_by_text("Times are in Asia/Tokyo.")).to_be_visible()
    page.get_by_label("Start").fill("2026-01-01 09:00")
    page.get_by_label("End (inclusive)").fill("2026-01-01 11:30")
    page.get_by_role("button", name="Start backfill").click()
    expect(page.get_by_text("3 of 3 runs")).to_be_visible()
    [backfill] = service.client.schedules.backfills("report")
    assert backfill.start.isoformat() == "2026-01-01T00:00:00+00:00", "nine in Tokyo"
    page.get_by_role("button", name="Pause", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("Optional. Time zone: Asia/Tokyo")).to_be_visible()
    dialog.get_by_role("button", name="Tomorrow 9:00").click()
    dialog.get_by_role("button", name="Pause", exact=True).click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    until = service.client.get("report").paused_until
    assert until is not None
    assert until.astimezone(ZoneInfo("Asia/Tokyo")).hour == 9


def test_a_hidden_tab_closes_its_event_stream(page: Page, service: Service) -> None:
    """Once six tabs used all six connections of a browser to a host, and every tab hung."""
    page.goto(f"{service.url}/schedules")
    expect(page.get_by_role("img", name=re.compile("^Live updates on"))).to_be_visible()
    page.evaluate(HIDE, True)
    expect(page.get_by_role("img", name=re.compile("^Disconnected"))).to_be_visible()
    service.client.create("created-meanwhile", cron=FAR, function="tasks:work")
    page.evaluate(HIDE, False)
    expect(page.get_by_role("img", name=re.compile("^Live updates on"))).to_be_visible()
    expect(page.get_by_role("link", name="created-meanwhile")).to_be_visible()


def test_the_runs_that_a_resume_would_start_are_shown(page: Page, service: Service) -> None:
    service.client.create(
        "report",
        cron="* * * * *",
        function="tasks:work",
        timezone="UTC",
        catchup_policy="all",
        overlap_policy="allow",
    )
    service.client.pause("report")
    begin_s = int((datetime.now(UTC) - timedelta(hours=3)).timestamp()) // 60 * 60
    of = "WHERE schedule_key = (SELECT schedule_key FROM schedules WHERE schedule_id = 'report')"
    since = f"cursor_s = {begin_s}, next_nominal_s = {begin_s + 60}, next_fire_ms = {begin_s + 60}000"
    change(service, f"UPDATE schedule_state SET {since} {of}")
    change(service, f"UPDATE schedule_versions SET after_s = {begin_s} {of}")
    page.goto(f"{service.url}/schedules/report")
    expect(page.get_by_label("Resume preview")).to_contain_text(re.compile(r"\d+ missed runs will start"))


def test_hints_of_an_adaptive_schedule(page: Page, service: Service) -> None:
    service.client.create("poll", intervals="1h", adaptive=True, max_interval_ms=7_200_000, function="tasks:work")
    page.goto(f"{service.url}/schedules/poll/adaptive")
    expect(fact(page, "Source")).not_to_contain_text("Hint")
    page.get_by_label("Interval (seconds)").fill("600")
    page.get_by_label("Reason").fill("a busy day")
    page.get_by_role("button", name="Add hint").click()
    expect(page.get_by_role("row").filter(has_text="a busy day")).to_contain_text("every 10m")
    expect(fact(page, "Source")).to_contain_text("Hint")
    page.get_by_role("button", name="Clear hints").click()
    expect(page.get_by_role("row").filter(has_text="a busy day")).to_have_count(0)


def test_the_palette_finds_views_and_schedules(page: Page, service: Service) -> None:
    service.client.create("billing/report", cron=FAR, function="tasks:work")
    page.goto(service.url)
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("calend")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Calendars", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("billing")
    expect(page.get_by_role("option", name="billing/report Active")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name="Search schedules and commands")).to_have_count(0)


def test_each_filter_is_part_of_the_url(page: Page, service: Service) -> None:
    service.client.workflows.put("ping", {"executor": "http", "options": {"url": "https://example.org"}})
    service.client.create("mine", cron=FAR, workflow_id="ping", user_id="ann", labels={"team": "a"})
    service.client.create("other", cron=FAR, function="tasks:work")
    service.client.pause("other")
    for query, expected in (
        ("status=active", "mine"), ("status=paused", "other"), ("workflow_id=ping", "mine"), ("user_id=ann", "mine"),
        ("label=team%3Da", "mine"), ("text=oth", "other"),
    ):  # fmt: skip
        page.goto(f"{service.url}/schedules?{query}")
        expect(page.locator("[role=rowgroup] [role=row]")).to_have_count(1)
        expect(row(page, expected)).to_be_visible()
    page.goto(f"{service.url}/schedules?namespace=elsewhere")
    expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()
    page.get_by_role("link", name="Runs", exact=True).first.click()
    expect(page).to_have_url(re.compile("namespace=elsewhere"))


def test_badges_show_actor_and_end_of_a_pause(page: Page, service: Service) -> None:
    service.client.workflows.put("ping", {"executor": "http", "options": {"url": "https://example.org"}})
    service.client.create("waits", cron=FAR, workflow_id="ping")
    service.client.workflows.pause("ping")
    service.client.create("watches", cron=FAR, function="tasks:work", shadow=True)
    service.client.create("rests", cron=FAR, function="tasks:work")
    service.client.pause("rests", paused_by="ann", until=datetime.now(UTC) + timedelta(hours=2, minutes=5))
    page.goto(f"{service.url}/schedules")
    expect(row(page, "waits")).to_contain_text("Workflow or queue paused")
    expect(row(page, "watches")).to_contain_text("Shadow")
    expect(row(page, "rests")).to_contain_text(re.compile(r"Paused by ann · resumes in 2h"))
    service.client.workflows.resume("ping")


def test_a_missing_schedule_links_to_the_list(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/schedules/unknown")
    expect(page.get_by_role("heading", name="Schedule unknown not found")).to_be_visible()
    page.get_by_role("link", name="Go to schedules").click()
    expect(page.get_by_role("heading", name="No schedules yet")).to_be_visible()
    page.goto(f"{service.url}/nowhere")
    expect(page.get_by_role("heading", name="Page not found")).to_be_visible()
