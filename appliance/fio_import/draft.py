"""What a parser found in one fio report, and the figures of a :class:`Measurement` in it. Pure.

The classes are mutable, because a report is read line by line and a terminal may have broken a
line in two. Everything is in SI units already; ``None`` and empty mean that the text did not say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from appliance.fio_import import units_printed
from appliance.fio_import.options import Options
from appliance.fio_import.units_printed import Printed
from appliance.model.measurement import DeviceIo

DIRECTIONS = ("read", "write", "trim", "mixed")
_SECTOR_BYTES = 512
# A report of more jobs or devices, or a "table" of more percentiles, is not one.
MOST_SECTIONS = 4096
MOST_DEVICES = 512
MOST_PERCENTILES = 64
# An amount printed with three or four digits may be this far from the exact one.
_PRINTED_PRECISION = 0.01
_MAX_BLOCK_BYTES = 1 << 28
_OFF = frozenset({"0", "false", "none", ""})
_SYNCS = ("sync", "fsync", "fdatasync", "end_fsync", "fsync_on_close", "sync_file_range")
_BATCHES = (
    "iodepth_batch",
    "iodepth_batch_submit",
    "iodepth_batch_complete",
    "iodepth_batch_complete_min",
)
_PACES = ("rate", "rate_iops", "iodepth_low", *_BATCHES, "latency_target", "flow")
_LONGEST_VALUE = 40
# fio's histogram has 64 bins for each power of two, and means of whole µs in old reports.
_BIN_WIDTH = 0.05
_SMALLEST_MEAN_NS = 1000
_OF_SEVERAL_SIZES = frozenset({"bsrange", "bssplit", "blocksize_range"})
# Options that end a job by another amount than its size.
_OTHER_BOUNDS = frozenset({"io_size", "io_limit", "number_ios", "loops", "filesize"})
# Options that end a job when it has become steady.
_STEADY = ("ss", "steadystate")


@dataclass(slots=True)
class Figures:
    """One direction of one job, or of a group's summary (then without latencies).

    ``latency_ns`` maps ``slat``, ``clat`` and ``lat`` to means, ``least_ns`` to minima,
    ``percentiles_ns`` ``clat`` and ``lat`` to tables.
    """

    direction: str
    line: int
    iops: Printed | None = None
    bandwidth_bytes: Printed | None = None
    io_bytes: Printed | None = None
    runtime_ms: int | None = None
    latency_ns: dict[str, float] = field(default_factory=dict)
    least_ns: dict[str, float] = field(default_factory=dict)
    percentiles_ns: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(slots=True)
class Section:
    """One job (or one group of jobs reported together): ``name: (groupid=0, jobs=16): ...``.

    ``workers`` is what fio says there (``jobs=``). ``depth`` is the iodepth that it printed
    with the latency target. ``whole`` is set when the last line of a section was seen.
    """

    name: str
    line: int
    group: int = 0
    workers: int | None = None
    pid: int | None = None
    errors: int = 0
    directions: dict[str, Figures] = field(default_factory=dict)
    total_ios: dict[str, int] = field(default_factory=dict)
    sync_ios: int = 0
    cpu_percent: float | None = None
    depth: int | None = None
    whole: bool = False
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Definition:
    """What fio printed when it read the job: ``name: (g=0): rw=..., bs=..., ioengine=...``."""

    name: str
    rw: str
    block_size_bytes: dict[str, int]
    engine: str
    iodepth: int | None


@dataclass(slots=True)
class Report:
    """One run of fio. ``devices`` are in the report's order; ``above`` those that fio
    printed with the sum of what is below them (``md0``).

    ``at`` is when the report was made, in seconds since the epoch (JSON only); ``kind`` is
    ``text`` or ``json``. ``cut`` says that the report's end was missing, ``workers`` how many
    fio said that it starts (0: not said).
    """

    line: int
    kind: str = "text"
    version: str = ""
    definitions: dict[str, Definition] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)
    summaries: dict[tuple[int, str], Figures] = field(default_factory=dict)
    devices: dict[str, DeviceIo] = field(default_factory=dict)
    above: set[str] = field(default_factory=set)
    ended: str = ""
    at: float | None = None
    cut: bool = False
    workers: int = 0

    @property
    def measured(self) -> bool:
        """Whether it says anything about a measurement, and not only what was asked."""
        return bool(self.sections or self.summaries)


_Pair = tuple[int | None, int | None]


def device_io(name: str, *, ios: _Pair, merges: _Pair, ticks: _Pair, sectors: _Pair) -> DeviceIo:
    """A line of the disk statistics: each of reads and of writes."""
    read_bytes, write_bytes = (None if one is None else one * _SECTOR_BYTES for one in sectors)
    return DeviceIo(
        device=name,
        read_ios=ios[0] or 0,
        write_ios=ios[1] or 0,
        read_merges=merges[0] or 0,
        write_merges=merges[1] or 0,
        read_ticks_ms=ticks[0],
        write_ticks_ms=ticks[1],
        read_bytes=read_bytes,
        write_bytes=write_bytes,
    )


# ---------------------------------------------------------------- the figures in a draft


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as exactly as the report has it, and as it printed it if it says it exactly, too."""

    value: float | None = None
    printed: Printed | None = None


def _figure(printed: Printed | None, exact: float | None) -> Figure:
    """``exact``, which the report's other figures say, unless it would not print so."""
    if printed is None or exact is None or not printed.holds(exact):
        return Figure(exact if printed is None else printed.value)
    return Figure(exact, None if printed.low == printed.high else printed)


def iops(figures: Figures, total_ios: int | None) -> Figure:
    """I/Os ÷ run time; fio prints it with three digits, or cut (``4`` for 4.89)."""
    # JSON has it in full: fio divides there by microseconds.
    full = figures.iops is not None and figures.iops.low == figures.iops.high
    if full or not total_ios or not figures.runtime_ms:
        return _figure(figures.iops, None)
    return _figure(figures.iops, total_ios * 1000 / figures.runtime_ms)


def io_bytes(figures: Figures, total_ios: int | None, block_size_bytes: int | None) -> float | None:
    """I/Os × block; else what the bandwidth leaves of a cut amount (``24.0GiB`` for 24.98)."""
    printed, rate, runtime_ms = figures.io_bytes, figures.bandwidth_bytes, figures.runtime_ms
    exact = (total_ios or 0) * (block_size_bytes or 0)
    if printed is None or (exact and printed.holds(exact)):
        return exact if printed else None
    if rate is not None and runtime_ms:
        seconds = runtime_ms / 1000
        by_rate = Printed(rate.value * seconds, rate.low * seconds, rate.high * seconds)
        return printed.narrowed(by_rate).value
    return printed.value


def bandwidth(figures: Figures, total_ios: int | None, block_size_bytes: int | None) -> Figure:
    """Bytes ÷ run time, in bytes a second, where the report says the bytes exactly."""
    exact, runtime_ms = (total_ios or 0) * (block_size_bytes or 0), figures.runtime_ms
    if exact and runtime_ms and figures.io_bytes is not None and figures.io_bytes.holds(exact):
        return _figure(figures.bandwidth_bytes, exact * 1000 / runtime_ms)
    return _figure(figures.bandwidth_bytes, None)


def block_size(
    figures: Figures,
    total_ios: int | None,
    definition: Definition | None,
    options: Options,
) -> int | None:
    """What fio printed, else what was asked, else the power of two that the amounts are in."""
    direction = figures.direction
    if definition is not None and definition.block_size_bytes:
        return definition.block_size_bytes.get(direction)
    if _OF_SEVERAL_SIZES & options.said.keys():
        return None
    if asked := options.get("bs"):
        # bs=read,write,trim; the last one given is for the rest.
        parts = asked.split(",")
        at = {"read": 0, "write": 1, "trim": 2}.get(direction, 0)
        return units_printed.option_size(parts[min(at, len(parts) - 1)] or parts[0])
    amount, rate, count = figures.io_bytes, figures.bandwidth_bytes, figures.iops
    if amount and total_ios:
        means = (amount.low / total_ios, amount.high / total_ios)
    elif rate and count and count.low:
        means = (rate.low / count.high, rate.high / count.low)
    else:
        return None
    low, high = means[0] * (1 - _PRINTED_PRECISION), means[1] * (1 + _PRINTED_PRECISION)
    if not 256 <= low <= high <= _MAX_BLOCK_BYTES:
        return None
    # One power of two, or one of several that fit.
    power = 1 << (math.ceil(low) - 1).bit_length()
    return power if power <= high < 2 * power else None


def runtime_asked_ms(
    options: Options, section: Section, workers: int | None, *, verifies: bool
) -> int | None:
    """What ``runtime=`` asks for, unless the job had done all of its size before.

    fio's JSON does not say ``time_based``, so the amount has to tell; what a job that ``verifies``
    reads back does not count towards it.
    """
    asked = units_printed.duration_ms(options.get("runtime", ""))
    if not asked or any(options.get(name) for name in _STEADY):
        return None
    if options.get("time_based", "0") != "0":
        return asked
    size = units_printed.option_size(options.get("size", ""))
    if size is None or _OTHER_BOUNDS & options.said.keys() or not workers:
        return None
    done = sum(
        figures.io_bytes.value
        for figures in section.directions.values()
        if figures.io_bytes and not (verifies and figures.direction == "read")
    )
    return None if done >= size * workers * (1 - _PRINTED_PRECISION) else asked


def iodepth(section: Section, definition: Definition | None, options: Options) -> int | None:
    """What each worker was asked for; 1 where all options are known and do not say."""
    if definition is not None and definition.iodepth is not None:
        return definition.iodepth
    if section.depth is not None:
        return section.depth
    if text := options.get("iodepth"):
        return units_printed.whole(text)
    return 1 if options.knows("iodepth") else None


def direct(options: Options) -> bool | None:
    """Whether the page cache was bypassed; by fio's default it is not."""
    for name, bypassed in (("direct", True), ("buffered", False)):
        if value := options.get(name):
            return (value not in _OFF) is bypassed
    return False if options.knows("direct", "buffered") else None


def ramp_ms(options: Options) -> int | None:
    """How long fio ran before it began to count; ``None`` where it may have."""
    if asked := options.get("ramp_time"):
        return units_printed.duration_ms(asked)
    return 0 if options.knows("ramp_time") else None


def synced(options: Options, section: Section) -> bool | None:
    """Whether writes were made durable one by one or by fsync, which the filesystem writes for."""
    if section.sync_ios or any(options.get(name, "0") not in _OFF for name in _SYNCS):
        return True
    return False if options.knows(*_SYNCS) else None


def paced_by(options: Options) -> str | None:
    """The option by which fio itself keeps fewer I/Os in flight than ``iodepth`` allows; empty
    if there is no such option, ``None`` where there may be.
    """
    for name in _PACES:
        value = options.get(name, "0")
        # Batches of one, and refilling at the depth itself, are what fio does anyhow.
        usual = {"iodepth_low": options.get("iodepth")}.get(name, "1" if "batch" in name else "0")
        if value not in _OFF and value != usual:
            return f"{name}={value[:_LONGEST_VALUE]}"
    return "" if options.knows(*_PACES) else None


def mean_latency_ns(figures: Figures) -> float | None:
    """From submission to completion, else of completion alone."""
    return figures.latency_ns.get("lat", figures.latency_ns.get("clat"))


def percentiles_ns(figures: Figures) -> dict[str, int] | None:
    """From submission to completion, else of completion alone."""
    for name in ("lat", "clat"):
        table = figures.percentiles_ns.get(name)
        if table and _can_have(table, figures.latency_ns.get(name)):
            return table
    return None


def _can_have(table: Mapping[str, int], mean_ns: float | None) -> bool:
    """Whether latencies with this mean can have these percentiles. By Markov's inequality no
    more than mean ÷ p of them are above p; some versions print a clock's overflow there.
    """
    if mean_ns is None:
        return True
    most_ns = mean_ns * (1 + _BIN_WIDTH) + _SMALLEST_MEAN_NS
    return all((1 - float(percent) / 100) * ns <= most_ns for percent, ns in table.items())


def least_latency_ns(figures: Figures) -> float | None:
    """The quickest I/O, from submission to completion."""
    if "lat" not in figures.least_ns and "slat" not in figures.latency_ns:
        return figures.least_ns.get("clat")
    return figures.least_ns.get("lat")


def think_time_ms(options: Options) -> int:
    """``thinktime``, which fio takes in microseconds where it has no unit."""
    asked = options.get("thinktime")
    return units_printed.duration_ms(f"{asked}us" if asked.isdecimal() else asked) or 0
