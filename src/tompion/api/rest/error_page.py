"""The page ``/docs/errors``: the codes of problem documents, to which their ``type`` links."""

from __future__ import annotations

from functools import cache
from html import escape

from tompion.contract.json import status_of
from tompion.errors import TompionError

SERVICE_CODES = {
    "internal_error": (500, "An unexpected error. The log of the service has it, with the request id."),
    "method_not_allowed": (405, "The path has no such method. The header Allow has its methods."),
    "not_ready": (503, "The store does not answer, or the engine in the same process does not work."),
    "refused": (400, "The request is not valid HTTP for this service."),
    "too_large": (413, "The body has more than max_body_bytes."),
    "unknown_host": (400, "The Host of the request is not a name of the service. Add it to the setting hosts."),
    "unsupported_media_type": (415, "The body has another content type than application/json."),
}
"""The status and the description of codes that are not errors of an operation."""


@cache
def error_page() -> str:
    """Return the page as HTML."""
    codes = {kind.code: (status_of(kind.__new__(kind)), _first_paragraph(kind)) for kind in _kinds(TompionError)}
    rows = "".join(
        f'<tr id="{escape(code)}"><td><code>{escape(code)}</code></td><td>{status}</td><td>{escape(text)}</td></tr>\n'
        for code, (status, text) in sorted({**SERVICE_CODES, **codes}.items())
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Tompion: error codes</title></head>\n'
        "<body>\n<h1>Error codes</h1>\n<table>\n"
        f"<tr><th>code</th><th>status</th><th>meaning</th></tr>\n{rows}</table>\n</body>\n</html>\n"
    )


def _kinds(kind: type[TompionError]) -> list[type[TompionError]]:
    return [kind, *(child for subclass in kind.__subclasses__() for child in _kinds(subclass))]


def _first_paragraph(kind: type[TompionError]) -> str:
    return " ".join((kind.__doc__ or "").partition("\n\n")[0].replace("``", "").split())
