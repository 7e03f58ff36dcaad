"""One direction of a draft -> the figures of an :class:`Evidence`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from appliance.bench.legacy import units
from appliance.bench.legacy.drafts import Definition, Figures, Section

FIO_DEFAULT_BLOCK_BYTES = 4096
# An amount printed with three or four digits may be this far from the exact one.
_PRINTED_PRECISION = 0.01
_MAX_BLOCK_BYTES = 1 << 28
# Options that end a job by another amount than its size.
_OTHER_BOUNDS = frozenset({"io_size", "io_limit", "number_ios", "loops", "filesize"})


@dataclass(frozen=True, slots=True)
class Rates:
    """IOPS as exactly as the report has them, and as it printed them if it rounded."""

    iops: float | None
    printed_iops: float | None


def rates(figures: Figures, total_ios: int | None) -> Rates:
    """From 2.17 on fio prints ``412k``; the I/Os and the run time say it exactly."""
    printed, runtime_ms = figures.iops, figures.runtime_ms
    if figures.iops_exact or not total_ios or not runtime_ms:
        return Rates(printed, None)
    exact = total_ios * 1000 / runtime_ms
    if printed is None or abs(exact - printed) > _PRINTED_PRECISION * printed + 1:
        return Rates(printed, None)
    return Rates(exact, printed)


def io_bytes(figures: Figures, total_ios: int | None, block_size_bytes: int | None) -> int | None:
    """Bytes: I/Os × block where that is what fio printed with fewer digits."""
    printed = figures.io_bytes
    if printed is None or not total_ios or not block_size_bytes:
        return None if printed is None else round(printed)
    exact = total_ios * block_size_bytes
    return exact if abs(exact - printed) <= _PRINTED_PRECISION * exact else round(printed)


def block_size(
    figures: Figures,
    total_ios: int | None,
    definition: Definition | None,
    options: Mapping[str, str],
) -> int | None:
    """What fio printed, else what was asked, else the power of two that the amounts are in."""
    direction = figures.direction
    if definition is not None and definition.block_size_bytes:
        return definition.block_size_bytes.get(direction)
    if "bsrange" in options or "bssplit" in options or "blocksize_range" in options:
        return None
    if asked := options.get("bs"):
        # bs=read,write,trim; the last one given is for the rest.
        parts = asked.split(",")
        at = {"read": 0, "write": 1, "trim": 2}.get(direction, 0)
        return units.option_size(parts[min(at, len(parts) - 1)] or parts[0])
    amount, count = figures.io_bytes, total_ios
    if amount and count:
        mean = amount / count
    elif figures.bandwidth_bytes and figures.iops:
        mean = figures.bandwidth_bytes / figures.iops
    else:
        return FIO_DEFAULT_BLOCK_BYTES if options else None
    if not 256 <= mean <= _MAX_BLOCK_BYTES:
        return None
    power = 1 << (round(mean) - 1).bit_length()
    for size in (power, power // 2):
        if abs(mean - size) <= _PRINTED_PRECISION * size:
            return size
    return None


def runtime_asked_ms(
    options: Mapping[str, str], section: Section, workers: int | None
) -> int | None:
    """What ``runtime=`` asks for, unless the job had done all of its size before.

    fio's JSON does not say ``time_based``, so the amount has to tell.
    """
    asked = units.duration_ms(options.get("runtime", ""))
    if not asked:
        return None
    if options.get("time_based", "0") != "0":
        return asked
    size = units.option_size(options.get("size", ""))
    if size is None or _OTHER_BOUNDS & options.keys() or not workers:
        return None
    done = sum(figures.io_bytes or 0 for figures in section.directions.values())
    return None if done >= size * workers * (1 - _PRINTED_PRECISION) else asked


def iodepth(
    section: Section, definition: Definition | None, options: Mapping[str, str]
) -> int | None:
    """What each worker was asked for; 1 where the options are known and do not say."""
    if definition is not None and definition.iodepth is not None:
        return definition.iodepth
    if text := options.get("iodepth"):
        return units.whole(text)
    if section.depth is not None:
        return section.depth
    return 1 if options else None


def direct(options: Mapping[str, str]) -> bool | None:
    """Whether the page cache was bypassed; fio's default is that it is not."""
    if not options:
        return None
    if "direct" in options:
        return options["direct"] not in {"0", "false"}
    return options.get("buffered") in {"0", "false"}


def mean_latency_ns(figures: Figures) -> float | None:
    """From submission to completion, else completion alone."""
    return figures.latency_ns.get("lat", figures.latency_ns.get("clat"))


def percentiles_ns(figures: Figures) -> dict[str, int] | None:
    return figures.percentiles_ns.get("lat") or figures.percentiles_ns.get("clat") or None


def think_time_ms(options: Mapping[str, str]) -> int:
    """``thinktime``, which fio takes in microseconds where it has no unit."""
    asked = options.get("thinktime", "")
    return units.duration_ms(f"{asked}us" if asked.isdecimal() else asked) or 0
