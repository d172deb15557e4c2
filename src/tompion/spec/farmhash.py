"""FarmHash Fingerprint32, with which Temporal spreads its schedules. Its results must never change.

Schedules that are imported from Temporal keep their fire times to the millisecond. Everything else is hashed with
:mod:`tompion.spec.stable_hash`.
"""

from __future__ import annotations

from struct import pack, unpack_from

_MASK = 0xFFFFFFFF
_C1, _C2, _C3 = 0xCC9E2D51, 0x1B873593, 0xE6546B64
_YEAR_ONE_S = 62_135_596_800
"""Seconds from the beginning of Go's year 1 to the Unix epoch."""


def go_time(epoch_s: int) -> bytes:
    """Return an instant in UTC in Go's binary form: version, seconds, nanoseconds, and no offset."""
    return pack(">bqih", 1, epoch_s + _YEAR_ONE_S, 0, -1)


def fingerprint32(data: bytes) -> int:
    """Return the fingerprint of bytes."""
    size = len(data)
    if size <= 4:
        return _up_to_4(data)
    if size <= 12:
        return _up_to_12(data)
    return _up_to_24(data) if size <= 24 else _long(data)


def _word(data: bytes, place: int) -> int:
    word: int = unpack_from("<I", data, place)[0]
    return word


def _rotate(value: int, by: int) -> int:
    return (value >> by | value << 32 - by) & _MASK


def _scramble(value: int) -> int:
    return _rotate(value * _C1 & _MASK, 17) * _C2 & _MASK


def _mix(value: int, into: int) -> int:
    return (_rotate(into ^ _scramble(value), 19) * 5 + _C3) & _MASK


def _finish(value: int) -> int:
    value = (value ^ value >> 16) * 0x85EBCA6B & _MASK
    value = (value ^ value >> 13) * 0xC2B2AE35 & _MASK
    return value ^ value >> 16


def _up_to_4(data: bytes) -> int:
    b, c = 0, 9
    for byte in data:
        b = (b * _C1 + (byte - 256 if byte > 127 else byte)) & _MASK
        c ^= b
    return _finish(_mix(b, _mix(len(data), c)))


def _up_to_12(data: bytes) -> int:
    size = len(data)
    a = (size + _word(data, 0)) & _MASK
    b = (size * 5 + _word(data, size - 4)) & _MASK
    c = (9 + _word(data, size >> 1 & 4)) & _MASK
    return _finish(_mix(c, _mix(b, _mix(a, size * 5))))


def _up_to_24(data: bytes) -> int:
    size, half = len(data), len(data) >> 1
    a, b, c = _word(data, half - 4), _word(data, 4), _word(data, size - 8)
    d, e, f = _word(data, half), _word(data, 0), _word(data, size - 4)
    h = (d * _C1 + size) & _MASK
    a = (_rotate(a, 12) + f) & _MASK
    h = (_mix(c, h) + a) & _MASK
    a = (_rotate(a, 3) + c) & _MASK
    h = (_mix(e, h) + a) & _MASK
    a = (_rotate((a + f) & _MASK, 12) + d) & _MASK
    return _finish((_mix(b, h) + a) & _MASK)


def _long(data: bytes) -> int:
    """Return the hash of more than 24 bytes."""
    size = len(data)
    h, g = size, _C1 * size & _MASK
    f = g
    for back in (4, 16):
        h = _mix(_word(data, size - back), h)
    for back in (8, 12):
        g = _mix(_word(data, size - back), g)
    f = (_rotate((f + _scramble(_word(data, size - 20))) & _MASK, 19) + 113) & _MASK
    for place in range(0, (size - 1) // 20 * 20, 20):
        a, b, c, d, e = unpack_from("<5I", data, place)
        h, g, f = (h + a) & _MASK, (g + b) & _MASK, (f + c) & _MASK
        h = (_mix(d, h) + e) & _MASK
        g = (_mix(c, g) + a) & _MASK
        f = (_mix((b + e * _C1) & _MASK, f) + d) & _MASK
        f = (f + g) & _MASK
        g = (g + f) & _MASK
    for by in (11, 17):
        g, f = _rotate(g, by) * _C1 & _MASK, _rotate(f, by) * _C1 & _MASK
    for other in (g, f):
        h = (_rotate((h + other) & _MASK, 19) * 5 + _C3) & _MASK
        h = _rotate(h, 17) * _C1 & _MASK
    return h
