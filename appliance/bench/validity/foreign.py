"""FOREIGN: the disks did more than fio asked of them."""

from __future__ import annotations

from appliance.bench.validity.rule import Rule, judges
from appliance.figures.quantities import (
    MIXED,
    io_bytes,
    ios,
    may_be_buffered,
    member_io,
    sum_bytes,
    top_io,
)
from appliance.model.measurement import DeviceIo, Finding, Measurement, Severity, Source

RULE = Rule(
    code="FOREIGN",
    rank=70,
    severity=Severity.BLOCK,
    title="Something else used the disks",
    means="The disks did more than fio asked of them.",
    todo="Find the other load and measure again without it.",
)
MAX_FOREIGN = 0.05
# Nothing but raw I/O on old drives is smaller, so that so many bytes a request are certain.
_SMALLEST_REQUEST_BYTES = 4096
# Larger blocks may be split on the way (Xen's disks take 44 KiB a request, a chunk may end),
# and more requests than I/Os then say nothing.
_LARGEST_WHOLE_BLOCK_BYTES = 32 * 1024
# A few writes of a filesystem's own beside a job that does little: few, and not much.
_MIN_REQUEST_SHARE = 0.005
_MIN_BYTES = 8 * 1024 * 1024
# What a system that does nothing else writes to its disks.
_MIN_BYTES_PER_S = 64 * 1024


@judges(RULE)
def judge(evidence: Measurement) -> Finding | None:
    """What the disks did above fio, in either direction, is more than 5 % of what fio did."""
    fio_bytes = _fio_bytes(evidence)
    if evidence.direction not in fio_bytes:
        return None
    above = {
        direction: amount
        for direction in ("read", "write")
        if (amount := _above(evidence, direction, fio_bytes)) > 0
    }
    share = sum(above.values()) / sum(fio_bytes.values())
    if share <= MAX_FOREIGN:
        return None
    if evidence.runtime_ms:
        idle_bytes = _MIN_BYTES_PER_S * evidence.runtime_ms / 1000
        if sum(above.values()) < idle_bytes:
            return None
    what = " and ".join(f"{direction}s" for direction in above)
    more = "" if sum_bytes(top_io(evidence), evidence.direction) is not None else "at least "
    return RULE.finding(
        f"the disks did {more}{share * 100:.0f} % more than fio asked for ({what}): "
        "something else used them meanwhile",
        measured=1 + share,
        limit=1 + MAX_FOREIGN,
    )


def _fio_bytes(evidence: Measurement) -> dict[str, float]:
    """Bytes by direction. The other one of a mixed job is judged with its own figures."""
    known: dict[str, float] = {}
    if evidence.io_bytes:
        known[evidence.direction] = float(evidence.io_bytes)
    # Reads and writes that nothing says there were none of may be a mixed or a verified job's.
    ours = evidence.source is Source.RUN and evidence.rw not in MIXED
    if evidence.other_direction_iops == 0 or (ours and evidence.other_direction_iops is None):
        known["write" if evidence.direction == "read" else "read"] = 0.0
    return known


def _above(evidence: Measurement, direction: str, fio_bytes: dict[str, float]) -> float:
    """Bytes that the disks did in ``direction`` above fio's, as far as it is certain."""
    if direction not in fio_bytes or _is_fios_own(evidence, direction):
        return 0.0
    top, members = top_io(evidence), member_io(evidence)
    done = sum_bytes(top, direction)
    if fio_bytes[direction] and may_be_buffered(evidence):
        return 0.0  # readahead reads more than fio does
    if done is not None and not fio_bytes[direction] and done < _MIN_BYTES:
        few = _requests(top, direction) < _MIN_REQUEST_SHARE * (evidence.total_ios or 0)
        if few:
            return 0.0
    if done is not None:
        below = [io_bytes(io, direction) or 0 for io in members]
        return done + _beside(direction, done, below) - fio_bytes[direction]
    size = evidence.block_size_bytes
    if not fio_bytes[direction]:
        return float(_requests(top, direction) * _SMALLEST_REQUEST_BYTES)
    if not size or size > _LARGEST_WHOLE_BLOCK_BYTES:
        return 0.0
    count = _requests(top, direction)
    count += _beside(direction, count, [ios(io, direction) for io in members])
    extra = count - fio_bytes[direction] / size
    return extra * min(size, _SMALLEST_REQUEST_BYTES)


def _requests(devices: tuple[DeviceIo, ...], direction: str) -> int:
    return sum(ios(io, direction) for io in devices)


def _is_fios_own(evidence: Measurement, direction: str) -> bool:
    """What fio causes, or may where not all of its options were seen, without counting it: all
    that it does before it begins to count, the journal at each write made durable, reads to
    fill a block.
    """
    own = evidence.direction == direction or evidence.rw in MIXED
    if evidence.ramp_ms or (evidence.ramp_ms is None and own):
        return True
    if direction == "write":
        return evidence.sync_ios > 0 or (own and evidence.synced is not False)
    small = (evidence.block_size_bytes or 0) < _SMALLEST_REQUEST_BYTES
    return evidence.direction == "write" and small


def _beside(direction: str, on_top: int, below: list[int]) -> int:
    """What was done on the members directly, past the device above them.

    Reads are the sum. Writes are several times as many where members are mirrors or hold
    parity, but then on all members alike; only what makes one unlike the others is certain.
    """
    surplus = sum(below) - on_top
    if surplus <= 0 or len(below) < 2:
        return 0
    if direction == "read":
        return surplus
    return min(surplus, sum(amount - min(below) for amount in below))
