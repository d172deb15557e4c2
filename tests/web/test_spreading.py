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
    herds = page.get_by_label("Herds")
    expect(herds).to_contain_text("12 fires")
    herds.get_by_role("button", name="Spread them…").click()
    return page.get_by_role("dialog", name=re.compile("Spread the 12 fires"))


def test_a_herd_gets_jitter_but_for_what_somebody_else_changed(
    page: Page, service: Service, dialog: Locator, wrong: list[str]
) -> None:
    kind = dialog.get_by_label("digest-00", exact=True)
    expect(kind).to_contain_text("12 schedules like digest-00")
    expect(kind.get_by_role("table")).to_contain_text("digest-01")
    service.other.patch("digest-05", description="changed while somebody looked")
    dialog.get_by_role("button", name="Change 12 schedules").click()
    expect(dialog.get_by_role("status")).to_have_text("11 schedules of 12 changed, 1 refused.")
    expect(dialog.get_by_label("Refused")).to_contain_text("digest-05")
    dialog.get_by_role("button", name="Done").click()
    expect(dialog).not_to_be_visible()
    found = {each.schedule_id: each.definition.spec.jitter_ms for each in service.other.list_schedules().items}
    assert found == {f"digest-{number:02}": 0 if number == 5 else 1_800_000 for number in range(HERD)}
    newest = service.other.history("digest-00").items[0]
    assert (newest.operation, newest.version) == ("patch", 2)


def test_a_herd_gets_minutes_of_its_own(page: Page, service: Service, dialog: Locator) -> None:
    kind = dialog.get_by_label("digest-00", exact=True)
    kind.get_by_text("Leave them").click()
    expect(dialog.get_by_role("button", name="Change them")).to_be_disabled()
    kind.get_by_text("Own minute: H 7 * * *").click()
    row = kind.get_by_role("row", name=re.compile("digest-03"))
    expect(row.get_by_role("cell").nth(2)).to_have_text(re.compile(r"\d\d:\d\d:00"))
    promised = row.get_by_role("cell").nth(2).inner_text()
    dialog.get_by_role("button", name="Change 12 schedules").click()
    expect(dialog.get_by_role("status")).to_have_text("12 schedules of 12 changed.")
    changed = service.other.get("digest-03")
    assert changed.definition.spec.cron == ("H 7 * * *",)
    assert changed.next_run_at is not None
    assert f"{changed.next_run_at:%M:%S}" == promised[3:]
    dialog.get_by_role("button", name="Done").click()
    expect(page.get_by_label("Herds")).not_to_contain_text("Spread them…")
