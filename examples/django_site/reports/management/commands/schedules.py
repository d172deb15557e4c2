"""`manage.py schedules`: runs the schedules of the site until it is interrupted."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    """Run the schedules of the site."""

    help = "Run the schedules of the site until interrupted."

    def handle(self, *args: Any, **options: Any) -> None:
        """Run."""
        from reports.schedules import app

        raise SystemExit(app.run())
