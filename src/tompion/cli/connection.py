"""Where a command asks, a service or a store, and how it hands on the answer.

Options that many commands share come in bundles: a function whose parameters are the options, and whose result is what
the command is given.  :func:`taking` adds them to a command.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tompion.cli.options import DEFAULT_STORE
from tompion.cli.output import console
from tompion.errors import InvalidInput
from tompion.runtime.clock import wait_here

if TYPE_CHECKING:
    import ssl

    from tompion.client.sync_client import Client
    from tompion.sdk.app import SyncTompion

    Home = SyncTompion | Client

T = TypeVar("T")
PANEL = "Where to ask, and how to answer"
URL, KEY, STORE = "TOMPION_URL", "TOMPION_KEY", "TOMPION_STORE"
CA, CERT, CERT_KEY = "TOMPION_CA", "TOMPION_CERT", "TOMPION_CERT_KEY"
DEFAULT_NAMESPACE = "default"
COMPLETIONS = 100
"""How many ids a shell is offered."""

Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help=f"A service: http://127.0.0.1:8640 ({URL}).", rich_help_panel=PANEL),
]
Key = Annotated[
    str | None, typer.Option("--key", metavar="KEY", help=f"The service's API key ({KEY}).", rich_help_panel=PANEL)
]
Ca = Annotated[
    str | None,
    typer.Option("--ca", metavar="FILE", help=f"Whom to trust for https, in PEM ({CA}).", rich_help_panel=PANEL),
]
Cert = Annotated[
    str | None,
    typer.Option("--cert", metavar="FILE", help=f"Your certificate, in PEM ({CERT}).", rich_help_panel=PANEL),
]
CertKey = Annotated[
    str | None,
    typer.Option("--cert-key", metavar="FILE", help=f"Its key, if elsewhere ({CERT_KEY}).", rich_help_panel=PANEL),
]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help=f"A store: sqlite:///file.db or postgresql://… ({STORE}, or {DEFAULT_STORE}).",
        rich_help_panel=PANEL,
    ),
]
Namespace = Annotated[
    str | None,
    typer.Option("--namespace", metavar="NAME", help="Whose things (default, or the key's).", rich_help_panel=PANEL),
]
Json = Annotated[bool, typer.Option("--json", help="For machines; errors too.", rich_help_panel=PANEL)]
Watch = Annotated[
    float | None,
    typer.Option("--watch", metavar="SECONDS", min=0.1, help="Again and again, so often.", rich_help_panel=PANEL),
]
RequestId = Annotated[
    str | None, typer.Option("--request-id", metavar="ID", help="The same id again gives the same answer, once.")
]
Token = Annotated[
    int | None, typer.Option("--token", metavar="N", help="Only if nobody has changed it since: its conflict token.")
]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """What an https service is checked with, and shown: files in PEM."""

    ca: str | None = None
    cert: str | None = None
    cert_key: str | None = None

    def context(self) -> ssl.SSLContext | None:
        """Return how to talk to an https service; ``None`` as everybody does."""
        if self == TlsFiles():
            return None
        import ssl

        try:
            made = ssl.create_default_context(cafile=self.ca)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"--ca: cannot use {self.ca}: {_reason(error)}") from None
        try:
            if self.cert is not None:
                made.load_cert_chain(self.cert, self.cert_key)
        except (OSError, ValueError) as error:
            named = " and ".join(filter(None, (self.cert, self.cert_key)))
            raise InvalidInput(f"--cert: cannot use {named}: {_reason(error)}") from None
        return made


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


@dataclass(frozen=True, slots=True)
class Connection:
    """Who is asked, on whose behalf, and for whom the answer is."""

    address: str
    is_service: bool = False
    key: str | None = None
    namespace: str | None = None
    as_json: bool = False
    every_s: float | None = None
    papers: TlsFiles = TlsFiles()

    @contextmanager
    def home(self) -> Iterator[Home]:
        """Give what answers: a client of the service, or the store itself."""
        made: Home
        if self.is_service:
            from tompion.client.sync_client import Client

            made = Client(self.address, key=self.key, namespace=self.namespace, tls=self.papers.context())
        else:
            from tompion.sdk.app import SyncTompion

            made = SyncTompion(self.address, engine=False, namespace=self.namespace or DEFAULT_NAMESPACE)
        with made as home:
            yield home

    def show(self, question: Callable[[Home], T], people: Callable[[T], None]) -> T:
        """Ask, and show the answer: as JSON, or as ``people`` reads it; again and again if it is watched."""
        with self.home() as home:
            return self.repeat(lambda: question(home), people)

    def repeat(self, look: Callable[[], T], people: Callable[[T], None]) -> T:
        """Look, and show what is there, once or for as long as it is watched."""
        answer = look()
        if self.every_s is None:
            self.tell(answer, people)
        while self.every_s is not None:
            console.wipe()
            self.tell(answer, people)
            wait_here(self.every_s)
            answer = look()
        return answer

    def tell(self, answer: T, people: Callable[[T], None]) -> None:
        """Show an answer."""
        if self.as_json:
            from tompion.contract.json import encode

            console.print_json(encode(answer))
        else:
            people(answer)


def asked(  # noqa: PLR0913 - each is an option of the command
    url: Url = None,
    key: Key = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
    store: Store = None,
    namespace: Namespace = None,
    as_json: Json = False,
) -> Connection:
    """Read where to ask: what the command line says counts before the environment, a service before a store."""
    if url is not None and store is not None:
        raise InvalidInput("--url and --store: ask either a service or a store")
    if store is not None and key is not None:
        raise InvalidInput("--key and --store: a store asks for no key, only a service does")
    service = url or (None if store else os.environ.get(URL))
    papers = TlsFiles(ca, cert, cert_key)
    if papers != TlsFiles() and not (service or "").startswith("https://"):
        raise InvalidInput("--ca, --cert and --cert-key: only for a service at https://…")
    if not service:
        return Connection(store or os.environ.get(STORE) or DEFAULT_STORE, namespace=namespace, as_json=as_json)
    return Connection(
        service, True, key or os.environ.get(KEY) or None, namespace, as_json, papers=_papers(service, papers)
    )


def _papers(service: str, given: TlsFiles) -> TlsFiles:
    """Return what the command line and the environment say; the key of another certificate is no key of this one."""
    if not service.startswith("https://"):
        return TlsFiles()
    cert = given.cert or os.environ.get(CERT) or None
    cert_key = given.cert_key or (None if given.cert else os.environ.get(CERT_KEY)) or None
    if cert_key is not None and cert is None:
        raise InvalidInput("--cert-key: of which certificate? give --cert, too")
    return TlsFiles(given.ca or os.environ.get(CA) or None, cert, cert_key)


def watched(  # noqa: PLR0913 - each is an option of the command
    url: Url = None,
    key: Key = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
    store: Store = None,
    namespace: Namespace = None,
    watch: Watch = None,
    as_json: Json = False,
) -> Connection:
    """Read where to ask, and how often."""
    return replace(asked(url, key, ca, cert, cert_key, store, namespace, as_json), every_s=watch)


def changing(token: Token = None, request_id: RequestId = None) -> dict[str, Any]:
    """Read what every change of a schedule takes."""
    return given(token=token, request_id=request_id)


def requesting(request_id: RequestId = None) -> dict[str, Any]:
    """Read what every other change takes."""
    return given(request_id=request_id)


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None and value != []}


def taking(**bundles: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take the options of each bundle, and be given its result under the bundle's name."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        shared = {name: inspect.signature(bundle, eval_str=True).parameters for name, bundle in bundles.items()}

        @wraps(command)
        def call(**options: Any) -> None:
            made = {
                name: bundle(**{each: options.pop(each) for each in shared[name]}) for name, bundle in bundles.items()
            }
            command(**options, **made)

        parameters = [each for name, each in own.items() if name not in bundles]
        parameters += [each for bundle in shared.values() for each in bundle.values()]
        parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what typer reads
        call.__annotations__ = {each.name: each.annotation for each in parameters}
        return call

    return decorate


def complete_schedules(context: typer.Context, incomplete: str) -> list[str]:
    """Return the ids that begin so, for a shell; whatever goes wrong, there are none."""
    said: dict[str, Any] = {
        name: context.params.get(name) for name in ("url", "key", "ca", "cert", "cert_key", "store", "namespace")
    }
    try:
        with asked(**said).home() as home:
            page = home.list_schedules(limit=COMPLETIONS, text=incomplete or None)
    except Exception:  # noqa: BLE001 - nobody reads an error in the middle of a line
        return []
    return [each.schedule_id for each in page.items if each.schedule_id.startswith(incomplete)]


ScheduleId = Annotated[
    str,
    typer.Argument(metavar="SCHEDULE", help="The schedule's id.", autocompletion=complete_schedules),
]
OneSchedule = Annotated[
    str | None,
    typer.Option("--schedule", metavar="ID", help="Only of this schedule.", autocompletion=complete_schedules),
]
Limit = Annotated[int | None, typer.Option("--limit", metavar="N", help="How many at most.")]
After = Annotated[str | None, typer.Option("--after", metavar="PAGE", help="Go on where a page ended.")]
Before = Annotated[str | None, typer.Option("--before", metavar="PAGE", help="Go on where a page ended.")]
