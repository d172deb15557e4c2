"""``tompion audit``: show and verify the audit log."""

from __future__ import annotations

from typing import Annotated

import typer

from tompion.cli.commands.verify import audit_line
from tompion.cli.connection import Before, Connection, Limit, drop_unset, watch_options, with_options
from tompion.cli.output import console
from tompion.cli.output.changes import print_changes
from tompion.errors import InvalidInput


@with_options(connection=watch_options)
def audit_command(  # noqa: PLR0913 - each is an option of the command
    connection: Connection,
    everything: Annotated[bool, typer.Option("--all", help="Include changes of schedules.")] = False,
    verify: Annotated[bool, typer.Option("--verify", help="Verify the hash chain.")] = False,
    limit: Limit = None,
    before: Before = None,
    after: Annotated[
        int | None, typer.Option("--after", metavar="POSITION", help="With --verify: start after this position.")
    ] = None,
) -> None:
    """Show or verify the audit log.

    Without --all it omits changes of schedules.
    With --verify it exits 1 if a row was changed.

    Example: tompion audit --all --limit 20
    """
    if not verify:
        if after is not None:
            raise InvalidInput("--after needs --verify; use --before to continue a list")
        options = drop_unset(everything=everything or None, limit=limit, before=before)
        connection.show(lambda api: api.audit.list(**options), print_changes)
        return
    if everything or before is not None:
        raise InvalidInput("--verify excludes --all and --before: it checks all rows, the oldest first")
    verification = connection.show(
        lambda api: api.audit.verify(**drop_unset(after=after, limit=limit)),
        lambda verification: console.paragraph(audit_line(verification)),
    )
    if not verification.ok:
        raise typer.Exit(1)
