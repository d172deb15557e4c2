"""What may be shown of a store's URL, and of errors that quote it: never the password, wherever it stands."""

from __future__ import annotations

import re
from urllib.parse import unquote

MASK = "***"
# What stands between a name and the last @; a port that is no number; parameters that are called like a password.
_SECRETS = (
    re.compile(r"(?s)(?P<before>//[^:@/?]*:|^[^:@/?]*:)(?!//)(?P<secret>.*)(?=@)"),
    re.compile(r"(?P<before>//[^:@/?\[,]*:)(?!\d*(?:[,/?]|$))(?P<secret>[^@/?]*)(?=[/?]|$)"),
    re.compile(r"(?i)(?P<before>[?&][^=&]*pass[^=&]*=)(?P<secret>[^&]*)"),
)
_QUOTE = re.compile("[\"']")
_QUOTED = re.compile("(?s)\"(.+?)\"|'(.+?)'")


def mask_password(url: str) -> str:
    """Return a store's URL as it may be shown."""
    for pattern in _SECRETS:
        url = pattern.sub(rf"\g<before>{MASK}", url)
    return url


def scrubbed(text: str, url: str) -> str:
    """Return what an error says as it may be shown: it ends where it quotes what is hidden of the URL."""
    seen = mask_password(url)
    text = text.replace(url, seen)
    if _QUOTE.search(text) and _is_cut_short(text, url):
        return _QUOTE.split(text, maxsplit=1)[0] + MASK
    whole, shown = f"{url} {unquote(url)}", f"{seen} {unquote(seen)}"
    for quoted in _QUOTED.finditer(text):
        piece = quoted[1] or quoted[2]
        if piece in whole and piece not in shown:
            return text[: quoted.start()] + MASK
    return text


def _is_cut_short(text: str, url: str) -> bool:
    """Whether a text may quote a secret that has quotes itself: nobody knows then where it ends."""
    secrets = [found["secret"] for pattern in _SECRETS for found in pattern.finditer(url)]
    parts = [_QUOTE.split(each) for secret in secrets for each in (secret, unquote(secret))]
    return any(part in text for some in parts if len(some) > 1 for part in some if part)
