"""Webhook notifications and health check pings: signatures, allowed addresses and configuration."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.support.executors import Server, http_server
from tompion import Tompion
from tompion.config.settings import Settings
from tompion.errors import InvalidField, LaunchError
from tompion.model.notification import Delivery, NotificationKind
from tompion.outbound.healthcheck_ping import HttpPinger
from tompion.outbound.webhook_notifier import WebhookNotifier, WebhookReceiver, read_receiver

SECONDS = 120
SECRET, OTHER = ("whsec_" + base64.b64encode(bytes(range(n, n + 32))).decode() for n in (0, 1))
ENVIRONMENT = {"OPS_SECRET": SECRET, "NEXT_SECRET": OTHER}
WHERE = "tompion.toml: [[notification]] ops"


@pytest.fixture
def server() -> Iterator[Server]:
    with http_server() as running:
        yield running


def receiver(server: Server, **other: Any) -> WebhookReceiver:
    block = {"name": "ops", "url": f"{server.url}/hook", "secret_env": "OPS_SECRET", "allow": [server.allow], **other}
    return read_receiver(WHERE, block, ENVIRONMENT)


def deliver(target: WebhookReceiver, body: bytes = b'{"type":"x"}', timeout_ms: int = 10_000) -> Delivery:
    async def scenario() -> Delivery:
        async with aclosing(WebhookNotifier([target], timeout_ms)) as notifier:
            return await notifier.send("ops", "msg_1", body)

    return asyncio.run(scenario())


def test_notification_has_a_valid_signature(server: Server) -> None:
    assert deliver(receiver(server)).arrived
    (seen,) = server.seen
    assert (seen.path, seen.headers["content-type"], seen.headers["webhook-id"]) == (
        "/hook",
        "application/json",
        "msg_1",
    )
    assert Webhook(SECRET).verify(seen.body, seen.headers) == {"type": "x"}
    with pytest.raises(WebhookVerificationError):
        Webhook(OTHER).verify(seen.body, seen.headers)


def test_both_secrets_are_valid_during_a_rotation(server: Server, tmp_path: Path) -> None:
    assert deliver(receiver(server, secret_env=["OPS_SECRET", "NEXT_SECRET"])).arrived
    (seen,) = server.seen
    for secret in (SECRET, OTHER):
        assert Webhook(secret).verify(seen.body, seen.headers)


def test_secret_is_read_from_a_file(server: Server, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    block = {"name": "ops", "url": server.url, "secret_file": str(tmp_path / "secret"), "allow": [server.allow]}
    assert deliver(read_receiver(WHERE, block, {})).arrived
    assert Webhook(SECRET).verify(server.seen[0].body, server.seen[0].headers)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, Delivery(True, "the receiver responded with 200: so it is")),
        (204, Delivery(True, "the receiver responded with 204")),
        (302, Delivery(False, "the receiver responded with 302: so it is")),
        (400, Delivery(False, "the receiver responded with 400: so it is")),
        (410, Delivery(False, "the receiver responded with 410: so it is", permanent=True)),
        (503, Delivery(False, "the receiver responded with 503: so it is")),
    ],
)
def test_status_code_determines_the_delivery(server: Server, status: int, expected: Delivery) -> None:
    body = b"" if status == 204 else b"so it is"
    server.answer = lambda _: (status, {"Location": f"{server.url}/elsewhere"}, body)
    assert deliver(receiver(server)) == expected
    assert len(server.seen) == 1


def test_slow_receiver_times_out(server: Server) -> None:
    delivery = deliver(receiver(server, url=f"{server.url}/hold"), timeout_ms=50)
    assert delivery == Delivery(False, "no response within notification_timeout_ms (50)")


def test_name_of_a_forbidden_address_is_not_connected(server: Server) -> None:
    delivery = deliver(receiver(server, url=server.url.replace("127.0.0.1", "localhost"), allow=[]))
    assert not delivery.arrived
    assert "is not a public address (loopback)" in delivery.message
    assert server.seen == []


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"url": None}, "url", "expected text of 1 to"),
        ({"url": "ftp://example.org/"}, "url", "must begin with http"),
        ({"url": "http://127.0.0.1:1/"}, "url", "'allow' has the networks that are allowed"),
        ({"secret_env": "NOT_THERE"}, "secret_env", "the environment variable NOT_THERE"),
        ({"secret_env": "BAD_SECRET"}, "secret_env", "expected whsec_ followed by base64"),
        ({"secret_env": ["a", "b", "c"]}, "secret_env", "one name, or two"),
        ({"secret_file": "x"}, "secret_env", "or secret_file, a file"),
        ({"secret": "whsec_x"}, "secret", "there is no such field"),
        ({"on": ["late", "early"]}, "on", "expected a list of failed, late"),
        ({"on": []}, "on", "expected a list of"),
        ({"late_after_ms": "1m"}, "late_after_ms", "expected a whole number"),
        ({"max_per_minute": 0}, "max_per_minute", "expected a whole number"),
        ({"namespace": 5}, "namespace", "expected text"),
        ({"allow": "127.0.0.1"}, "allow", "expected a list of networks"),
        ({"allow": ["nonsense"]}, "allow", "is not a network"),
    ],
)
def test_invalid_notification_block_is_rejected(change: dict[str, Any], field: str, message: str) -> None:
    block = {"name": "ops", "url": "https://example.org/hook", "secret_env": "OPS_SECRET", **change}
    with pytest.raises(InvalidField) as caught:
        read_receiver(WHERE, block, {**ENVIRONMENT, "BAD_SECRET": "canary!"})
    assert str(caught.value).startswith(f"{WHERE}: {field}: ")
    assert message in str(caught.value)
    assert "canary" not in str(caught.value)


def test_error_names_a_missing_secret_file(tmp_path: Path) -> None:
    block = {"name": "ops", "url": "https://example.org/", "secret_file": str(tmp_path / "nowhere")}
    with pytest.raises(InvalidField, match=r"secret_file: cannot read the file .*nowhere"):
        read_receiver(WHERE, block, {})


def test_notification_block_is_read_as_a_rule() -> None:
    block = {
        "name": "ops",
        "url": "https://example.org/",
        "secret_env": "OPS_SECRET",
        "on": ["late", "recovered"],
        "label": "team=a",
        "schedule": "etl-*",
    }
    rule = read_receiver(WHERE, block, ENVIRONMENT).rule
    assert rule.topics == frozenset({NotificationKind.LATE, NotificationKind.RECOVERED})
    assert rule.label == ("team", "a")
    assert rule.matches(NotificationKind.LATE, "default", "etl-1", {"team": "a"})
    assert not rule.matches(NotificationKind.FAILED, "default", "etl-1", {"team": "a"})
    assert not rule.matches(NotificationKind.LATE, "default", "etl-1", {"team": "b"})


def test_repr_of_a_receiver_hides_url_and_secret() -> None:
    block = {"name": "ops", "url": "https://example.org/canary", "secret_env": "OPS_SECRET"}
    text = repr(read_receiver(WHERE, block, ENVIRONMENT))
    assert "canary" not in text
    assert repr(bytes(range(32)))[2:-1] not in text


def test_client_of_a_service_rejects_notifications() -> None:
    with pytest.raises(InvalidField, match="configure notifications in the service"):
        Tompion("http://127.0.0.1:1", notifications={"ops": {}})


# --- from a failure to its receiver -------------------------------------------------------------------------------


def boom(run: Any) -> None:
    raise ValueError("it broke")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_failure_is_delivered_after_a_retry(
    server: Server, kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver is down at first. The notification is retried with the same id, and arrives."""
    monkeypatch.setenv("OPS_SECRET", SECRET)
    store = request.getfixturevalue("migrated_url") if kind == "postgres" else f"sqlite:///{tmp_path}/tompion.db"
    server.answer = lambda _: (200 if len(server.seen) > 1 else 503, {}, b"")
    ops = {"url": server.url, "secret_env": "OPS_SECRET", "on": ["failed"], "allow": [server.allow]}
    settings = Settings(tick_ms=50, notification_retry_ms=100)
    with Tompion(store, notifications={"ops": ops}, settings=settings) as tompion:
        tompion.create("report", cron="0 9 * * *", function=f"{__name__}:boom", payload={"secret": "canary"})
        run = tompion.trigger("report")
        for _ in range(2):
            assert server.arrived.acquire(timeout=SECONDS)
    first, second = server.seen[:2]
    message = Webhook(SECRET).verify(second.body, second.headers)
    assert (first.headers["webhook-id"], first.body) == (second.headers["webhook-id"], second.body)
    assert message["type"] == "tompion.run.failed"
    assert (message["data"]["run_id"], message["data"]["error"]) == (run.run_id, "ValueError: it broke")
    assert "canary" not in json.dumps(message)
    with Tompion(store, engine=False) as tompion:
        (notification,) = tompion.notifications.list().items
    assert (notification.notification_id, notification.rule_name) == (second.headers["webhook-id"], "ops")


# --- the ping -----------------------------------------------------------------------------------------------------


def ping(configured: dict[str, Any], problems: list[str]) -> None:
    async def scenario() -> None:
        async with aclosing(HttpPinger(configured)) as pinger:
            await pinger.ping(problems)

    asyncio.run(scenario())


def test_ping_is_sent_only_without_problems(server: Server) -> None:
    configured = {"ping_url": f"{server.url}/ping/1"}
    ping(configured, [])
    ping(configured, ["the engine hangs"])
    assert [seen.path for seen in server.seen] == ["/ping/1"]


def test_fail_url_receives_the_problems(server: Server) -> None:
    configured = {"ping_url": f"{server.url}/1", "ping_fail_url": f"{server.url}/1/fail", "ping_method": "POST"}
    ping(configured, [])
    ping(configured, ["the engine hangs", "the store is gone"])
    assert [(seen.path, seen.body) for seen in server.seen] == [
        ("/1", b""), ("/1/fail", b"the engine hangs\nthe store is gone"),
    ]  # fmt: skip


def test_error_status_of_a_monitor_is_an_error(server: Server) -> None:
    server.answer = lambda _: (404, {}, b"")
    with pytest.raises(LaunchError, match="the monitor responded with 404"):
        ping({"ping_url": server.url}, [])


@pytest.mark.parametrize(
    ("configured", "field"),
    [
        ({"ping_url": "nonsense"}, "ping_url"),
        ({"ping_url": "http://a.example/", "ping_fail_url": "ftp://b"}, "ping_fail_url"),
        ({"ping_url": "http://a.example/", "ping_every_s": 0}, "ping_every_s"),
    ],
)
def test_invalid_ping_configuration_is_rejected(configured: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidField, match=f"^{field}"):
        HttpPinger(configured)
