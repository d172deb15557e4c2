"""A load spike is spread out: preview, changes one by one, failures."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.kit import Service

DIGESTS = 12


@pytest.fixture
def dialog(page: Page, service: Service) -> Locator:
    """The dialog that spreads a load spike of digests."""
    for number in range(DIGESTS):
        service.client.create(f"digest-{number:02}", cron="0 7 * * *", function="tasks:work")
    page.goto(service.url)
    spikes = page.get_by_label("Load spikes")
    expect(spikes).to_contain_text("12 runs")
    spikes.get_by_role("button", name="Spread out…").click()
    return page.get_by_role("dialog", name=re.compile("Spread 12 runs at"))


def test_jitter_is_added_except_to_a_schedule_that_changed_meanwhile(
    page: Page, service: Service, dialog: Locator, browser_errors: list[str]
) -> None:
    group = dialog.get_by_label("digest-00", exact=True)
    expect(group).to_contain_text("12 schedules such as digest-00")
    expect(group.get_by_role("table")).to_contain_text("digest-01")
    service.client.patch("digest-05", description="changed in the meantime")
    dialog.get_by_role("button", name="Update 12 schedules").click()
    expect(dialog.get_by_role("status")).to_have_text("11 of 12 updated, 1 failed")
    expect(dialog.get_by_label("Failed")).to_contain_text("digest-05")
    dialog.get_by_role("button", name="Close").last.click()
    expect(dialog).not_to_be_visible()
    schedules = service.client.schedules.list().items
    jitters = {schedule.schedule_id: schedule.jitter_ms for schedule in schedules}
    assert jitters == {f"digest-{number:02}": 0 if number == 5 else 1_800_000 for number in range(DIGESTS)}
    newest = service.client.schedules.history("digest-00").items[0]
    assert (newest.operation, newest.definition_version) == ("patch", 2)


def test_each_schedule_gets_a_hashed_minute(page: Page, service: Service, dialog: Locator) -> None:
    group = dialog.get_by_label("digest-00", exact=True)
    group.get_by_text("No change").click()
    expect(dialog.get_by_role("button", name="Apply")).to_be_disabled()
    group.get_by_text("Use hashed minute (H 7 * * *)").click()
    row = group.get_by_role("row", name=re.compile("digest-03"))
    expect(row.get_by_role("cell").nth(2)).to_have_text(re.compile(r"\d\d:\d\d:00"))
    promised = row.get_by_role("cell").nth(2).inner_text()
    dialog.get_by_role("button", name="Update 12 schedules").click()
    expect(dialog.get_by_role("status")).to_have_text("12 of 12 updated")
    changed = service.client.get("digest-03")
    assert changed.cron == ("H 7 * * *",)
    assert changed.next_run_at is not None
    assert f"{changed.next_run_at:%M:%S}" == promised[3:]
    dialog.get_by_role("button", name="Close").last.click()
    expect(page.get_by_label("Load spikes")).not_to_contain_text("Spread out…")
