"""Instances with other time zone tables than this process has."""

from __future__ import annotations

from tompion.engine.schedule_cache import ScheduleCache
from tompion.model.rows import DefinitionRow
from tompion.model.spec import NamedCalendar
from tompion.plan.compiled_schedule import CompiledSchedule
from tompion.plan.zone_tables import tables_number


class OlderTables(ScheduleCache):
    """Schedules compiled with an older release of the zone data, in which Berlin had the time of London."""

    tzdata = "2020a"

    def current_zones(self, zones: str) -> str:
        return " ".join(f"{part.rpartition(':')[0]}:older" for part in zones.split())

    def compile(self, row: DefinitionRow, calendars: tuple[NamedCalendar, ...]) -> CompiledSchedule:
        installed = super().compile(row, calendars)
        older = super().compile(row._replace(spec=row.spec.replace("Europe/Berlin", "Europe/London")), calendars)
        zones = self.current_zones(installed.zones)
        return older._replace(zones=zones, zone_tables=tables_number(zones))
