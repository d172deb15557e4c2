"""Connection of a command to a service or a store, and the options that many commands share.

Shared options come in bundles. A bundle is a function whose parameters are options, and whose result is passed to the
command. :func:`with_options` adds bundles to a command.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tompion.cli.options import DEFAULT_STORE
from tompion.cli.output import console
from tompion.cli.output.formats import OutputFormat, print_data, utc_times, wide_tables
from tompion.errors import Conflict, InvalidInput, NotFound, StoreUnavailable
from tompion.runtime.clock import pause_thread

if TYPE_CHECKING:
    import ssl

    from tompion.client.sync_client import Client
    from tompion.sdk.app import Tompion

    Api = Tompion | Client

T = TypeVar("T")
PANEL = "Connection and output"
URL, KEY, STORE = "TOMPION_URL", "TOMPION_KEY", "TOMPION_STORE"
CA, CERT, CERT_KEY = "TOMPION_CA", "TOMPION_CERT", "TOMPION_CERT_KEY"
DEFAULT_NAMESPACE = "default"
HAS_STORES = find_spec("tompion.bootstrap") is not None
"""Whether this distribution can open a store. The distribution of the clients cannot."""
DEFAULT_URL = "http://127.0.0.1:8640"
"""The service that a command without stores uses if none is named."""
MAX_COMPLETIONS = 100
MAX_ZONES = 200
"""Maximum schedules whose zones are read for one list. The times of the others are in UTC."""

Url = Annotated[
    str | None,
    typer.Option(
        "--url", metavar="URL", help=f"Service, such as http://127.0.0.1:8640 ({URL}).", rich_help_panel=PANEL
    ),
]
Key = Annotated[
    str | None, typer.Option("--key", metavar="KEY", help=f"API key of the service ({KEY}).", rich_help_panel=PANEL)
]
Ca = Annotated[
    str | None,
    typer.Option("--ca", metavar="FILE", help=f"Trusted authority for https, PEM ({CA}).", rich_help_panel=PANEL),
]
Cert = Annotated[
    str | None,
    typer.Option("--cert", metavar="FILE", help=f"Client certificate, PEM ({CERT}).", rich_help_panel=PANEL),
]
CertKey = Annotated[
    str | None,
    typer.Option(
        "--cert-key", metavar="FILE", help=f"Key of --cert, if in another file ({CERT_KEY}).", rich_help_panel=PANEL
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help=f"Store: sqlite:///file.db or postgresql://… ({STORE}, or {DEFAULT_STORE}).",
        rich_help_panel=PANEL,
        hidden=not HAS_STORES,
    ),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace", metavar="NAME", help="Namespace (default: the key's, or default).", rich_help_panel=PANEL
    ),
]
Output = Annotated[
    OutputFormat,
    typer.Option(
        "-o",
        "--output",
        metavar="FORMAT",
        help="table, wide, json, yaml or name (table).",
        rich_help_panel=PANEL,
        show_default=False,
    ),
]
Utc = Annotated[
    bool, typer.Option("--utc", help="Show times in UTC, not in the zone of the schedule.", rich_help_panel=PANEL)
]
Watch = Annotated[
    float | None,
    typer.Option("--watch", metavar="SECONDS", min=0.1, help="Refresh every SECONDS.", rich_help_panel=PANEL),
]
RequestId = Annotated[
    str | None,
    typer.Option("--request-id", metavar="ID", help="Idempotency key: a repeated request is done once."),
]
Token = Annotated[
    int | None, typer.Option("--token", metavar="N", help="Conflict token: fail if the schedule has changed since.")
]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files for the connection to an https service."""

    ca: str | None = None
    cert: str | None = None
    cert_key: str | None = None

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS context, or ``None`` for the default one."""
        if self == TlsFiles():
            return None
        import ssl

        try:
            context = ssl.create_default_context(cafile=self.ca)
        except (OSError, ValueError) as error:
            raise InvalidInput(f"--ca: cannot use {self.ca}: {_reason(error)}") from None
        try:
            if self.cert is not None:
                context.load_cert_chain(self.cert, self.cert_key)
        except (OSError, ValueError) as error:
            names = " and ".join(filter(None, (self.cert, self.cert_key)))
            raise InvalidInput(f"--cert: cannot use {names}: {_reason(error)}") from None
        return context


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


@dataclass(frozen=True, slots=True)
class Connection:
    """Service or store that a command uses, its credentials and its output format."""

    address: str
    is_service: bool = False
    key: str | None = None
    namespace: str | None = None
    output: OutputFormat = OutputFormat.TABLE
    utc: bool = False
    interval_s: float | None = None
    tls: TlsFiles = TlsFiles()

    @contextmanager
    def open(self, *, create: bool = False) -> Iterator[Api]:
        """Yield a client of the service, or the opened store. Only with ``create`` may it create an SQLite file."""
        try:
            with self._unopened(create) as api:
                yield api
        except StoreUnavailable as error:
            remedy = self._remedy(str(error))
            if not remedy:
                raise
            raise StoreUnavailable(f"{error}; {remedy}") from None

    def _remedy(self, message: str) -> str:
        """Return what to do about a service or a database that does not respond, or an empty text."""
        if self.is_service:
            from tompion.client.protocol import NO_ANSWER

            if not message.startswith(NO_ANSWER):
                return ""
            return "is the service running? Start one with 'tompion serve', or pass another with --url"
        if self.address.startswith("sqlite"):
            return ""
        return "is the database running? Check --store, or use a service with --url"

    def _unopened(self, create: bool) -> Api:
        """Return a client of the service, or an app on the store, that is not open yet."""
        unopened: Api
        if self.is_service:
            from tompion.client.sync_client import Client

            unopened = Client(self.address, key=self.key, namespace=self.namespace, tls=self.tls.context())
        else:
            from tompion.bootstrap.store import check_store_exists
            from tompion.sdk.app import Tompion

            if not create:
                check_store_exists(self.address)
            unopened = Tompion(self.address, engine=False, namespace=self.namespace or DEFAULT_NAMESPACE)
        return unopened

    def show(
        self,
        read: Callable[[Api], T],
        render: Callable[[T], None],
        *,
        create: bool = False,
        schedule_id: str | None = None,
    ) -> T:
        """Call an operation and print its result, with times in the zone of a schedule. Repeat with ``--watch``."""
        with self.open(create=create) as api:
            if schedule_id is None or not self.is_local:
                return self.repeat(lambda: read(api), render)
            from tompion.cli.output.tables import times_in
            from tompion.cli.times import ScheduleZone

            try:
                zone = ScheduleZone(api, schedule_id)()
            except (NotFound, Conflict):  # deleted, or the operation reports it
                zone = "UTC"

            def render_locally(result: T) -> None:
                with times_in(zone):
                    render(result)

            return self.repeat(lambda: read(api), render_locally)

    def zones(self, api: Api, schedule_ids: Iterable[str]) -> dict[str, str]:
        """Return the zones of schedules, by id. Nothing is read if the output has times in UTC."""
        names = sorted(set(schedule_ids))[:MAX_ZONES] if self.is_local else []
        if not names:
            return {}
        return {summary.schedule_id: summary.timezone for summary in api.schedules.summaries(names)}

    @property
    def is_local(self) -> bool:
        """Whether the output has times in the zones of schedules."""
        return not (self.utc or self.output.is_data)

    def repeat(self, read: Callable[[], T], render: Callable[[T], None]) -> T:
        """Print what ``read`` returns, once or every ``interval_s`` seconds."""
        result = read()
        if self.interval_s is None:
            self.print_result(result, render)
        while self.interval_s is not None:
            console.clear_screen()
            self.print_result(result, render)
            pause_thread(self.interval_s)
            result = read()
        return result

    def print_result(self, result: T, render: Callable[[T], None]) -> None:
        """Print a result in the format of the command. ``render`` prints it as text."""
        if self.output.is_data:
            from tompion.contract.json import encode

            print_data(encode(result), self.output)
            return
        wide, utc = wide_tables.set(self.output == OutputFormat.WIDE), utc_times.set(self.utc)
        try:
            render(result)
        finally:
            wide_tables.reset(wide)
            utc_times.reset(utc)


def connection_options(  # noqa: PLR0913 - each is an option of the command
    url: Url = None,
    key: Key = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
    store: Store = None,
    namespace: Namespace = None,
    output: Output = OutputFormat.TABLE,
    utc: Utc = False,
) -> Connection:
    """Return the connection. Options win over environment variables, and a service over a store."""
    if url is not None and store is not None:
        raise InvalidInput("--url and --store exclude each other: use a service or a store")
    if store is not None and key is not None:
        raise InvalidInput("--key and --store exclude each other: a store needs no API key")
    if store is not None and not HAS_STORES:
        raise InvalidInput("--store needs the distribution tompion; use a service with --url")
    service = url or (None if store else os.environ.get(URL)) or (None if HAS_STORES else DEFAULT_URL)
    tls = TlsFiles(ca, cert, cert_key)
    if tls != TlsFiles() and not (service or "").startswith("https://"):
        raise InvalidInput("--ca, --cert and --cert-key need a service at https://…")
    if not service:
        return Connection(store or os.environ.get(STORE) or DEFAULT_STORE, namespace=namespace, output=output, utc=utc)
    return Connection(
        service,
        is_service=True,
        key=key or os.environ.get(KEY) or None,
        namespace=namespace,
        output=output,
        utc=utc,
        tls=_tls_files(service, tls),
    )


def _tls_files(service: str, options: TlsFiles) -> TlsFiles:
    """Return the files of the options and the environment. The key in the environment belongs to its certificate."""
    if not service.startswith("https://"):
        return TlsFiles()
    cert = options.cert or os.environ.get(CERT) or None
    cert_key = options.cert_key or (None if options.cert else os.environ.get(CERT_KEY)) or None
    if cert_key is not None and cert is None:
        raise InvalidInput("--cert-key needs --cert")
    return TlsFiles(options.ca or os.environ.get(CA) or None, cert, cert_key)


def watch_options(  # noqa: PLR0913 - each is an option of the command
    url: Url = None,
    key: Key = None,
    ca: Ca = None,
    cert: Cert = None,
    cert_key: CertKey = None,
    store: Store = None,
    namespace: Namespace = None,
    watch: Watch = None,
    output: Output = OutputFormat.TABLE,
    utc: Utc = False,
) -> Connection:
    """Return the connection of a command that can refresh its output."""
    return replace(connection_options(url, key, ca, cert, cert_key, store, namespace, output, utc), interval_s=watch)


def change_options(token: Token = None, request_id: RequestId = None) -> dict[str, Any]:
    """Return the options of every change of a schedule."""
    return drop_unset(conflict_token=token, request_id=request_id)


def request_options(request_id: RequestId = None) -> dict[str, Any]:
    """Return the options of every other change."""
    return drop_unset(request_id=request_id)


def drop_unset(**options: Any) -> dict[str, Any]:
    """Return the options that are set."""
    return {name: value for name, value in options.items() if value is not None and value != []}


def with_options(**bundles: Callable[..., Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of each bundle to a command, which receives the bundle's result under the bundle's name."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        shared = {name: inspect.signature(bundle, eval_str=True).parameters for name, bundle in bundles.items()}

        @wraps(command)
        def call(**options: Any) -> None:
            results = {
                name: bundle(**{option: options.pop(option) for option in shared[name]})
                for name, bundle in bundles.items()
            }
            command(**options, **results)

        parameters = [parameter for name, parameter in own.items() if name not in bundles]
        parameters += [parameter for bundle in shared.values() for parameter in bundle.values()]
        parameters = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
        call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return call

    return decorate


def complete_schedules(context: typer.Context, incomplete: str) -> list[str]:
    """Return the schedule ids with this prefix, for shell completion. Errors give an empty list."""
    names = ("url", "key", "ca", "cert", "cert_key", "store", "namespace")
    options: dict[str, Any] = {name: context.params.get(name) for name in names}
    try:
        with connection_options(**options).open() as api:
            page = api.schedules.list(limit=MAX_COMPLETIONS, text=incomplete or None)
    except Exception:  # noqa: BLE001 - an error message in the middle of a command line helps no user
        return []
    return [schedule.schedule_id for schedule in page.items if schedule.schedule_id.startswith(incomplete)]


ScheduleId = Annotated[
    str,
    typer.Argument(metavar="SCHEDULE", help="Id of the schedule.", autocompletion=complete_schedules),
]
OneSchedule = Annotated[
    str | None,
    typer.Option("--schedule", metavar="ID", help="Only this schedule.", autocompletion=complete_schedules),
]
Limit = Annotated[int | None, typer.Option("--limit", metavar="N", help="Maximum number of items.")]
After = Annotated[str | None, typer.Option("--after", metavar="PAGE", help="Continue after this page token.")]
Before = Annotated[str | None, typer.Option("--before", metavar="PAGE", help="Continue before this page token.")]
