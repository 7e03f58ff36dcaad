"""fio's JSON reports (2.x, 3.x, json+) -> :class:`Report`. Pure; believes no field's type.

Before 2.99 amounts are KiB (``io_bytes`` too, whatever its name says) and latencies µs;
later ones have ``io_kbytes`` beside ``io_bytes``, and ``lat_ns`` (fio's stat.c).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from appliance.fio_import import options as asked
from appliance.fio_import import units_printed
from appliance.fio_import.drafts import DIRECTIONS, Figures, Report, Section
from appliance.fio_import.json_text import Document
from appliance.fio_import.options import Asked
from appliance.fio_import.text_line import SECTOR_BYTES
from appliance.fio_import.units_printed import Printed
from appliance.model import DeviceIo

_KIB = 1024
_MOST_SECTIONS = 4096
_MOST_PERCENTILES = 64
_MOST_DEVICES = 512
_LATENCIES = ("slat", "clat", "lat")


def report(document: Document, line: int, notes: list[str]) -> tuple[Report, Asked] | None:
    """The report in a document that begins on ``line``, and what fio says it was asked.

    What is not read is added to ``notes``.
    """
    value = document.value
    jobs = _jobs(value)
    if not jobs:
        return None
    if len(jobs) > _MOST_SECTIONS:
        notes.append(
            f"read only the first {_MOST_SECTIONS:,} of the {len(jobs):,} jobs in the report at "
            f"line {line}"
        )
        jobs = jobs[:_MOST_SECTIONS]
    found = Report(line, kind="json", version=_text(value.get("fio version")), cut=document.cut)
    at_ms = units_printed.real(value.get("timestamp_ms"))
    at = units_printed.real(value.get("timestamp"))
    found.at = at_ms / 1000 if at_ms else at
    found.sections = [_section(job, line) for job in jobs]
    _devices(found, value.get("disk_util"))
    options = asked.from_json(
        _options(value.get("global options")),
        [(section.name, section.options) for section in found.sections],
    )
    _count_workers(found.sections, options)
    return found, options


def _jobs(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The jobs; of a server's clients, the sum over all clients only if it is alone."""
    listed = value.get("jobs")
    if not isinstance(listed, list):
        listed = value.get("client_stats")
    jobs = [job for job in listed or [] if isinstance(job, dict)]
    jobs = [job for job in jobs if any(isinstance(job.get(d), dict) for d in DIRECTIONS)]
    own = [job for job in jobs if job.get("jobname") != "All clients"]
    return own or jobs


def _section(job: Mapping[str, Any], line: int) -> Section:
    section = Section(_text(job.get("jobname")), line, _whole(job.get("groupid")) or 0)
    section.errors = _whole(job.get("error")) or 0
    section.options = _options(job.get("job options"))
    shares = [units_printed.real(job.get(key)) for key in ("usr_cpu", "sys_cpu")]
    known = [share for share in shares if share is not None]
    section.cpu_percent = sum(known) if len(known) == 2 else None
    sync = job.get("sync")
    if isinstance(sync, dict):
        # fdatasync is timed, but not in the total.
        times = sync.get("lat_ns")
        timed = _whole(times.get("N")) if isinstance(times, dict) else None
        section.sync_ios = max(_whole(sync.get("total_ios")) or 0, timed or 0)
    for direction in DIRECTIONS:
        part = job.get(direction)
        if not isinstance(part, dict):
            continue
        ios = _whole(part.get("total_ios"))
        if ios is not None:
            section.total_ios[direction] = ios
        if ios or units_printed.real(part.get("io_bytes")):
            section.directions[direction] = _figures(direction, part, line)
    return section


def _figures(direction: str, part: Mapping[str, Any], line: int) -> Figures:
    figures = Figures(direction, line, iops=Printed.exact(units_printed.real(part.get("iops"))))
    bandwidth, kib = units_printed.real(part.get("bw_bytes")), units_printed.real(part.get("bw"))
    if bandwidth is None and kib is not None:
        bandwidth = kib * _KIB
    figures.bandwidth_bytes = Printed.exact(bandwidth)
    figures.runtime_ms = _whole(part.get("runtime"))
    amount = units_printed.real(part.get("io_bytes"))
    if amount is not None and "io_kbytes" not in part and "lat_ns" not in part:
        amount *= _KIB
    figures.io_bytes = Printed.exact(amount)
    for name in _LATENCIES:
        in_ns, in_us = part.get(f"{name}_ns"), part.get(name)
        table, factor = (in_ns, 1) if isinstance(in_ns, dict) else (in_us, 1000)
        if not isinstance(table, dict):
            continue
        mean, least = units_printed.real(table.get("mean")), units_printed.real(table.get("min"))
        if mean is not None:
            figures.latency_ns[name] = mean * factor
        if least is not None:
            figures.least_ns[name] = least * factor
        percentiles = table.get("percentile")
        if isinstance(percentiles, dict):
            figures.percentiles_ns[name] = _percentiles(percentiles, factor)
    return figures


def _percentiles(table: Mapping[str, Any], factor: int) -> dict[str, int]:
    """Percent texts in fio's own form; unused entries of old versions are ``0.00``."""
    found = {}
    for key, value in list(table.items())[:_MOST_PERCENTILES]:
        percent, ns = units_printed.number(str(key)[:20]), units_printed.real(value)
        if percent and percent <= 100 and ns is not None:
            found[f"{percent:.6f}"] = round(ns * factor)
    return found


def _devices(found: Report, listed: object) -> None:
    for one in listed[:_MOST_DEVICES] if isinstance(listed, list) else []:
        name = _text(one.get("name")) if isinstance(one, dict) else ""
        if not name:
            continue
        counts = {key: _whole(one.get(key)) for key in _COUNTS}
        found.devices[name] = DeviceIo(
            device=name,
            read_ios=counts["read_ios"] or 0,
            write_ios=counts["write_ios"] or 0,
            read_merges=counts["read_merges"] or 0,
            write_merges=counts["write_merges"] or 0,
            read_ticks_ms=counts["read_ticks"],
            write_ticks_ms=counts["write_ticks"],
            read_bytes=_bytes(counts["read_sectors"]),
            write_bytes=_bytes(counts["write_sectors"]),
        )
        if any(str(key).startswith("aggr_") for key in one):
            found.above.add(name)


_COUNTS = (
    "read_ios",
    "write_ios",
    "read_merges",
    "write_merges",
    "read_ticks",
    "write_ticks",
    "read_sectors",
    "write_sectors",
)


def _bytes(sectors: int | None) -> int | None:
    return None if sectors is None else sectors * SECTOR_BYTES


def _count_workers(sections: list[Section], options: Asked) -> None:
    """How many workers a section is of: JSON does not say, where fio merged them.

    Without ``group_reporting`` each worker has its own section. With it, a section is of
    ``numjobs`` workers; where that is not given, other jobs may have been merged into it.
    """
    names = Counter(section.name for section in sections)
    for section in sections:
        mine, clones = options.of(section.name), names[section.name]
        count = _whole_text(mine.get("numjobs"))
        if clones > 1 or "group_reporting" not in mine.said:
            section.workers = 1 if clones > 1 or not count or count == 1 else count
        else:
            section.workers = count


def _whole_text(text: str | None) -> int | None:
    return units_printed.whole(text) if text else None


def _options(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    pairs = list(value.items())[:256]
    return {_text(key): _value(one) for key, one in pairs}


def _value(one: object) -> str:
    """An option's value as fio writes it; what none of its options can be is not known."""
    if isinstance(one, str):
        return _text(one, 4096)
    return str(int(one)) if isinstance(one, bool | int) and abs(one) < _KIB**4 else asked.NOT_SEEN


def _text(value: object, longest: int = 200) -> str:
    if not isinstance(value, str):
        return ""
    # JSON can hold halves of characters, which no file and no database takes.
    return value[:longest].encode("utf-8", errors="replace").decode("utf-8")


def _whole(value: object) -> int | None:
    found = units_printed.real(value)
    return None if found is None else int(found)
