"""Retries of the clients after lost responses, and delays that the service requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from tests.conformance.api.scripted_server import Scripted, Step, answering, hanging_up
from tests.support.command_line import run
from tests.support.service import Blocking
from tompion import InvalidField, OutcomeUnknown, StoreUnavailable, TompionError, TooManyRequests
from tompion.client import Client, async_client, protocol, sync_client
from tompion.client.errors import error_of
from tompion.contract.stubs import run_stubs

TOO_MANY = {"code": "too_many_requests", "detail": "more than 10 requests per second", "status": 429}
INVALID = {"code": "invalid_field", "detail": "name: no", "status": 400}
EMPTY_PAGE = answering(200, {"items": [], "next_page": None})


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Records the delays of the clients, without waiting."""
    seen: list[float] = []

    async def noted(seconds: float) -> None:
        seen.append(seconds)

    monkeypatch.setattr(sync_client, "pause_thread", seen.append)
    monkeypatch.setattr(async_client, "pause", noted)
    return seen


@pytest.fixture(params=[Client, Blocking])
def opened(request: pytest.FixtureRequest, pauses: list[float]) -> Iterator[Callable[..., tuple[Any, Scripted]]]:
    """Open a client on a service that follows a script."""
    resources: list[Any] = []

    def opening(*steps: Step) -> tuple[Any, Scripted]:
        service = Scripted(*steps)
        client = request.param(service.url)
        resources.extend((client, service))
        return client, service

    yield opening
    for resource in resources:
        resource.close()


Opened = Callable[..., tuple[Any, Scripted]]


@pytest.mark.parametrize(
    "change",
    [
        lambda client: client.keys.create("ci"),
        lambda client: client._run_operation(run_stubs.register_worker, ("w",), {"queues": ["a"]}, writes=True),
        lambda client: client._run_operation(run_stubs.claim_runs, (1,), {"queues": ["a"]}, writes=True),
    ],
)
def test_a_change_without_a_request_id_is_not_retried(
    opened: Opened, pauses: list[float], change: Callable[[Any], Any]
) -> None:
    """Regression: a lost response led to a second key that no caller knew."""
    client, service = opened(hanging_up, hanging_up)
    with pytest.raises(OutcomeUnknown, match="may have been done") as error:
        change(client)
    assert (len(service.heads), pauses) == (1, [])
    assert not error.value.retryable


def test_a_change_is_retried_with_the_same_request_id(opened: Opened) -> None:
    client, service = opened(hanging_up, answering(204, b""))
    client.queues.pause("default")
    keys = [line for head in service.heads for line in head.splitlines() if line.lower().startswith("idempotency-key")]
    assert len(keys) == 2
    assert len(set(keys)) == 1


def test_a_read_is_retried(opened: Opened, pauses: list[float]) -> None:
    client, service = opened(hanging_up, hanging_up, EMPTY_PAGE)
    assert client.keys.list().items == ()
    assert len(service.heads) == 3
    assert pauses[0] == protocol.RETRY_DELAY_S


def test_a_change_is_retried_while_the_service_is_unreachable(opened: Opened, pauses: list[float]) -> None:
    """It has not been sent, so it cannot have happened."""
    client, service = opened()
    service.close()
    service.close = lambda: None  # type: ignore[method-assign]  # it is closed
    with pytest.raises(StoreUnavailable, match="no answer"):
        client.keys.create("ci")
    assert len(pauses) == protocol.MAX_ATTEMPTS - 1


@pytest.mark.parametrize("status", [502, 504])
def test_a_gateway_error_leaves_the_outcome_unknown(opened: Opened, status: int) -> None:
    client, service = opened(answering(status, b"<html>bad gateway</html>"), EMPTY_PAGE)
    with pytest.raises(OutcomeUnknown, match=f"status {status}"):
        client.keys.create("ci")
    assert len(service.heads) == 1


def test_a_refused_change_is_retried_after_the_requested_delay(opened: Opened, pauses: list[float]) -> None:
    client, service = opened(answering(429, TOO_MANY, Retry_After="3"), answering(400, INVALID))
    with pytest.raises(InvalidField):
        client.keys.create("ci")
    assert (len(service.heads), pauses) == (2, [3.0])


@pytest.mark.parametrize(
    ("retry_after", "waited"),
    [("0", 0.2), ("1", 1.0), ("86400", protocol.MAX_RETRY_AFTER_S), ("Fri, 31 Dec 2027 23:59:59 GMT", 0.2), ("-1", 0.2),
     ("²", 0.2), ("", 0.2)],
)  # fmt: skip
def test_retry_after_is_honoured_within_bounds(retry_after: str, waited: float) -> None:
    assert protocol.retry_delay_s(0, protocol.ApiResponse(429, b"", retry_after)) == waited


def test_too_many_requests_is_a_retryable_error(opened: Opened) -> None:
    steps = [answering(429, TOO_MANY, Retry_After="1")] * protocol.MAX_ATTEMPTS
    client, service = opened(*steps)
    with pytest.raises(TooManyRequests, match="more than 10 requests") as error:
        client.keys.list()
    assert error.value.retryable
    assert len(service.heads) == protocol.MAX_ATTEMPTS


def test_a_proxy_error_without_a_problem_document_is_mapped() -> None:
    assert isinstance(error_of(429, b"slow down"), TooManyRequests)


@pytest.mark.parametrize(
    ("steps", "code", "name"),
    [
        ([partial(answering(429, TOO_MANY))] * protocol.MAX_ATTEMPTS, 6, "too_many_requests"),
        ([hanging_up], 7, "outcome_unknown"),
    ],
)
def test_the_command_line_has_an_exit_code_for_each(
    pauses: list[float], steps: list[Step], code: int, name: str
) -> None:
    with closing(Scripted(*steps)) as service:
        left = run(["keys", "create", "ci", "--url", service.url, "-o", "json"])
    assert (left.code, json.loads(left.err)["code"]) == (code, name)


def request_id_of(head: str) -> str:
    return next(line.partition(": ")[2] for line in head.splitlines() if line.lower().startswith("x-request-id:"))


def test_an_error_of_the_service_names_the_request_id(opened: Opened) -> None:
    """The service logs the id that the client sends, so that an operator finds the cause."""
    detail = {"code": "internal_error", "detail": "unexpected error", "status": 500}
    client, service = opened(answering(500, detail))
    with pytest.raises(TompionError) as raised:
        client.get("report")
    request_id = request_id_of(service.heads[0])
    assert str(raised.value) == f"unexpected error; the log of the service has request id {request_id}"


def test_a_lost_answer_names_the_request_id(opened: Opened) -> None:
    client, service = opened(*[hanging_up] * protocol.MAX_ATTEMPTS)
    with pytest.raises(StoreUnavailable, match="no answer from") as raised:
        client.get("report")
    assert str(raised.value).endswith(f"; the log of the service has request id {request_id_of(service.heads[0])}")
    assert len(set(map(request_id_of, service.heads))) == 1
