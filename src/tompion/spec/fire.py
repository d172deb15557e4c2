"""When a tick of a spec is to be launched: at its nominal time, or moved by the spec's jitter."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from tompion.model.spec import ExcludeDocument, SpecDocument
from tompion.spec.compiled import compile_spec
from tompion.spec.jitter import fire_time_ms, temporal_fire_ms
from tompion.spec.ticks import Ticks

REMEMBERED_SPECS = 4_096


def fire_ms_of(spec: SpecDocument, ticks: Ticks, tick: int, schedule_id: str, not_before: int | None) -> int:
    """Return when a tick is to be launched, in milliseconds since the epoch; ``not_before`` is ``start_at``."""
    if spec.jitter_ms <= 0:
        return tick * 1000
    seed = schedule_id if spec.jitter_seed is None else spec.jitter_seed
    if spec.jitter_mode == "temporal":
        return temporal_fire_ms(_raw_ticks(spec), tick, seed=seed, jitter_ms=spec.jitter_ms)
    return fire_time_ms(
        ticks, tick, schedule_id=seed, jitter_ms=spec.jitter_ms, mode=spec.jitter_mode, not_before=not_before
    )


@lru_cache(maxsize=REMEMBERED_SPECS)
def _raw_ticks(spec: SpecDocument) -> Ticks:
    """The ticks of a spec if nothing were excluded and it had no end."""
    return compile_spec(replace(spec, exclude=ExcludeDocument(), end_at=None))
