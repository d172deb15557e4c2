"""``tompion calendars``, ``queues``, ``instances`` and ``audit``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tompion.cli.commands.verify import audit_line
from tompion.cli.connection import Before, Connection, Limit, drop_unset, watch_options, with_options
from tompion.cli.output import console, views
from tompion.errors import InvalidInput

if TYPE_CHECKING:
    pass


@with_options(connection=watch_options)
def audit_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    everything: Annotated[bool, typer.Option("--all", help="Changes of schedules, too.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Prove that it is as it was written.")] = False,
    limit: Limit = None,
    before: Before = None,
    after: Annotated[
        int | None, typer.Option("--after", metavar="PLACE", help="With --verify: go on after this place.")
    ] = None,
) -> None:
    """Show who changed workflows, calendars, keys and targets, or everything; prove that nobody changed the audit.

    With --verify, exits 1 if a row is not as it was written.

    Example: tompion audit --all --limit 20
    """
    if not verify:
        if after is not None:
            raise InvalidInput("--after: only with --verify; --before goes on where a page ended")
        options = drop_unset(everything=everything or None, limit=limit, before=before)
        connection.show(lambda api: api.history(**options), views.change_list)
        return
    if everything or before is not None:
        raise InvalidInput("--verify: it is about all rows, from the oldest on; --all and --before are for looking")
    found = connection.show(
        lambda api: api.verify_audit(**drop_unset(after=after, limit=limit)),
        lambda proof: console.paragraph(audit_line(proof)),
    )
    if not found.ok:
        raise typer.Exit(1)
