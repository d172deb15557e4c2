"""A herd is spread as a whole: looked at first, changed one by one, and who refused is named."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.kit import Service

HERD = 12


@pytest.fixture
def dialog(page: Page, service: Service) -> Locator:
    """What is asked before a herd of digests is spread."""
    for number in range(HERD):
        service.other.create(f"digest-{number:02}", cron="0 7 * * *", function="tasks:work")
    page.goto(service.url)
    herds = page.get_by_label("Load spikes")
    expect(herds).to_contain_text("12 runs")
    herds.get_by_role("button", name="Spread out…").click()
    return page.get_by_role("dialog", name=re.compile("Spread 12 runs at"))


def test_a_herd_gets_jitter_but_for_what_somebody_else_changed(
    page: Page, service: Service, dialog: Locator, wrong: list[str]
) -> None:
    kind = dialog.get_by_label("digest-00", exact=True)
    expect(kind).to_contain_text("12 schedules such as digest-00")
    expect(kind.get_by_role("table")).to_contain_text("digest-01")
    service.other.patch("digest-05", description="changed while somebody looked")
    dialog.get_by_role("button", name="Update 12 schedules").click()
    expect(dialog.get_by_role("status")).to_have_text("11 of 12 updated, 1 failed")
    expect(dialog.get_by_label("Failed")).to_contain_text("digest-05")
    dialog.get_by_role("button", name="Close").last.click()
    expect(dialog).not_to_be_visible()
    found = {each.schedule_id: each.definition.spec.jitter_ms for each in service.other.list_schedules().items}
    assert found == {f"digest-{number:02}": 0 if number == 5 else 1_800_000 for number in range(HERD)}
    newest = service.other.history("digest-00").items[0]
    assert (newest.operation, newest.version) == ("patch", 2)


def test_a_herd_gets_minutes_of_its_own(page: Page, service: Service, dialog: Locator) -> None:
    kind = dialog.get_by_label("digest-00", exact=True)
    kind.get_by_text("No change").click()
    expect(dialog.get_by_role("button", name="Apply")).to_be_disabled()
    kind.get_by_text("Use hashed minute (H 7 * * *)").click()
    row = kind.get_by_role("row", name=re.compile("digest-03"))
    expect(row.get_by_role("cell").nth(2)).to_have_text(re.compile(r"\d\d:\d\d:00"))
    promised = row.get_by_role("cell").nth(2).inner_text()
    dialog.get_by_role("button", name="Update 12 schedules").click()
    expect(dialog.get_by_role("status")).to_have_text("12 of 12 updated")
    changed = service.other.get("digest-03")
    assert changed.definition.spec.cron == ("H 7 * * *",)
    assert changed.next_run_at is not None
    assert f"{changed.next_run_at:%M:%S}" == promised[3:]
    dialog.get_by_role("button", name="Close").last.click()
    expect(page.get_by_label("Load spikes")).not_to_contain_text("Spread out…")
