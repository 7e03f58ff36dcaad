"""fio's JSON reports (2.x, 3.x, json+) in a text with anything around them. Pure.

:func:`documents` finds them, linear in the text's length. They begin with ``{ "fio version"``, or
with another of the top level's keys where they were sorted. From one beginning to the next there is
at most one document: a part that is cut off is closed after its last whole value, and one with
foreign lines in it is read without them.

:func:`report` reads one, and believes no field's type. Before 2.99 amounts are KiB (``io_bytes``
too, whatever its name says) and latencies µs; later ones have ``io_kbytes`` beside ``io_bytes``,
and ``lat_ns`` (fio's stat.c).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from appliance.fio_import import draft, units_printed
from appliance.fio_import import options as asked
from appliance.fio_import.draft import DIRECTIONS, Figures, Report, Section
from appliance.fio_import.options import Asked
from appliance.fio_import.units_printed import Printed

_BEGIN = re.compile(
    r'\{\s*"(?:fio version|jobs|disk_util|client_stats|global options|time(?:stamp(?:_ms)?)?)"'
)
# Possessive: what was read is not given back, so that no string of 40 MB is remembered twice.
_TOKEN = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|[{}\[\],]')
_JSON_LINE = re.compile(r'\s*(?:["{}\[\]]|-?\d|$)')
# No more digits than any counter has: Python refuses to convert numbers of thousands.
_MOST_DIGITS = 40
# A thousand jobs by json+ have some 5; decoded, they take up to thirty times as much.
MOST_CHARACTERS = 6 * 1024 * 1024
_KIB = 1024
_LATENCIES = ("slat", "clat", "lat")


@dataclass(frozen=True, slots=True)
class Document:
    """One object with fio's ``jobs``, the characters it takes, and whether its end is missing."""

    value: dict[str, Any]
    start: int
    end: int
    cut: bool = False


def documents(text: str, notes: list[str]) -> Iterator[Document]:
    """Every fio document in ``text``, in order; what is not read is added to ``notes``."""
    decoder = json.JSONDecoder(parse_int=_counter)
    begin = _BEGIN.search(text)
    while begin is not None:
        start = begin.start()
        begin = _BEGIN.search(text, begin.end())
        # Cut out, because an error counts the lines from the beginning of what it was given.
        end = begin.start() if begin else len(text)
        part = text[start : min(end, start + MOST_CHARACTERS)]
        decoded = _decoded(decoder, part)
        if decoded is not None:
            found = _document(decoded[0], start, start + decoded[1])
        else:
            found = _repaired(decoder, part, start)
            if end - start > MOST_CHARACTERS:
                notes.append(
                    f"read only the first {MOST_CHARACTERS // 1024**2} Mi characters of a "
                    "JSON document"
                )
        if found is not None:
            yield found


def _counter(digits: str) -> int | float:
    return int(digits) if len(digits) < _MOST_DIGITS else float("inf")


def _document(value: object, start: int, end: int, *, cut: bool = False) -> Document | None:
    if not isinstance(value, dict):
        return None
    if not any(isinstance(value.get(key), list) for key in ("jobs", "client_stats")):
        return None
    return Document(value, start, end, cut)


def _repaired(decoder: json.JSONDecoder, part: str, start: int) -> Document | None:
    lines = part.split("\n")
    clean = [line for line in lines if _JSON_LINE.match(line)]
    if len(clean) < len(lines) and (found := _decoded(decoder, "\n".join(clean))):
        last = part.rfind("\n}")
        return _document(found[0], start, start + (last + 2 if last > 0 else len(part)))
    # A terminal or a mail program broke lines within strings.
    for between in (" ", "") if len(lines) > 1 else ():
        if found := _decoded(decoder, between.join(lines)):
            # With a space for each line's end nothing moves.
            return _document(found[0], start, start + (found[1] if between else len(part)))
    closed = _closed(part)
    if closed is None or (found := _decoded(decoder, closed[0])) is None:
        return None
    return _document(found[0], start, start + closed[1], cut=True)


def _decoded(decoder: json.JSONDecoder, text: str) -> tuple[object, int] | None:
    """The value at the beginning of ``text`` and its length, if there is one."""
    try:
        return decoder.raw_decode(text)
    except (ValueError, RecursionError):
        return None


def _closed(part: str) -> tuple[str, int] | None:
    """``part`` up to its last whole value, with what is open closed, and how far that is."""
    stack: list[str] = []
    safe, depth = 0, 0
    for token in _TOKEN.finditer(part):
        mark = token[0][0]
        if mark == '"' and (len(token[0]) == 1 or token[0][-1] != '"'):
            break
        if mark in "{[":
            stack.append("}" if mark == "{" else "]")
        elif mark in "}]":
            if not stack or stack.pop() != mark:
                break
            safe, depth = token.end(), len(stack)
            if not stack:
                break
        elif mark == ",":
            safe, depth = token.start(), len(stack)
    if not safe:
        return None
    return part[:safe] + "".join(reversed(stack[:depth])), safe


# ----------------------------------------------------------------------- what one says


def report(document: Document, line: int, notes: list[str]) -> tuple[Report, Asked] | None:
    """The report in a document that begins on ``line``, and what fio says it was asked.

    What is not read is added to ``notes``.
    """
    value = document.value
    jobs = _jobs(value)
    if not jobs:
        return None
    most = draft.MOST_SECTIONS
    if len(jobs) > most:
        notes.append(
            f"read only the first {most:,} of the {len(jobs):,} jobs in the report at line {line}"
        )
    found = Report(line, kind="json", version=_text(value.get("fio version")), cut=document.cut)
    at_ms = units_printed.real(value.get("timestamp_ms"))
    found.at = at_ms / 1000 if at_ms else units_printed.real(value.get("timestamp"))
    found.sections = [_section(job, line) for job in jobs[:most]]
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
    return [job for job in jobs if job.get("jobname") != "All clients"] or jobs


def _section(job: Mapping[str, Any], line: int) -> Section:
    section = Section(_text(job.get("jobname")), line, _whole(job.get("groupid")) or 0)
    section.errors = _whole(job.get("error")) or 0
    section.options = _options(job.get("job options"))
    user, system = (units_printed.real(job.get(key)) for key in ("usr_cpu", "sys_cpu"))
    section.cpu_percent = None if user is None or system is None else user + system
    sync = _table(job.get("sync"))
    # fdatasync is timed, but not in the total.
    timed = _whole(_table(sync.get("lat_ns")).get("N"))
    section.sync_ios = max(_whole(sync.get("total_ios")) or 0, timed or 0)
    for direction in DIRECTIONS:
        part = _table(job.get(direction))
        ios = _whole(part.get("total_ios"))
        if ios is not None:
            section.total_ios[direction] = ios
        if ios or units_printed.real(part.get("io_bytes")):
            section.directions[direction] = _figures(direction, part, line)
    return section


def _figures(direction: str, part: Mapping[str, Any], line: int) -> Figures:
    iops, bandwidth, kib, amount = (
        units_printed.real(part.get(key)) for key in ("iops", "bw_bytes", "bw", "io_bytes")
    )
    if bandwidth is None and kib is not None:
        bandwidth = kib * _KIB
    if amount is not None and "io_kbytes" not in part and "lat_ns" not in part:
        amount *= _KIB
    figures = Figures(
        direction,
        line,
        iops=Printed.exact(iops),
        bandwidth_bytes=Printed.exact(bandwidth),
        io_bytes=Printed.exact(amount),
        runtime_ms=_whole(part.get("runtime")),
    )
    for name in _LATENCIES:
        in_ns = part.get(f"{name}_ns")
        table, factor = (in_ns, 1) if isinstance(in_ns, dict) else (_table(part.get(name)), 1000)
        mean, least = units_printed.real(table.get("mean")), units_printed.real(table.get("min"))
        if mean is not None:
            figures.latency_ns[name] = mean * factor
        if least is not None:
            figures.least_ns[name] = least * factor
        if isinstance(table.get("percentile"), dict):
            figures.percentiles_ns[name] = _percentiles(table["percentile"], factor)
    return figures


def _percentiles(table: Mapping[str, Any], factor: int) -> dict[str, int]:
    """Percent texts in fio's own form; unused entries of old versions are ``0.00``."""
    found = {}
    for key, value in list(table.items())[: draft.MOST_PERCENTILES]:
        percent, ns = units_printed.number(str(key)[:20]), units_printed.real(value)
        if percent and percent <= 100 and ns is not None:
            found[f"{percent:.6f}"] = round(ns * factor)
    return found


def _devices(found: Report, listed: object) -> None:
    for one in listed[: draft.MOST_DEVICES] if isinstance(listed, list) else []:
        name = _text(_table(one).get("name"))
        if not name:
            continue
        counts = {
            count: (_whole(one.get(f"read_{count}")), _whole(one.get(f"write_{count}")))
            for count in ("ios", "merges", "ticks", "sectors")
        }
        found.devices[name] = draft.device_io(name, **counts)
        if any(str(key).startswith("aggr_") for key in one):
            found.above.add(name)


def _count_workers(sections: list[Section], options: Asked) -> None:
    """How many workers a section is of: JSON does not say, where fio merged them.

    Without ``group_reporting`` each worker has its own section. With it, a section is of
    ``numjobs`` workers; where that is not given, other jobs may have been merged into it.
    """
    names = Counter(section.name for section in sections)
    for section in sections:
        mine, clones = options.of(section.name), names[section.name]
        count = units_printed.whole(mine.get("numjobs"))
        if clones > 1 or ("group_reporting" not in mine.said and not count):
            section.workers = 1
        else:
            section.workers = count


def _options(value: object) -> dict[str, str]:
    return {_text(key): _value(one) for key, one in list(_table(value).items())[:256]}


def _value(one: object) -> str:
    """An option's value as fio writes it; what none of its options can be is not known."""
    if isinstance(one, str):
        return _text(one, 4096)
    return str(int(one)) if isinstance(one, bool | int) and abs(one) < _KIB**4 else asked.NOT_SEEN


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object, longest: int = 200) -> str:
    if not isinstance(value, str):
        return ""
    # JSON can hold halves of characters, which no file and no database takes.
    return value[:longest].encode("utf-8", errors="replace").decode("utf-8")


def _whole(value: object) -> int | None:
    found = units_printed.real(value)
    return None if found is None else int(found)
