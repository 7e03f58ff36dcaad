"""One line of a fio text report: which line it is, and its figures. Pure.

Two generations are read: up to 2.16 (``write: io=103145MB, bw=586774KB/s, iops=9168,
runt=180002msec``) and from 2.17 on (``write: IOPS=9168, BW=573MiB/s (601MB/s)(101GiB/
180002msec)``); forms are those of fio's stat.c, diskutil.c and init.c. What stands before
them on the line (quotation marks, a time stamp) does not matter.
"""

from __future__ import annotations

import re
from enum import Enum

from appliance.fio_import import units_printed
from appliance.fio_import.draft import Definition, Figures, device_io
from appliance.fio_import.units_printed import Printed, printed_count, printed_size
from appliance.model.measurement import DeviceIo

_N = units_printed.NUMBER


# What a line is. DETAIL is a line of a job's section that says nothing we need.
Kind = Enum(
    "Kind",
    "DEFINITION SECTION HEADLINE LATENCY PERCENTILES PERCENTILE SYNC ISSUED CPU DEPTH DETAIL GROUP"
    " SUMMARY DISKS DISK VERSION SIGNAL STARTING CHATTER",
)

# The names before these two have to be found from here backwards: a search that begins with
# "anything" takes the square of a long line's length.
_SECTION = re.compile(
    r"\s?: \(groupid=(\d{1,9}), jobs=(\d{1,9})\): err=\s*(-?\d{1,9})(?:.{0,400}?pid=(\d{1,10}))?",
    re.ASCII,
)
_DEFINITION = re.compile(r"\s?: \(g=\d{1,9}\): rw=(\w{1,20})", re.ASCII)
_ENGINE = re.compile(r"\bioengine=([\w.-]{1,40})", re.ASCII)
_IODEPTH = re.compile(r"\biodepth=(\d{1,9})", re.ASCII)
_LONGEST_NAME = 200
_QUOTATION_MARKS = re.compile("[\"'`]")
_LAST_WITHOUT_CARRY = (3, 25)
_VERSION_NUMBER = re.compile(r"fio-(\d{1,3})\.(\d{1,3})")
_HEADLINE = re.compile(r"\b(read|write|trim|mixed)\s*:\s+(?:io=\s*\d|IOPS=\s*\d)", re.ASCII)
_OLD_IOPS = re.compile(rf"\biops=\s*({_N}\s?[kKMG]?)", re.ASCII)
_IO = re.compile(rf"\bio=\s*({_N}\s*\w{{0,6}})", re.ASCII)
_OLD_BW = re.compile(rf"\b(?:bw|aggrb)=\s*({_N}\s*\w{{0,6}})/s", re.ASCII)
_OLD_RUN = re.compile(rf"\b(?:runt|maxt)=\s*({_N})\s*msec", re.ASCII)
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
_ISSUED = re.compile(
    r"total=(?:r=(\d{1,18})/w=(\d{1,18})(?:/d=(\d{1,18}))?"
    r"|(\d{1,18}),(\d{1,18}),(\d{1,18})(?:,(\d{1,18}))?|(\d{1,18})/(\d{1,18})/(\d{1,18}))",
    re.ASCII,
)
_CPU = re.compile(rf"usr=\s*({_N})%, sys=\s*({_N})%", re.ASCII)
_DEPTH = re.compile(r"latency\s+:.{0,80}\bdepth=(\d{1,9})", re.ASCII)
_GROUP = re.compile(r"Run status group (\d{1,9}) \(", re.ASCII)
_SUMMARY = re.compile(r"\b(READ|WRITE|TRIM|MIXED): (io=.{0,60}?aggrb=|bw=)", re.ASCII)
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
# Matches every line: its kind is all that it says.
_ANY = re.compile("")
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


def recognised(line: str) -> tuple[Kind, re.Match[str]] | None:
    """Which line of a report ``line`` is, and what shows it; ``None`` if it is none of them."""
    kind: Kind | None
    if "=" not in line:
        kind, found = _without_figures(line)
    elif "(groupid=" in line and (found := _SECTION.search(line)):
        kind = Kind.SECTION
    elif "(g=" in line and (found := _DEFINITION.search(line)):
        kind = Kind.DEFINITION
    elif "th=[" in line:
        kind, found = Kind.PERCENTILE, None
    elif "ios=" in line and (found := _DISK.search(line)):
        kind = Kind.DISK
    elif ("min=" in line and "lat (" in line) or "sync (" in line:
        found = _LATENCY.search(line)
        kind = Kind.LATENCY if found else Kind.DETAIL
    elif ("io=" in line or "IOPS=" in line) and (found := _HEADLINE.search(line)):
        kind = Kind.HEADLINE
    elif ("aggrb=" in line or "bw=" in line) and (found := _SUMMARY.search(line)):
        kind = Kind.SUMMARY
    elif "issued" in line and "total=" in line:
        found = _ISSUED.search(line)
        kind = Kind.ISSUED if found else Kind.DETAIL
    elif "usr=" in line and (found := _CPU.search(line)):
        kind = Kind.CPU
    elif "depth=" in line and (found := _DEPTH.search(line)):
        kind = Kind.DEPTH
    elif "signal=" in line and (found := _SIGNAL.search(line)):
        kind = Kind.SIGNAL
    elif any(detail in line for detail in _DETAILS) or _DETAIL.match(line):
        kind, found = Kind.DETAIL, None
    else:
        found = _CHATTER.match(line)
        kind = Kind.CHATTER if found else None
    if kind is None:
        return None
    return kind, found or next(_ANY.finditer(line))


def _without_figures(line: str) -> tuple[Kind | None, re.Match[str] | None]:
    if "percentiles (" in line and (found := _PERCENTILES.search(line)):
        return Kind.PERCENTILES, found
    if "fsync/fdatasync" in line:
        return Kind.SYNC, None
    if "Run status group" in line and (found := _GROUP.search(line)):
        return Kind.GROUP, found
    if "Disk stats (" in line:
        return Kind.DISKS, None
    if "fio-" in line and (found := _VERSION.fullmatch(line)):
        return Kind.VERSION, found
    if "on signal" in line and (found := _SIGNAL.search(line)):
        return Kind.SIGNAL, found
    if found := _DETAIL.match(line):
        return Kind.DETAIL, found
    if "Starting " in line and (found := _STARTING.match(line)):
        return Kind.STARTING, found
    found = _CHATTER.match(line)
    return Kind.CHATTER if found else None, found


def is_whole(kind: Kind, line: str) -> bool:
    """Whether the line has its end: if not, the next line may be the rest of it."""
    if kind is Kind.DISK and "aggr" in line:
        return re.search(r"aggrutil=\d+\.\d\d%\s*$", line) is not None
    pattern = _WHOLE.get(kind)
    return pattern is None or pattern.search(line) is not None


# ---------------------------------------------------------------- what a found line says


def section(found: re.Match[str]) -> tuple[str, int, int, int, int | None]:
    """Name, group, jobs, error and process of a job's first line."""
    pid = int(found[4]) if found[4] else None
    return _name_before(found), int(found[1]), int(found[2]), int(found[3]), pid


def _name_before(found: re.Match[str]) -> str:
    before = found.string[max(0, found.start() - _LONGEST_NAME) : found.start()]
    # Behind the quotation mark of a program's text, and of a comment's hash.
    return _QUOTATION_MARKS.split(before)[-1].strip(" \t>|#*")


def definition(found: re.Match[str]) -> Definition:
    """What fio understood of a job; a block size that is a range is left out."""
    line = found.string
    depth = _first(_IODEPTH, line)
    return Definition(
        name=_name_before(found),
        rw=found[1],
        block_size_bytes=_block_sizes(line),
        engine=_first(_ENGINE, line),
        iodepth=int(depth) if depth else None,
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


def figures(found: re.Match[str], number: int, *, kilo: int, cut: bool) -> Figures:
    """A direction's first line, or a group's line of one direction, which has no IOPS.

    ``kilo`` is what ``KB`` is in the old form; ``cut`` as in
    :func:`units_printed.printed_count`, for the new one.
    """
    line, made = found.string, Figures(found[1].lower(), number)
    whole = units_printed.whole
    if found.re is _HEADLINE and "IOPS=" in line:
        made.bandwidth_bytes = _bandwidth(line, cut=cut)
        made.iops = printed_count(_first(_NEW_IOPS, line), cut=cut)
        if run := _NEW_RUN.search(line):
            made.io_bytes = printed_size(run[1], 1000, cut=cut)
            made.runtime_ms = whole(run[2])
    elif found.re is _SUMMARY and "aggrb=" not in line:
        made.io_bytes = printed_size(_first(_IO, line), 1000, cut=cut)
        made.bandwidth_bytes = _bandwidth(line, cut=cut)
        made.runtime_ms = whole(_first(_NEW_LONGEST, line))
    else:
        made.io_bytes = printed_size(_first(_IO, line), kilo)
        made.bandwidth_bytes = printed_size(_first(_OLD_BW, line), kilo)
        made.iops = printed_count(_first(_OLD_IOPS, line))
        made.runtime_ms = whole(_first(_OLD_RUN, line))
    return made


def _first(pattern: re.Pattern[str], line: str) -> str:
    """What the pattern's group holds where it is found first, else empty."""
    found = pattern.search(line)
    return found[1] if found else ""


def _bandwidth(line: str, *, cut: bool) -> Printed | None:
    """Printed twice, in powers of 1024 and of 1000: each says a little more of the other."""
    found = _NEW_BW.search(line)
    if found is None:
        return None
    first, second = (printed_size(text or "", 1000, cut=cut) for text in found.groups())
    return first.narrowed(second) if first else second


def latency(found: re.Match[str]) -> tuple[str, float | None, float | None]:
    """Which latency, its least value and its mean in ns."""
    least, mean = (units_printed.time_ns(found[at] or "", found[2]) for at in (3, 4))
    return found[1], least, mean


def percentiles_heading(found: re.Match[str]) -> tuple[str, str]:
    """Which latency the table below is of, and its unit; by priority is not for us."""
    return found[1] if not found[2] else "", found[3]


def percentiles(line: str, unit: str) -> dict[str, int]:
    """Percent text (six decimals, as in fio's JSON) -> ns."""
    found = {}
    for percent, value in _PERCENTILE.findall(line):
        share, ns = units_printed.number(percent), units_printed.time_ns(value, unit)
        if share is not None and ns is not None and share <= 100:
            found[f"{share:.6f}"] = round(ns)
    return found


def issued(found: re.Match[str]) -> tuple[dict[str, int], int]:
    """I/Os by direction, and how many syncs there were among them."""
    counts = [int(count) for count in found.groups() if count]
    reads, writes, trims, syncs = (*counts, 0, 0)[:4]
    return {"read": reads, "write": writes, "trim": trims}, syncs


def cpu_percent(found: re.Match[str]) -> float | None:
    """User and system share of a core, by a worker on average."""
    user, system = units_printed.number(found[1]), units_printed.number(found[2])
    return None if user is None or system is None else user + system


def workers(found: re.Match[str]) -> int:
    """How many processes and threads fio starts."""
    return int(found[1]) + int(found[2] or 0)


def signal(found: re.Match[str]) -> str:
    """In words, how a signal ended fio or one of its workers."""
    if found[1]:
        return f"fio was ended by signal {found[1]}"
    return f"one of fio's workers was ended by signal {found[2]}"


def device(found: re.Match[str]) -> DeviceIo:
    """One line of the disk statistics; its own figures, not the sums of what is below it."""
    counts = [None if one is None else int(one) for one in found.groups()[1:]]
    ios, sectors, merges, ticks = zip(counts[::2], counts[1::2], strict=True)
    return device_io(found[1], ios=ios, merges=merges, ticks=ticks, sectors=sectors)
