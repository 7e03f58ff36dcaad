"""One line of a fio text report: which line it is, and its figures. Pure.

Two generations are read: up to 2.16 (``write: io=103145MB, bw=586774KB/s, iops=9168,
runt=180002msec``) and from 2.17 on (``write: IOPS=9168, BW=573MiB/s (601MB/s)(101GiB/
180002msec)``); forms are those of fio's stat.c, diskutil.c and init.c. What stands before
them on the line (quotation marks, a time stamp) does not matter.
"""

from __future__ import annotations

import re
from enum import Enum, auto

from appliance.fio_import import units_printed
from appliance.fio_import.drafts import Definition, Figures
from appliance.fio_import.units_printed import Printed
from appliance.model import DeviceIo

SECTOR_BYTES = 512
_N = units_printed.NUMBER


class Kind(Enum):
    """What a line is. ``DETAIL`` is a line of a job's section that says nothing we need."""

    DEFINITION = auto()
    SECTION = auto()
    HEADLINE = auto()
    LATENCY = auto()
    PERCENTILES = auto()
    PERCENTILE = auto()
    SYNC = auto()
    ISSUED = auto()
    CPU = auto()
    DEPTH = auto()
    DETAIL = auto()
    GROUP = auto()
    SUMMARY = auto()
    DISKS = auto()
    DISK = auto()
    VERSION = auto()
    SIGNAL = auto()
    STARTING = auto()
    CHATTER = auto()


# The names before these two have to be found from here backwards: a search that begins with
# "anything" takes the square of a long line's length.
_SECTION = re.compile(
    r"\s?: \(groupid=(\d{1,9}), jobs=(\d{1,9})\): err=\s*(-?\d{1,9})(?:.{0,400}?pid=(\d{1,10}))?",
    re.ASCII,
)
_DEFINITION = re.compile(r"\s?: \(g=\d{1,9}\): rw=(\w{1,20})", re.ASCII)
_LONGEST_NAME = 200
_QUOTATION_MARKS = re.compile("[\"'`]")
_LAST_WITHOUT_CARRY = (3, 25)
_VERSION_NUMBER = re.compile(r"fio-(\d{1,3})\.(\d{1,3})")
_HEADLINE = re.compile(r"\b(read|write|trim|mixed)\s*:\s+(?:io=\s*\d|IOPS=\s*\d)", re.ASCII)
_OLD_IOPS = re.compile(rf"\biops=\s*({_N}\s?[kKMG]?)", re.ASCII)
_OLD_IO = re.compile(rf"\bio=\s*({_N}\s*\w{{0,6}})", re.ASCII)
_OLD_BW = re.compile(rf"\bbw=\s*({_N}\s*\w{{0,6}})/s", re.ASCII)
_OLD_RUN = re.compile(rf"\brunt=\s*({_N})\s*msec", re.ASCII)
_NEW_IOPS = re.compile(rf"\bIOPS=\s*({_N}\s?[kKMG]?)", re.ASCII)
# A client of fio leaves "B/s" out: ``BW=7375Mi (7733M)(432GiB/60001msec)``.
_NEW_BW = re.compile(
    rf"\b[Bb][Ww]=\s*({_N}\s*\w{{0,6}})(?:/s|(?=\s?\())(?:\s?\(({_N}\s*\w{{0,6}})(?:/s)?\))?",
    re.ASCII,
)
_NEW_RUN = re.compile(rf"\(\s*({_N}\s*\w{{0,6}})/\s*({_N})msec\)", re.ASCII)
_LATENCY = re.compile(
    rf"\b(slat|clat|lat|sync) \((nsec|usec|msec)\)\s*:"
    rf"\s*min=\s*({_N}[kKMG]?)?.{{0,60}}?avg=\s*({_N}[kKMG]?)",
    re.ASCII,
)
_PERCENTILES = re.compile(r"\b(clat|lat|slat|sync)(.{0,40}?) percentiles \((nsec|usec|msec)\)")
_PERCENTILE = re.compile(rf"({_N})th=\[\s*({_N})\s*\]", re.ASCII)
_ISSUED_OLD = re.compile(r"total=r=(\d{1,18})/w=(\d{1,18})(?:/d=(\d{1,18}))?", re.ASCII)
_ISSUED_NEW = re.compile(
    r"total=(\d{1,18}),(\d{1,18}),(\d{1,18})(?:,(\d{1,18}))?|total=(\d{1,18})/(\d{1,18})/(\d{1,18})",
    re.ASCII,
)
_CPU = re.compile(rf"usr=\s*({_N})%, sys=\s*({_N})%", re.ASCII)
_DEPTH = re.compile(r"latency\s+:.{0,80}\bdepth=(\d{1,9})", re.ASCII)
_GROUP = re.compile(r"Run status group (\d{1,9}) \(", re.ASCII)
_SUMMARY = re.compile(r"\b(READ|WRITE|TRIM|MIXED): (io=.{0,60}?aggrb=|bw=)", re.ASCII)
_OLD_AGGREGATE = re.compile(rf"\baggrb=\s*({_N}\s*\w{{0,6}})/s", re.ASCII)
_OLD_LONGEST = re.compile(rf"\bmaxt=\s*({_N})\s*msec", re.ASCII)
_NEW_LONGEST = re.compile(rf"\brun=\s*\d{{1,18}}-({_N})msec", re.ASCII)
_DISK = re.compile(
    r"([A-Za-z][\w!.:-]{0,63}): ios=(\d{1,18})/(\d{1,18})"
    r"(?:, sectors=(\d{1,18})/(\d{1,18}))?"
    r"(?:, merge=(\d{1,18})/(\d{1,18}))?"
    r"(?:, ticks=(\d{1,18})/(\d{1,18}))?",
    re.ASCII,
)
_VERSION = re.compile(r"\s*(fio-\d+\.[\w.-]{1,40})\s*", re.ASCII)
_SIGNAL = re.compile(
    r"fio: (?:terminating on signal (\d{1,3})|pid=\d+, got signal=(\d{1,3}))", re.ASCII
)
_STARTING = re.compile(
    r"\s*Starting (\d{1,9}) (?:thread|process)(?:(?:es|s)? and (\d{1,9}) (?:thread|process))?",
    re.ASCII,
)
_CHATTER = re.compile(
    r"(?:\^C)?(?:Jo)?bs: \d+ \(f=|fio: |\.\.\.\s*$"
    r"|[^:]{1,200}: Laying out IO file|note: both iodepth",
    re.ASCII,
)
_DETAILS = ("lat (", "IO depths", "bw (", "clat prio", "zone resets")
_DETAIL = re.compile(r"\s*(?:submit|complete|iops|errors|Description)\s*:\s", re.ASCII)
# What a line has when it was not broken: the end of what is read from it.
_WHOLE = {
    Kind.DEFINITION: re.compile(r"\biodepth=\d"),
    # The date, which old versions do not have, is behind the process.
    Kind.SECTION: re.compile(r"\bpid=\d+(?:: .{8,30} \d{4})?\s*$"),
    Kind.HEADLINE: re.compile(r"(?:msec\)|runt=[\s\d,]+msec)\s*$|; \d+ zone ?resets\s*$"),
    Kind.LATENCY: re.compile(r"stdev=\s*\d+(\.\d+)?\s*$"),
    Kind.PERCENTILE: re.compile(r"\],?\s*$"),
    Kind.ISSUED: re.compile(r"short="),
    Kind.CPU: re.compile(r"minf=\d"),
    Kind.SUMMARY: re.compile(r"(maxt|run)=[\d\s-]+msec"),
    Kind.DISK: re.compile(r"util=\d+\.\d\d%\s*$"),
}


def kind_of(line: str) -> Kind | None:
    """Which line of a report ``line`` is, ``None`` if it is not one of a report's lines."""
    if "=" not in line:
        return _kind_without_figures(line)
    if "(groupid=" in line and _SECTION.search(line):
        return Kind.SECTION
    if "(g=" in line and _DEFINITION.search(line):
        return Kind.DEFINITION
    if "th=[" in line:
        return Kind.PERCENTILE
    if "ios=" in line and _DISK.search(line):
        return Kind.DISK
    if ("min=" in line and "lat (" in line) or "sync (" in line:
        return Kind.LATENCY if _LATENCY.search(line) else Kind.DETAIL
    if ("io=" in line or "IOPS=" in line) and _HEADLINE.search(line):
        return Kind.HEADLINE
    if ("aggrb=" in line or "bw=" in line) and _SUMMARY.search(line):
        return Kind.SUMMARY
    if "issued" in line and "total=" in line:
        return Kind.ISSUED
    if "usr=" in line and _CPU.search(line):
        return Kind.CPU
    if "depth=" in line and _DEPTH.search(line):
        return Kind.DEPTH
    if "signal=" in line and _SIGNAL.search(line):
        return Kind.SIGNAL
    if any(detail in line for detail in _DETAILS) or _DETAIL.match(line):
        return Kind.DETAIL
    return Kind.CHATTER if _CHATTER.match(line) else None


def _kind_without_figures(line: str) -> Kind | None:
    if "percentiles (" in line and _PERCENTILES.search(line):
        return Kind.PERCENTILES
    if "fsync/fdatasync" in line:
        return Kind.SYNC
    if "Run status group" in line and _GROUP.search(line):
        return Kind.GROUP
    if "Disk stats (" in line:
        return Kind.DISKS
    if "fio-" in line and _VERSION.fullmatch(line):
        return Kind.VERSION
    if "on signal" in line and _SIGNAL.search(line):
        return Kind.SIGNAL
    if _DETAIL.match(line):
        return Kind.DETAIL
    if "Starting " in line and _STARTING.match(line):
        return Kind.STARTING
    return Kind.CHATTER if _CHATTER.match(line) else None


def is_whole(kind: Kind, line: str) -> bool:
    """Whether the line has its end: if not, the next line may be the rest of it."""
    if kind is Kind.DISK and "aggr" in line:
        return re.search(r"aggrutil=\d+\.\d\d%\s*$", line) is not None
    pattern = _WHOLE.get(kind)
    return pattern is None or pattern.search(line) is not None


def section(line: str) -> tuple[str, int, int, int, int | None] | None:
    """Name, group, jobs, error and process of a job's first line."""
    found = _SECTION.search(line)
    if found is None:
        return None
    pid = int(found[4]) if found[4] else None
    return _name_before(line, found), int(found[1]), int(found[2]), int(found[3]), pid


def _name_before(line: str, found: re.Match[str]) -> str:
    before = line[max(0, found.start() - _LONGEST_NAME) : found.start()]
    # Behind the quotation mark of a program's text, and of a comment's hash.
    return _QUOTATION_MARKS.split(before)[-1].strip(" \t>|#*")


def definition(line: str) -> Definition | None:
    """What fio understood of a job; a block size that is a range is left out."""
    found = _DEFINITION.search(line)
    if found is None:
        return None
    engine = re.search(r"\bioengine=([\w.-]{1,40})", line, re.ASCII)
    depth = re.search(r"\biodepth=(\d{1,9})", line, re.ASCII)
    return Definition(
        name=_name_before(line, found),
        rw=found[1],
        block_size_bytes=_block_sizes(line),
        engine=engine[1] if engine else "",
        iodepth=int(depth[1]) if depth else None,
    )


def _block_sizes(line: str) -> dict[str, int]:
    new = re.findall(r"\(([RWT])\) ?([\w.]{1,12})-([\w.]{1,12})", line, re.ASCII)
    if not new:
        old = re.search(r"\bbs(?:\(seq/rand\))?=([\w.]+-[\w.]+(?:[/,][\w.]+-[\w.]+){0,2})", line)
        ranges = re.split("[/,]", old[1]) if old and "seq" not in old[0] else []
        new = [("RWT"[at], *one.split("-")[:2]) for at, one in enumerate(ranges)]
    names = {"R": "read", "W": "write", "T": "trim"}
    return {
        names[letter]: size
        for letter, low, high in new
        if low == high and (size := units_printed.option_size(low))
    }


def cuts_digits(version: str) -> bool:
    """Whether decimals may be wrong: fio's until 3.25 (axboe/fio#1150), and where the version
    is not known.
    """
    found = _VERSION_NUMBER.match(version)
    return found is None or (int(found[1]), int(found[2])) <= _LAST_WITHOUT_CARRY


def headline(line: str, number: int, *, kilo: int = 1024, cut: bool = False) -> Figures | None:
    """A direction's first line. ``kilo`` is what ``KB`` is in the old form; ``cut`` as in
    :func:`units.printed`, for the new one.
    """
    found = _HEADLINE.search(line)
    if found is None:
        return None
    figures = Figures(found[1], number)
    if "IOPS=" in line:
        figures.bandwidth_bytes = _bandwidth(line, cut=cut)
        figures.iops = _count(_NEW_IOPS, line, cut=cut)
        if run := _NEW_RUN.search(line):
            figures.io_bytes = units_printed.printed(
                run[1], units_printed.size(run[1], 1000), cut=cut
            )
            figures.runtime_ms = units_printed.whole(run[2])
    else:
        figures.io_bytes = _amount(_OLD_IO, line, kilo)
        figures.bandwidth_bytes = _amount(_OLD_BW, line, kilo)
        figures.iops = _count(_OLD_IOPS, line)
        figures.runtime_ms = _milliseconds(_OLD_RUN, line)
    return figures


def summary(line: str, number: int, *, kilo: int = 1024, cut: bool = False) -> Figures | None:
    """A group's line of one direction: no IOPS and no latency, but amount, rate and time.

    ``kilo`` and ``cut`` as for :func:`headline`.
    """
    found = _SUMMARY.search(line)
    if found is None:
        return None
    figures = Figures(found[1].lower(), number)
    if "aggrb=" in line:
        figures.io_bytes = _amount(_OLD_IO, line, kilo)
        figures.bandwidth_bytes = _amount(_OLD_AGGREGATE, line, kilo)
        figures.runtime_ms = _milliseconds(_OLD_LONGEST, line)
    else:
        figures.io_bytes = _amount(_OLD_IO, line, 1000, cut=cut)
        figures.bandwidth_bytes = _bandwidth(line, cut=cut)
        figures.runtime_ms = _milliseconds(_NEW_LONGEST, line)
    return figures


def _amount(pattern: re.Pattern[str], line: str, kilo: int, *, cut: bool = False) -> Printed | None:
    found = pattern.search(line)
    return (
        units_printed.printed(found[1], units_printed.size(found[1], kilo), cut=cut)
        if found
        else None
    )


def _bandwidth(line: str, *, cut: bool) -> Printed | None:
    """Printed twice, in powers of 1024 and of 1000: each says a little more of the other."""
    found = _NEW_BW.search(line)
    if found is None:
        return None
    first, second = (
        units_printed.printed(text, units_printed.size(text, 1000), cut=cut) if text else None
        for text in (found[1], found[2])
    )
    return first.narrowed(second) if first else second


def _count(pattern: re.Pattern[str], line: str, *, cut: bool = False) -> Printed | None:
    found = pattern.search(line)
    return (
        units_printed.printed(found[1], units_printed.count(found[1]), cut=cut) if found else None
    )


def _milliseconds(pattern: re.Pattern[str], line: str) -> int | None:
    found = pattern.search(line)
    return units_printed.whole(found[1]) if found else None


def latency(line: str) -> tuple[str, float | None, float] | None:
    """Which latency, its least value and its mean in ns."""
    found = _LATENCY.search(line)
    mean = units_printed.time_ns(found[4], found[2]) if found else None
    if found is None or mean is None:
        return None
    return found[1], units_printed.time_ns(found[3] or "", found[2]), mean


def percentiles_heading(line: str) -> tuple[str, str] | None:
    """Which latency the table below is of, and its unit; by priority is not for us."""
    found = _PERCENTILES.search(line)
    return None if found is None else (found[1] if not found[2] else "", found[3])


def percentiles(line: str, unit: str) -> dict[str, int]:
    """Percent text (six decimals, as in fio's JSON) -> ns."""
    found = {}
    for percent, value in _PERCENTILE.findall(line):
        share, ns = units_printed.number(percent), units_printed.time_ns(value, unit)
        if share is not None and ns is not None and share <= 100:
            found[f"{share:.6f}"] = round(ns)
    return found


def issued(line: str) -> tuple[dict[str, int], int] | None:
    """I/Os by direction, and how many syncs there were among them."""
    if old := _ISSUED_OLD.search(line):
        counts = (old[1], old[2], old[3] or "0")
        return _by_direction(counts), 0
    if new := _ISSUED_NEW.search(line):
        counts = (new[1], new[2], new[3]) if new[1] else (new[5], new[6], new[7])
        return _by_direction(counts), int(new[4] or 0)
    return None


def _by_direction(counts: tuple[str, str, str]) -> dict[str, int]:
    return dict(zip(("read", "write", "trim"), map(int, counts), strict=True))


def cpu_percent(line: str) -> float | None:
    """User and system share of a core, by a worker on average."""
    found = _CPU.search(line)
    shares = [units_printed.number(found[at]) for at in (1, 2)] if found else []
    known = [share for share in shares if share is not None]
    return sum(known) if len(known) == 2 else None


def depth(line: str) -> int | None:
    found = _DEPTH.search(line)
    return int(found[1]) if found else None


def group(line: str) -> int:
    found = _GROUP.search(line)
    return int(found[1]) if found else 0


def workers(line: str) -> int:
    """How many processes and threads fio starts."""
    found = _STARTING.match(line)
    return int(found[1]) + int(found[2] or 0) if found else 0


def version(line: str) -> str:
    found = _VERSION.fullmatch(line)
    return found[1] if found else ""


def signal(line: str) -> str:
    """In words, how a signal ended fio or one of its workers."""
    found = _SIGNAL.search(line)
    if found is None:
        return ""
    if found[1]:
        return f"fio was ended by signal {found[1]}"
    return f"one of fio's workers was ended by signal {found[2]}"


def device(line: str) -> DeviceIo | None:
    """One line of the disk statistics; its own figures, not the sums of what is below it."""
    found = _DISK.search(line)
    if found is None:
        return None
    counts = [int(found[at]) if found[at] else None for at in range(2, 10)]
    read_ios, write_ios, *sectors, read_merges, write_merges, read_ms, write_ms = counts
    return DeviceIo(
        device=found[1],
        read_ios=read_ios or 0,
        write_ios=write_ios or 0,
        read_merges=read_merges or 0,
        write_merges=write_merges or 0,
        read_ticks_ms=read_ms,
        write_ticks_ms=write_ms,
        read_bytes=None if sectors[0] is None else sectors[0] * SECTOR_BYTES,
        write_bytes=None if sectors[1] is None else sectors[1] * SECTOR_BYTES,
    )
