"""Fire times: ticks moved by a small offset, so that many schedules of the same minute do not start in one second.

The offset is a hash of the schedule's id and the tick: the same on every instance and after every restart. It is always
less than half of the distance to a neighbouring tick, so jitter cannot reorder, merge or drop ticks. No fire time is
before ``start_at``.

With the mode ``temporal`` a tick is delayed exactly as by a Temporal server: by another hash, of the tick and a seed,
and by less than the distance to the next tick, including excluded ones.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from tompion.model.spec import ExcludeDocument, JitterMode, SpecDocument
from tompion.spec.compiler import compile_spec
from tompion.spec.farmhash import fingerprint32, go_time
from tompion.spec.stable_hash import hash_bits
from tompion.spec.ticks import Ticks

_BITS = 64


def jitter_offset_ms(schedule_id: str, tick: int, limit_ms: int, mode: JitterMode = "symmetric") -> int:
    """Return the offset of a tick in milliseconds: within ±``limit_ms``, or from 0 to it for ``delay``."""
    if limit_ms <= 0:
        return 0
    width = limit_ms + 1 if mode == "delay" else 2 * limit_ms + 1
    offset = hash_bits("jitter", schedule_id, str(tick)) * width >> _BITS
    return offset if mode == "delay" else offset - limit_ms


def temporal_delay_ms(seed: str, tick: int, limit_ms: int) -> int:
    """Return the delay of a tick on a Temporal server in milliseconds, always less than the limit."""
    offset = fingerprint32(go_time(tick) + seed.encode("utf-8", "surrogatepass"))
    return offset * min(max(limit_ms, 0), (1 << 32) - 1) >> 32


def temporal_fire_ms(raw: Ticks, tick: int, *, seed: str, jitter_ms: int) -> int:
    """Return the fire time of a tick on a Temporal server. ``raw`` are the ticks without exclusions and end."""
    later = raw.next_epoch(tick)
    limit = jitter_ms if later is None else min(jitter_ms, (later - tick) * 1000)
    return tick * 1000 + temporal_delay_ms(seed, tick, limit)


def jitter_limit_ms(gap_s: int) -> int:
    """Return the maximum jitter for ticks with this gap: less than half of it, so that neighbours never meet."""
    return (gap_s * 1000 - 1) // 2


def fire_time_ms(  # noqa: PLR0913 - everything that a fire time depends on
    ticks: Ticks,
    tick: int,
    *,
    schedule_id: str,
    jitter_ms: int,
    mode: JitterMode = "symmetric",
    not_before: int | None = None,
) -> int:
    """Return the fire time of a tick in milliseconds since the epoch."""
    if jitter_ms <= 0:
        return tick * 1000
    limit = jitter_ms
    later, earlier = ticks.next_epoch(tick), ticks.prev_epoch(tick)
    for gap in (later - tick if later is not None else None, tick - earlier if earlier is not None else None):
        if gap is not None:
            limit = min(limit, jitter_limit_ms(gap))
    fire = tick * 1000 + jitter_offset_ms(schedule_id, tick, limit, mode)
    return fire if not_before is None else max(fire, not_before * 1000)


INTERNED_SPECS = 4_096


def fire_ms_of(spec: SpecDocument, ticks: Ticks, tick: int, schedule_id: str, not_before: int | None) -> int:
    """Return the fire time of a tick in milliseconds since the epoch. ``not_before`` is ``start_at``."""
    if spec.jitter_ms <= 0:
        return tick * 1000
    seed = schedule_id if spec.jitter_seed is None else spec.jitter_seed
    if spec.jitter_mode == "temporal":
        return temporal_fire_ms(_raw_ticks(spec), tick, seed=seed, jitter_ms=spec.jitter_ms)
    return fire_time_ms(
        ticks, tick, schedule_id=seed, jitter_ms=spec.jitter_ms, mode=spec.jitter_mode, not_before=not_before
    )


@lru_cache(maxsize=INTERNED_SPECS)
def _raw_ticks(spec: SpecDocument) -> Ticks:
    """Return the ticks of a spec without its exclusions and its end."""
    return compile_spec(replace(spec, exclude=ExcludeDocument(), end_at=None))
