"""The interactive documentation of the API."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import BrowserContext, Page, expect

from tests.web.kit import Service, make_key, serving


def test_a_reader_can_send_a_request(page: Page, service: Service) -> None:
    """Also under the content security policy: the fixture fails on violations."""
    service.client.create("report", cron="@daily", function="tasks:work")
    page.goto(f"{service.url}/docs/api")
    expect(page.get_by_role("heading", name="Tompion").first).to_be_visible()
    operation = page.locator("#operations-schedules-get_api_v1_schedules")
    operation.locator("button.opblock-summary-control").click()
    operation.get_by_role("button", name="Try it out").click()
    with page.expect_response(lambda response: "/api/v1/schedules" in response.url) as answered:
        operation.get_by_role("button", name="Execute").click()
    assert answered.value.status == 200
    expect(operation.locator(".live-responses-table")).to_contain_text('"schedule_id": "report"')


def test_requests_have_the_session_of_the_web_ui(window: BrowserContext, tmp_path: Path) -> None:
    with serving(tmp_path, "--auth", "required") as service, window.new_page() as page:
        page.goto(f"{service.url}/docs/api")
        expect(page.locator("#operations-keys-get_api_v1_keys")).to_be_visible()
        page.goto(service.url)
        page.get_by_label("API key or token").fill(make_key(tmp_path, "admin"))
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("button", name="Signed in as")).to_be_visible()
        page.goto(f"{service.url}/docs/api")
        operation = page.locator("#operations-keys-post_api_v1_keys")
        operation.locator("button.opblock-summary-control").click()
        operation.get_by_role("button", name="Try it out").click()
        with page.expect_response(lambda response: "/api/v1/keys" in response.url) as answered:
            operation.get_by_role("button", name="Execute").click()
        assert answered.value.status == 201
