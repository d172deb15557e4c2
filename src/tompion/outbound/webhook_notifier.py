"""Notices as signed HTTP requests: what the operator has configured, read and checked, and how one is sent.

A receiver that answers 2xx has it.  410 says that it wants no more of this one; any other answer, and none, is worth
another try.  Redirects are not followed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from tompion.errors import InvalidField, InvalidInput, LaunchError, display
from tompion.model.codec import truncate
from tompion.model.notification import CHOICES, Delivery, NotificationKind, NotificationRule
from tompion.outbound.http_session import CONNECT_S, open_session, read_start
from tompion.outbound.ssrf_guard import Guard
from tompion.outbound.webhook_signature import read_secret, signature_headers
from tompion.runtime.clock import Clock, SystemClock

FIELDS = (
    "name", "url", "secret_env", "secret_file", "on", "late_after_ms", "namespace", "schedule", "label",
    "max_per_minute", "allow",
)  # fmt: skip
GONE = 410
MOST_SAID_BYTES = 300
MOST_SECRETS = 2
MOST_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class WebhookReceiver:
    """Where the notices of a notification go, and what they are signed with."""

    rule: NotificationRule
    url: str = field(repr=False)
    keys: tuple[bytes, ...] = field(repr=False)
    guard: Guard


class WebhookNotifier:
    """Takes notices to their receivers."""

    def __init__(self, receivers: Sequence[WebhookReceiver], timeout_ms: int, clock: Clock | None = None) -> None:
        """Take the receivers, and how long one may take to answer."""
        self._receivers = {each.rule.name: each for each in receivers}
        self._timeout = aiohttp.ClientTimeout(total=timeout_ms / 1000, sock_connect=CONNECT_S)
        self._timeout_ms = timeout_ms
        self._clock = clock or SystemClock()
        self._sessions: dict[str, aiohttp.ClientSession] = {}

    @property
    def rules(self) -> tuple[NotificationRule, ...]:
        """Return what each notification is about."""
        return tuple(each.rule for each in self._receivers.values())

    async def send(self, rule_name: str, notification_id: str, body: bytes) -> Delivery:
        """Post a notice once; return what became of it."""
        receiver = self._receivers[rule_name]
        try:
            target = receiver.guard.target(receiver.url)
            headers = {
                "Content-Type": "application/json",
                **signature_headers(notification_id, int(self._clock.now()), body, receiver.keys),
            }
            posted = self._session(receiver).post(
                target.url, data=body, headers=headers, allow_redirects=False, timeout=self._timeout
            )
            async with posted as answer:
                text = (await read_start(answer, MOST_SAID_BYTES)).strip()
                said = f"the receiver answered {answer.status}{': ' if text else ''}{truncate(text, MOST_SAID_BYTES)}"
                return Delivery(200 <= answer.status < 300, said, hopeless=answer.status == GONE)
        except LaunchError as error:
            return Delivery(False, str(error))
        except TimeoutError:
            return Delivery(False, f"no answer within notice_timeout_ms ({self._timeout_ms})")
        except aiohttp.ClientError as error:
            cause = error.__cause__
            said = str(cause) if isinstance(cause, LaunchError) else f"cannot reach it: {type(error).__name__}"
            return Delivery(False, said)

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
    """Return what a block of a configuration says; raises :class:`~tompion.errors.InvalidField`, naming the field."""
    for name in block:
        if name not in FIELDS:
            raise InvalidField(f"{where}: {name}", f"there is no such field; expected {', '.join(FIELDS)}")
    rule = NotificationRule(
        name=_text(where, block, "name"),
        topics=_topics(
            where, block.get("on", [NotificationKind.FAILED, NotificationKind.MISSED, NotificationKind.PAUSED])
        ),
        late_after_ms=_number(where, block, "late_after_ms", 60_000),
        namespace=_maybe_text(where, block, "namespace"),
        schedule=_maybe_text(where, block, "schedule"),
        label=_label(_maybe_text(where, block, "label")),
        max_per_minute=_number(where, block, "max_per_minute", 60),
    )
    guard = _guard(where, block.get("allow", []))
    url = _text(where, block, "url", most=2_000)
    try:
        guard.target(url)
    except LaunchError as error:
        hint = "; 'allow' names what is allowed besides public addresses" if "no rule" in str(error) else ""
        raise InvalidField(f"{where}: url", f"{error}{hint}") from None
    return WebhookReceiver(rule, url, _keys(where, block, environment), guard)


def _text(where: str, block: Mapping[str, Any], field: str, most: int = MOST_NAME_CHARS) -> str:
    value = block.get(field)
    if not isinstance(value, str) or not 1 <= len(value) <= most or not value.isprintable():
        raise InvalidField(f"{where}: {field}", f"it must be there, and be text of 1 to {most} characters")
    return value


def _maybe_text(where: str, block: Mapping[str, Any], field: str) -> str | None:
    return _text(where, block, field) if field in block else None


def _number(where: str, block: Mapping[str, Any], field: str, default: int) -> int:
    value = block.get(field, default)
    if type(value) is not int or value < 1:
        raise InvalidField(f"{where}: {field}", f"{display(value)}; expected a whole number from 1")
    return value


def _topics(where: str, given: Any) -> frozenset[NotificationKind]:
    if not isinstance(given, list) or not given or not all(each in CHOICES for each in given):
        raise InvalidField(f"{where}: on", f"{display(given)}; expected a list of {', '.join(CHOICES)}")
    return frozenset(NotificationKind(each) for each in given)


def _label(text: str | None) -> tuple[str, str | None] | None:
    if text is None:
        return None
    name, equals, value = text.partition("=")
    return name, value if equals else None


def _guard(where: str, allow: Any) -> Guard:
    if not isinstance(allow, list) or not all(isinstance(each, str) for each in allow):
        raise InvalidField(f"{where}: allow", "expected a list of networks, such as 10.1.0.0/16 or 127.0.0.1:8080")
    try:
        return Guard(allow)
    except InvalidInput as error:
        raise InvalidField(f"{where}: allow", str(error)) from None


def _keys(where: str, block: Mapping[str, Any], environment: Mapping[str, str]) -> tuple[bytes, ...]:
    """The keys to sign with: one, or two while it is being replaced; what they are is never shown."""
    if ("secret_env" in block) == ("secret_file" in block):
        raise InvalidField(f"{where}: secret_env", "name a variable of the environment, or a file with secret_file")
    field = "secret_env" if "secret_env" in block else "secret_file"
    given = block[field]
    names = given if isinstance(given, list) else [given]
    if not 1 <= len(names) <= MOST_SECRETS or not all(isinstance(name, str) and name for name in names):
        raise InvalidField(f"{where}: {field}", "expected one name, or two while the secret is being replaced")
    return tuple(_key(f"{where}: {field}", field, name, environment) for name in names)


def _key(where: str, field: str, name: str, environment: Mapping[str, str]) -> bytes:
    if field == "secret_env":
        text = environment.get(name, "")
        if not text:
            raise InvalidField(where, f"the environment has no variable {name}")
    else:
        try:
            text = Path(name).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise InvalidField(where, f"cannot read the file {name}") from None
    try:
        return read_secret(text.strip())
    except InvalidInput as error:
        raise InvalidField(where, str(error)) from None
