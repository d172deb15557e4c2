"""Notifications as signed HTTP requests: the configuration of the receivers, and the delivery.

A 2xx response completes the delivery.  410 ends it without a retry.  Any other response, a timeout or a connection
error is retried.  Redirects are not followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from tompion.encoding.bounded_text import truncate
from tompion.errors import InvalidField, InvalidInput, LaunchError, display
from tompion.model.notification import CHOICES, Delivery, NotificationKind, NotificationRule
from tompion.outbound.http_session import CONNECT_TIMEOUT_S, open_session, read_start
from tompion.outbound.ssrf_guard import SsrfGuard
from tompion.outbound.webhook_signature import read_keys, signature_headers
from tompion.runtime.clock import Clock, SystemClock

FIELDS = (
    "name", "url", "secret_env", "secret_file", "on", "late_after_ms", "namespace", "schedule", "label",
    "max_per_minute", "allow",
)  # fmt: skip
GONE = 410
MAX_RESPONSE_BYTES = 300
MAX_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class WebhookReceiver:
    """The URL and the signing keys of a notification rule."""

    rule: NotificationRule
    url: str = field(repr=False)
    keys: tuple[bytes, ...] = field(repr=False)
    guard: SsrfGuard


class WebhookNotifier:
    """Delivers notifications to their receivers."""

    def __init__(self, receivers: Sequence[WebhookReceiver], timeout_ms: int, clock: Clock | None = None) -> None:
        self._receivers = {receiver.rule.name: receiver for receiver in receivers}
        self._timeout = aiohttp.ClientTimeout(total=timeout_ms / 1000, sock_connect=CONNECT_TIMEOUT_S)
        self._timeout_ms = timeout_ms
        self._clock = clock or SystemClock()
        self._sessions: dict[str, aiohttp.ClientSession] = {}

    @property
    def rules(self) -> tuple[NotificationRule, ...]:
        """Return the notification rules of all receivers."""
        return tuple(receiver.rule for receiver in self._receivers.values())

    async def send(self, rule_name: str, notification_id: str, body: bytes) -> Delivery:
        """Post a notification once and return the outcome."""
        receiver = self._receivers[rule_name]
        try:
            target = receiver.guard.target(receiver.url)
            headers = {
                "Content-Type": "application/json",
                **signature_headers(notification_id, int(self._clock.now()), body, receiver.keys),
            }
            request = self._session(receiver).post(
                target.url, data=body, headers=headers, allow_redirects=False, timeout=self._timeout
            )
            async with request as response:
                text = (await read_start(response, MAX_RESPONSE_BYTES)).strip()
                message = f"the receiver responded with {response.status}"
                if text:
                    message = f"{message}: {truncate(text, MAX_RESPONSE_BYTES)}"
                return Delivery(200 <= response.status < 300, message, permanent=response.status == GONE)
        except LaunchError as error:
            return Delivery(False, str(error))
        except TimeoutError:
            return Delivery(False, f"no response within notification_timeout_ms ({self._timeout_ms})")
        except aiohttp.ClientError as error:
            cause = error.__cause__
            message = str(cause) if isinstance(cause, LaunchError) else f"cannot connect: {type(error).__name__}"
            return Delivery(False, message)

    async def aclose(self) -> None:
        """Close all connections."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()

    def _session(self, receiver: WebhookReceiver) -> aiohttp.ClientSession:
        name = receiver.rule.name
        if name not in self._sessions:
            self._sessions[name] = open_session(receiver.guard)
        return self._sessions[name]


def read_receiver(where: str, block: Mapping[str, Any], environment: Mapping[str, str]) -> WebhookReceiver:
    """Return the receiver of a ``[[notification]]`` block. Raises :class:`~tompion.errors.InvalidField`."""
    for name in block:
        if name not in FIELDS:
            raise InvalidField(f"{where}: {name}", f"there is no such field; expected {', '.join(FIELDS)}")
    rule = NotificationRule(
        name=_text(where, block, "name"),
        topics=_topics(
            where, block.get("on", [NotificationKind.FAILED, NotificationKind.MISSED, NotificationKind.PAUSED])
        ),
        late_after_ms=_number(where, block, "late_after_ms", 60_000),
        namespace=_optional_text(where, block, "namespace"),
        schedule=_optional_text(where, block, "schedule"),
        label=_label(_optional_text(where, block, "label")),
        max_per_minute=_number(where, block, "max_per_minute", 60),
    )
    guard = _guard(where, block.get("allow", []))
    url = _text(where, block, "url", max_chars=2_000)
    try:
        guard.target(url)
    except LaunchError as error:
        hint = (
            "; 'allow' has the networks that are allowed in addition to public addresses"
            if "no rule" in str(error)
            else ""
        )
        raise InvalidField(f"{where}: url", f"{error}{hint}") from None
    return WebhookReceiver(rule, url, read_keys(f"{where}: ", block, environment), guard)


def _text(where: str, block: Mapping[str, Any], field: str, max_chars: int = MAX_NAME_CHARS) -> str:
    value = block.get(field)
    if not isinstance(value, str) or not 1 <= len(value) <= max_chars or not value.isprintable():
        raise InvalidField(f"{where}: {field}", f"expected text of 1 to {max_chars} characters")
    return value


def _optional_text(where: str, block: Mapping[str, Any], field: str) -> str | None:
    return _text(where, block, field) if field in block else None


def _number(where: str, block: Mapping[str, Any], field: str, default: int) -> int:
    value = block.get(field, default)
    if type(value) is not int or value < 1:
        raise InvalidField(f"{where}: {field}", f"{display(value)}; expected a whole number from 1")
    return value


def _topics(where: str, names: Any) -> frozenset[NotificationKind]:
    if not isinstance(names, list) or not names or not all(name in CHOICES for name in names):
        raise InvalidField(f"{where}: on", f"{display(names)}; expected a list of {', '.join(CHOICES)}")
    return frozenset(NotificationKind(name) for name in names)


def _label(text: str | None) -> tuple[str, str | None] | None:
    if text is None:
        return None
    name, equals, value = text.partition("=")
    return name, value if equals else None


def _guard(where: str, allow: Any) -> SsrfGuard:
    if not isinstance(allow, list) or not all(isinstance(rule, str) for rule in allow):
        raise InvalidField(f"{where}: allow", "expected a list of networks, such as 10.1.0.0/16 or 127.0.0.1:8080")
    try:
        return SsrfGuard(allow)
    except InvalidInput as error:
        raise InvalidField(f"{where}: allow", str(error)) from None
