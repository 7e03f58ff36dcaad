"""schedule.toml: when suites run and drift is looked for. Pure.

:func:`parse_schedule` makes a :class:`Schedule` of the text, :func:`drop_ins` the files beside
the image's units that make it so. Everything that is not declared stays as the image has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from appliance import paths
from appliance.bench.suite import suite_names
from appliance.errors import OperatorError, UsageError
from appliance.model.toml_table import Document, Table, parse_document
from appliance.system import files
from appliance.system.services import BENCH_TIMER, DRIFT_TIMER, TARGET

MAX_BYTES = 64 * 1024
ACCEPTANCE_UNIT = "stripewright-acceptance.service"
DROP_IN = "50-schedule.conf"

_SUITE_KEYS = ("every", "at", "jitter", "enabled")
_SPAN = re.compile(r"([1-9][0-9]{0,3}|0)(min|h)", re.ASCII)
_MINUTES = {"min": 1, "h": 60}
# Parts of a day that divide it, so that the hours are the same every day. Below half an hour a
# suite of some minutes would be most of what the disks do.
_EVERY_MINUTES = (30, 60, 120, 180, 240, 360, 480, 720, 1440)
_EVERY_HINT = 'one of "30min", "1h", "2h", "3h", "4h", "6h", "8h", "12h", "24h"; or use at'
_WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY = f"(?:{'|'.join(_WEEK)})"
_HOUR = "(?:[01][0-9]|2[0-3])"
# A part of systemd.time(7) that cannot mean every minute and needs no program to be judged.
_AT = re.compile(
    rf"(?:{_DAY}(?:(?:,|\.\.){_DAY})* )?(?:\*-\*-(?:0[1-9]|1[0-9]|2[0-8]) )?"
    rf"{_HOUR}(?:,{_HOUR})*:[0-5][0-9](?: UTC)?",
    re.ASCII,
)
_AT_HINT = (
    'days and a time, as "Sun 02:00", "Mon..Fri 01,13:30", "*-*-01 04:00" or "03:15 UTC"'
    " (the day of a month is 01 to 28)"
)
# Each hour and each day of the week once, with all else: what is longer says something twice, and
# is said again in the journal.
_MAX_AT_CHARS = 120
_MAX_JITTER_MINUTES = 12 * 60
_DRIFT_MINUTES = (1, 24 * 60)
# The machine's own part of the interval by which it looks later than others.
_DRIFT_JITTER_SHARE = 10


@dataclass(frozen=True, slots=True)
class SuiteTimes:
    """When one suite runs: ``calendar`` is an OnCalendar= expression (systemd.time(7)).

    The start is later by up to ``jitter_minutes``, always by the same on one machine.
    """

    calendar: str
    jitter_minutes: int
    enabled: bool = True


# What the image's own timers say (units/systemd; tests/unit/test_schedule.py compares them).
DEFAULTS: Mapping[str, SuiteTimes] = {
    "smoke": SuiteTimes("00/6:00", 30),
    "full": SuiteTimes("Sun 02:00", 90),
}
DEFAULT_DRIFT_MINUTES = 5
_OTHER_JITTER_MINUTES = 30


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a schedule.toml declares; ``drift_minutes`` is ``None`` where it says nothing."""

    suites: Mapping[str, SuiteTimes] = field(default_factory=dict)
    drift_minutes: int | None = None
    acceptance_required: bool = False


def parse_schedule(text: str, source: str, suites: Sequence[str]) -> Schedule:
    """``text`` as a schedule; ``source`` is named in errors, ``suites`` are those there are.

    Raises :class:`UsageError` with the line, the field and what is allowed there.
    """
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise UsageError(
            f"{source}: larger than {MAX_BYTES // 1024} KiB", "this is not a schedule file"
        )
    document, values = parse_document(
        source,
        text,
        "a schedule has tables [suite.NAME], [drift] and [acceptance]; see the operator guide",
    )
    for key in values:
        if key not in {"suite", "drift", "acceptance"}:
            document.fail(
                key,
                "unknown key",
                "allowed at the top: [suite.NAME], [drift], [acceptance]",
                document.line_of(re.escape(key), 1, ""),
            )
    acceptance = document.table(values, "acceptance")
    acceptance.only(("required",))
    return Schedule(
        suites=_suites(values, document, suites),
        drift_minutes=_drift(document.table(values, "drift")),
        acceptance_required=bool(acceptance.flag("required")),
    )


def _suites(
    values: Mapping[str, object], document: Document, known: Sequence[str]
) -> dict[str, SuiteTimes]:
    declared = document.table(values, "suite")
    found = {}
    for name in declared.values:
        if name not in known:
            line = document.line_of(rf"suite\s*\.\s*[\"']?{re.escape(name)}[\"']?", 1, "")
            document.fail(
                f"suite.{name}", "no such suite", f"the suites are: {', '.join(known)}", line
            )
        found[name] = _suite(document.table(declared.values, name), name, document)
    return found


def _suite(values: Table, name: str, document: Document) -> SuiteTimes:
    table = Table(values.values, document, f"suite.{name}")
    table.only(_SUITE_KEYS)
    if "every" in table.values and "at" in table.values:
        table.fail("at", "there is every, too", "one of the two")
    enabled = table.flag("enabled")
    default = DEFAULTS.get(name)
    minutes: int | None = None
    if "every" in table.values:
        minutes = _span(table, "every", _EVERY_HINT, lambda value: value in _EVERY_MINUTES)
        calendar = _calendar(minutes)
    elif "at" in table.values:
        calendar = table.text("at", hint=_AT_HINT)
        if len(calendar) > _MAX_AT_CHARS:
            table.fail("at", f"longer than {_MAX_AT_CHARS} characters", _AT_HINT)
        if not _AT.fullmatch(calendar):
            table.fail("at", f"{calendar!r} is not allowed", _AT_HINT)
    elif default is not None:
        calendar = default.calendar
    elif enabled is False:
        table.fail("enabled", "this suite has no timer", "leave the table out")
    else:
        table.fail("", "no time given", f"give every ({_EVERY_HINT}) or at ({_AT_HINT})")
    most = _MAX_JITTER_MINUTES if minutes is None else minutes // 2
    if "jitter" in table.values:
        hint = f'from "0min" to "{most}min"'
        if minutes is not None:
            hint += ", half of every"
        jitter = _span(table, "jitter", hint, lambda value: value <= most)
    else:
        jitter = min(most, default.jitter_minutes if default else _OTHER_JITTER_MINUTES)
    return SuiteTimes(calendar, jitter, enabled is not False)


def _span(table: Table, key: str, hint: str, fits: Callable[[int], bool]) -> int:
    """A time span in minutes, written with ``min`` or ``h``."""
    text = table.text(key, hint=hint)
    found = _SPAN.fullmatch(text)
    value = int(found[1]) * _MINUTES[found[2]] if found else 0
    if not found or not fits(value):
        table.fail(key, f"{text!r} is not allowed", hint)
    return value


def _calendar(minutes: int) -> str:
    """``every`` as a calendar expression: only those are made up for after a missed run."""
    if minutes == 1440:
        return "00:00"
    return f"00/{minutes // 60}:00" if minutes >= 60 else f"*:00/{minutes}"


def _drift(table: Table) -> int | None:
    table.only(("every",))
    if "every" not in table.values:
        return None
    low, high = _DRIFT_MINUTES
    hint = f'from "{low}min" to "{high // 60}h"'
    return _span(table, "every", hint, lambda value: low <= value <= high)


# ------------------------------------------------------------------------------- for systemd


def timers(schedule: Schedule) -> dict[str, bool]:
    """Every timer that there has to be, and whether it runs."""
    wanted = {BENCH_TIMER.format(suite=name): True for name in DEFAULTS}
    for name, times in schedule.suites.items():
        wanted[BENCH_TIMER.format(suite=name)] = times.enabled
    return {**wanted, DRIFT_TIMER: True}


def drop_ins(schedule: Schedule, source: str) -> dict[str, str]:
    """Names below /etc/systemd/system -> contents of the files that make ``schedule`` so.

    ``source`` is the path of the schedule.
    """
    head = f"# Written by stripewright-schedule.service from {source}.\n"
    made = {
        f"{BENCH_TIMER.format(suite=name)}.d/{DROP_IN}": head + _suite_lines(times, source)
        for name, times in schedule.suites.items()
    }
    if schedule.drift_minutes is not None:
        made[f"{DRIFT_TIMER}.d/{DROP_IN}"] = head + _drift_lines(schedule.drift_minutes)
    if schedule.acceptance_required:
        unit = ACCEPTANCE_UNIT
        # Not Requires=: an operator who stops the acceptance would stop the target with it, and
        # all workloads. Its directory is there as long as it is passed.
        made[f"{TARGET}.d/{DROP_IN}"] = (
            f"{head}[Unit]\nWants={unit}\nAfter={unit}\n"
            f"AssertPathIsDirectory={paths.LIVE_DIR / ACCEPTANCE_UNIT.removesuffix('.service')}\n"
        )
    return made


def _suite_lines(times: SuiteTimes, source: str) -> str:
    # An empty one takes back what the unit says itself. A timer cannot be switched off by a file
    # beside it; one whose condition is false is not started.
    off = "" if times.enabled else f"[Unit]\nConditionPathExists=!{source}\n"
    return (
        f"{off}[Timer]\nOnCalendar=\nOnCalendar={times.calendar}\n"
        f"RandomizedDelaySec={times.jitter_minutes}min\n"
    )


def _drift_lines(minutes: int) -> str:
    # The empty one takes back all, the first look after boot included.
    jitter = minutes * 60 // _DRIFT_JITTER_SHARE
    return (
        f"[Timer]\nOnBootSec=\nOnBootSec=2min\nOnUnitActiveSec={minutes}min\n"
        f"RandomizedDelaySec={jitter}s\n"
    )


def gaps_seconds(schedule: Schedule) -> dict[str, float | None]:
    """For each suite with a timer the longest time between two starts; ``None`` if it is off."""
    suites = {**DEFAULTS, **schedule.suites}
    return {
        name: 60.0 * (_longest_gap_minutes(times.calendar) + times.jitter_minutes)
        if times.enabled
        else None
        for name, times in suites.items()
    }


def _longest_gap_minutes(calendar: str) -> int:
    """Of an expression that :func:`parse_schedule` takes."""
    if found := re.fullmatch(r"(?:\*:00|00)/([0-9]+)(:00)?", calendar):
        return int(found[1]) * (60 if found[2] else 1)
    *days, time = calendar.removesuffix(" UTC").split(" ")
    if any(day.startswith("*") for day in days):
        # A weekday that is such a day of the month may be a year away.
        return 1440 * (31 if len(days) == 1 else 366)
    hours = [int(hour) for hour in time.partition(":")[0].split(",")]
    starts = sorted(
        24 * day + hour for day in (_weekdays(days[0]) if days else range(7)) for hour in hours
    )
    return 60 * max(
        later - earlier
        for earlier, later in zip(starts, [*starts[1:], starts[0] + 7 * 24], strict=True)
    )


def _weekdays(text: str) -> set[int]:
    """``Mon,Thu..Sat`` as numbers from 0; a range may go over the end of the week."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("..")
        begin, length = _WEEK.index(first), _WEEK.index(last or first) - _WEEK.index(first)
        found.update((begin + step) % 7 for step in range(length % 7 + 1))
    return found


# ------------------------------------------------------------------------------- for people


class Row(NamedTuple):
    """``what`` runs, ``when`` in words, and which ``source`` says so."""

    what: str
    when: str
    source: str


def describe(schedule: Schedule) -> list[Row]:
    """The schedule as a table."""
    rows = []
    for name in sorted({*DEFAULTS, *schedule.suites}):
        times = schedule.suites.get(name) or DEFAULTS[name]
        words = f"{times.calendar}, up to {times.jitter_minutes} min later"
        declared = name in schedule.suites
        rows.append(Row(f"suite {name}", words if times.enabled else "never", _where(declared)))
    minutes = schedule.drift_minutes or DEFAULT_DRIFT_MINUTES
    rows.append(Row("drift", f"every {minutes} min", _where(schedule.drift_minutes is not None)))
    required = schedule.acceptance_required
    rows.append(Row("acceptance", "required" if required else "not required", _where(required)))
    return rows


def _where(declared: bool) -> str:
    return "schedule.toml" if declared else "built in"


def with_suite(text: str, suite: str, lines: Mapping[str, str]) -> str:
    """``text`` with the table of ``suite`` replaced by one of ``lines``; all else stays.

    An empty ``lines`` takes the table out, so that the image's own times hold again.
    """
    header = re.compile(rf"\s*\[\s*suite\s*\.\s*[\"']?{re.escape(suite)}[\"']?\s*\]")
    kept, inside = [], False
    for line in text.splitlines():
        if line.lstrip().startswith("["):
            inside = header.match(line) is not None
        if not inside:
            kept.append(line)
    while kept and not kept[-1].strip():
        kept.pop()
    if lines:
        table = [f"[suite.{suite}]", *(f"{key} = {value}" for key, value in lines.items())]
        kept += ([""] if kept else []) + table
    return "".join(f"{line}\n" for line in kept)


# ------------------------------------------------------------------------------ the installed file


def read_schedule(path: Path = paths.SCHEDULE_FILE) -> Schedule:
    """The installed schedule; an empty one without a file. Raises :class:`UsageError`."""
    if not path.exists():
        return Schedule()
    return parse_schedule(read_text(path), str(path), suite_names())


def read_text(path: Path) -> str:
    """The text of a schedule file, as far as it may be long. Raises :class:`UsageError`."""
    try:
        return decoded(files.read_bounded(path, MAX_BYTES + 1, follow=True, cut=True), str(path))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", "give a file that can be read") from error


def decoded(raw: bytes, source: str) -> str:
    """``raw`` as text; ``source`` is named in the :class:`UsageError`."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{source}: not UTF-8 text (byte {error.start})", "write the schedule as UTF-8 TOML"
        ) from error


def planned_gaps() -> Mapping[str, float | None]:
    """What the schedule leaves between two runs; one that is refused is not in effect."""
    try:
        return gaps_seconds(read_schedule())
    except OperatorError:
        return gaps_seconds(Schedule())
