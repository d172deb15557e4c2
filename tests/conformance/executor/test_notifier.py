"""Notices as receivers meet them: signed, to allowed addresses only, and read from a configuration that is checked."""

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
    with http_server() as made:
        yield made


def receiver(server: Server, **other: Any) -> WebhookReceiver:
    block = {"name": "ops", "url": f"{server.url}/hook", "secret_env": "OPS_SECRET", "allow": [server.allow], **other}
    return read_receiver(WHERE, block, ENVIRONMENT)


def sent(made: WebhookReceiver, body: bytes = b'{"type":"x"}', timeout_ms: int = 10_000) -> Delivery:
    async def story() -> Delivery:
        async with aclosing(WebhookNotifier([made], timeout_ms)) as notifier:
            return await notifier.send("ops", "msg_1", body)

    return asyncio.run(story())


def test_a_receiver_can_tell_that_it_is_ours(server: Server) -> None:
    assert sent(receiver(server)).arrived
    (seen,) = server.seen
    assert (seen.path, seen.headers["content-type"], seen.headers["webhook-id"]) == (
        "/hook",
        "application/json",
        "msg_1",
    )
    assert Webhook(SECRET).verify(seen.body, seen.headers) == {"type": "x"}
    with pytest.raises(WebhookVerificationError):
        Webhook(OTHER).verify(seen.body, seen.headers)


def test_while_a_secret_is_replaced_both_are_good(server: Server, tmp_path: Path) -> None:
    assert sent(receiver(server, secret_env=["OPS_SECRET", "NEXT_SECRET"])).arrived
    (seen,) = server.seen
    for secret in (SECRET, OTHER):
        assert Webhook(secret).verify(seen.body, seen.headers)


def test_a_secret_may_be_in_a_file(server: Server, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    block = {"name": "ops", "url": server.url, "secret_file": str(tmp_path / "secret"), "allow": [server.allow]}
    assert sent(read_receiver(WHERE, block, {})).arrived
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
def test_what_answers_mean(server: Server, status: int, expected: Delivery) -> None:
    body = b"" if status == 204 else b"so it is"
    server.answer = lambda _: (status, {"Location": f"{server.url}/elsewhere"}, body)
    assert sent(receiver(server)) == expected
    assert len(server.seen) == 1


def test_who_does_not_answer_is_not_waited_for(server: Server) -> None:
    answer = sent(receiver(server, url=f"{server.url}/hold"), timeout_ms=50)
    assert answer == Delivery(False, "no response within notification_timeout_ms (50)")


def test_a_name_that_leads_to_a_forbidden_address_is_not_connected_to(server: Server) -> None:
    made = receiver(server, url=server.url.replace("127.0.0.1", "localhost"), allow=[])
    answer = sent(made)
    assert not answer.arrived
    assert "is not a public address (loopback)" in answer.message
    assert server.seen == []


@pytest.mark.parametrize(
    ("change", "field", "words"),
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
def test_a_block_that_cannot_be(change: dict[str, Any], field: str, words: str) -> None:
    block = {"name": "ops", "url": "https://example.org/hook", "secret_env": "OPS_SECRET", **change}
    with pytest.raises(InvalidField) as caught:
        read_receiver(WHERE, block, {**ENVIRONMENT, "BAD_SECRET": "canary!"})
    assert str(caught.value).startswith(f"{WHERE}: {field}: ")
    assert words in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    block = {"name": "ops", "url": "https://example.org/", "secret_file": str(tmp_path / "nowhere")}
    with pytest.raises(InvalidField, match=r"secret_file: cannot read the file .*nowhere"):
        read_receiver(WHERE, block, {})


def test_what_a_block_says() -> None:
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


def test_nobody_sees_where_it_goes_or_how_it_is_signed() -> None:
    block = {"name": "ops", "url": "https://example.org/canary", "secret_env": "OPS_SECRET"}
    shown = repr(read_receiver(WHERE, block, ENVIRONMENT))
    assert "canary" not in shown
    assert repr(bytes(range(32)))[2:-1] not in shown


def test_a_program_that_is_connected_to_a_service_notifies_nobody() -> None:
    with pytest.raises(InvalidField, match="a service notifies by itself"):
        Tompion("http://127.0.0.1:1", notifications={"ops": {}})


# --- from a failure to its receiver -------------------------------------------------------------------------------


def boom(run: Any) -> None:
    raise ValueError("it broke")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_failure_reaches_its_receiver(
    server: Server, kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver is down at first: the notice is tried again, with the same id, and arrives."""
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
        (notification,) = tompion.list_notifications().items
    assert (notification.notification_id, notification.rule_name) == (second.headers["webhook-id"], "ops")


# --- the ping -----------------------------------------------------------------------------------------------------


def pinged(configured: dict[str, Any], problems: list[str]) -> None:
    async def story() -> None:
        async with aclosing(HttpPinger(configured)) as pinger:
            await pinger.ping(problems)

    asyncio.run(story())


def test_a_monitor_hears_while_all_is_well_and_nothing_otherwise(server: Server) -> None:
    configured = {"ping_url": f"{server.url}/ping/1"}
    pinged(configured, [])
    pinged(configured, ["the engine hangs"])
    assert [seen.path for seen in server.seen] == ["/ping/1"]


def test_a_monitor_that_wants_to_know_hears_what_is_wrong(server: Server) -> None:
    configured = {"ping_url": f"{server.url}/1", "ping_fail_url": f"{server.url}/1/fail", "ping_method": "POST"}
    pinged(configured, [])
    pinged(configured, ["the engine hangs", "the store is gone"])
    assert [(seen.path, seen.body) for seen in server.seen] == [
        ("/1", b""), ("/1/fail", b"the engine hangs\nthe store is gone"),
    ]  # fmt: skip


def test_a_monitor_that_refuses_is_an_error(server: Server) -> None:
    server.answer = lambda _: (404, {}, b"")
    with pytest.raises(LaunchError, match="the monitor responded with 404"):
        pinged({"ping_url": server.url}, [])


@pytest.mark.parametrize(
    ("configured", "field"),
    [
        ({"ping_url": "nonsense"}, "ping_url"),
        ({"ping_url": "http://a.example/", "ping_fail_url": "ftp://b"}, "ping_fail_url"),
        ({"ping_url": "http://a.example/", "ping_every_s": 0}, "ping_every_s"),
    ],
)
def test_a_ping_that_cannot_be(configured: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidField, match=f"^{field}"):
        HttpPinger(configured)
