"""Masks passwords in store URLs and in error messages that quote them."""

from __future__ import annotations

import re
from urllib.parse import unquote

MASK = "***"
# Text between a user name and the last @. A port that is not a number. Parameters named like a password.
_SECRETS = (
    re.compile(r"(?s)(?P<before>//[^:@/?]*:|^[^:@/?]*:)(?!//)(?P<secret>.*)(?=@)"),
    re.compile(r"(?P<before>//[^:@/?\[,]*:)(?!\d*(?:[,/?]|$))(?P<secret>[^@/?]*)(?=[/?]|$)"),
    re.compile(r"(?i)(?P<before>[?&][^=&]*pass[^=&]*=)(?P<secret>[^&]*)"),
)
_QUOTE = re.compile("[\"']")
_QUOTED = re.compile("(?s)\"(.+?)\"|'(.+?)'")


def mask_password(url: str) -> str:
    """Return a store's URL with its password masked."""
    for pattern in _SECRETS:
        url = pattern.sub(rf"\g<before>{MASK}", url)
    return url


def scrub_secrets(text: str, url: str) -> str:
    """Return an error message without the secrets of the URL. It is truncated where it quotes one."""
    masked = mask_password(url)
    text = text.replace(url, masked)
    if _QUOTE.search(text) and _may_quote_a_quoted_secret(text, url):
        return _QUOTE.split(text, maxsplit=1)[0] + MASK
    whole, visible = f"{url} {unquote(url)}", f"{masked} {unquote(masked)}"
    for quoted in _QUOTED.finditer(text):
        piece = quoted[1] or quoted[2]
        if piece in whole and piece not in visible:
            return text[: quoted.start()] + MASK
    return text


def _may_quote_a_quoted_secret(text: str, url: str) -> bool:
    """Return whether a message may quote a secret that contains quotes, so that its end cannot be found."""
    secrets = [match["secret"] for pattern in _SECRETS for match in pattern.finditer(url)]
    parts = [_QUOTE.split(spelling) for secret in secrets for spelling in (secret, unquote(secret))]
    return any(part in text for some in parts if len(some) > 1 for part in some if part)
