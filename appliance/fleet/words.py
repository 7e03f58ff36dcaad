"""A fleet in words: the command, the page and the screen say the same. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from appliance import text
from appliance.fleet.odd import Odd, effect_of
from appliance.fleet.overview import Kind, Normal

NOTHING_ODD = "no machine and no disk is unlike its siblings"
UNKNOWN = "?"
# More says no more, and comes of a file that is not true.
_MOST_EFFECT = 1e3
# From here on per cent are hard to read.
_FACTOR_FROM = 10.0
_FIGURES = {"iops": "IOPS", "p99": "p99", "await": "await"}


def headline(found: Sequence[Odd]) -> str:
    """How many machines and disks are odd."""
    disks = sum(bool(one.unit.member) for one in found)
    counts = [(len(found) - disks, "machine"), (disks, "disk")]
    named = [f"{count:,} {what}{'s' * (count != 1)}" for count, what in counts if count]
    if not named:
        return NOTHING_ODD
    verb, their = ("is", "its") if len(found) == 1 else ("are", "their")
    return f"{' and '.join(named)} {verb} unlike {their} siblings"


def job(of: Odd | Normal) -> str:
    """``smoke/rand-read-4k read``; what shows in all of a suite and in no job alone has none."""
    return f"{of.suite}/{of.job} {of.direction}" if of.job else f"all of {of.suite}"


def figure(one: Odd) -> str:
    """``IOPS``, ``p99`` or ``await``."""
    return _FIGURES[one.figure]


def effect(one: Odd) -> str:
    """``IOPS -8 %``; what is many times as much as a factor: ``await 265 ×``."""
    times = 1 + min(one.effect, _MOST_EFFECT)
    if times >= _FACTOR_FROM:
        return f"{figure(one)} {times:.0f} ×"
    # Rounded to -100 % it would say that nothing was done at all.
    digits = 1 if times < 0.01 else 0
    return f"{figure(one)} {one.effect * 100:+.{digits}f} %"


def days(one: Odd) -> list[tuple[datetime.date, float]]:
    """Each day, and by how many per cent the figure differed from that of the siblings."""
    found = [(day_of(day), 100 * effect_of(one.figure, x)) for day, x in one.days]
    return [(day, percent) for day, percent in found if day]


def day_of(text: str) -> datetime.date | None:
    """A day as a file has it; ``None`` for a text that is not a day."""
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return None


def since(one: Odd) -> str:
    """The day, or where that is not known in what it differs."""
    return one.since or one.how.value


def when(one: Odd) -> str:
    """``since 2026-09-01``, or as :func:`since`."""
    return f"since {one.since}" if one.since else one.how.value


def evidence(one: Odd) -> str:
    """``q 2e-52; in 7 series, beside 60 siblings``."""
    shows = f"in {one.series} series" if one.series else "in all series together"
    return f"q {one.q_value:.1g}; {shows}, beside {one.siblings} siblings"


def kind(one: Kind) -> tuple[str, ...]:
    """Type, kernel, fio, version and how many machines."""
    known = (one.machine_type, one.kernel, one.fio_version, one.version)
    return (*(word or UNKNOWN for word in known), f"{one.machines:,}")


def spread(one: Normal) -> str:
    """``395.8k to 412.3k``: IOPS of the machines from p10 to p90."""
    return f"{text.count(one.iops[0])} to {text.count(one.iops[2])}"


def published(one: Normal) -> str:
    """``97 %`` of what is published."""
    return f"{one.iops[1] / one.published_iops * 100:.0f} %" if one.published_iops else UNKNOWN


def tail(one: Normal) -> str:
    """The 99th percentile of all I/Os."""
    return text.latency(one.latency_ns[1]) if one.latency_ns else UNKNOWN
