"""What network volumes may do together, by type and size and by their machine. Pure.

For an EBS volume it is ``min(IOPS × min(block, 256 KiB), throughput limit)``, for all of a
machine's the lesser of their sum and of the machine's own limit (EC2 user guide: Amazon EBS
volume types, Amazon EBS-optimized instances).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from appliance.clouds.provider import NetworkLimits
from appliance.data import toml_rows
from appliance.model.disks import DiskKind
from appliance.model.measurement import Capability

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class VolumeType:
    """One row of ``volume_types.toml``, where the keys are explained."""

    name: str
    source: str
    checked: bool = True
    iops_base: float = 0
    iops_per_gib: float = 0
    iops_min: float = 0
    iops_max: float | None = None
    iops_default: float | None = None
    iops_burst: float | None = None
    mib_s_base: float = 0
    mib_s_per_gib: float = 0
    mib_s_per_iops: float = 0
    mib_s_max: float | None = None
    mib_s_default: float | None = None
    mib_s_small: float | None = None
    small_gib: float = 0
    mib_s_burst_per_gib: float | None = None
    mib_s_burst_max: float | None = None
    io_kib: int | None = None


@cache
def volume_types() -> dict[str, VolumeType]:
    """Network volume types by name."""
    return {row["name"]: VolumeType(**row) for row in toml_rows("volume_types.toml")}


@dataclass(frozen=True, slots=True)
class Volume:
    """One network volume: a type of ``volume_types.toml``, and what it was bought with.

    ``None`` is not known, or not bought apart.
    """

    type: str
    size_gib: float | None = None
    iops: float | None = None
    throughput_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Rates:
    """Upper bounds at one block size; ``None`` where there is none."""

    iops: float | None
    bytes_per_s: float | None


def published(
    volume: Volume | None,
    machine: NetworkLimits | None,
    *,
    machine_type: str,
    count: int,
    block_size_bytes: int | None,
    sequential: bool,
) -> Capability | None:
    """What ``count`` such volumes may do on this machine; ``None`` where nothing at all is known.

    The baseline is what is sustained, and bursts are what is possible while credits last (the same
    without credits). It is no limit where the figures of the type were not checked, or what one
    has for nothing stands in for what may have been bought. Small sequential I/Os are merged on the
    way and count as one, so that only throughput bounds them.
    """
    kind = volume_types().get(volume.type) if volume else None
    basis, sources, is_limit = [], [], True
    sustained = burst = Rates(None, None)
    if kind is not None and volume is not None:
        own = _volume(kind, volume, block_size_bytes, sequential=sequential)
        sustained, burst = (_times(rates, count) for rates in own)
        basis.append(f"{count} × {kind.name}" if count > 1 else kind.name)
        sources.append(kind.source)
        is_limit = kind.checked and not _assumed(kind, volume, block_size_bytes)
    if machine is not None:
        whole = Rates(machine.baseline_iops, machine.baseline_bytes_per_s)
        most = Rates(machine.max_iops, machine.max_bytes_per_s)
        sustained = _lesser(sustained, _at(whole, block_size_bytes, None, sequential=sequential))
        burst = _lesser(burst, _at(most, block_size_bytes, None, sequential=sequential))
        basis.append(f"{machine_type}'s limit for network volumes")
        sources.append(machine.source)
    if burst == Rates(None, None):
        return None
    return Capability(
        kind=DiskKind.NETWORK.value,
        iops=burst.iops,
        bytes_per_s=burst.bytes_per_s,
        baseline_iops=sustained.iops,
        baseline_bytes_per_s=sustained.bytes_per_s,
        burst_iops=burst.iops,
        burst_bytes_per_s=burst.bytes_per_s,
        member_iops=None if burst.iops is None else burst.iops / count,
        is_limit=is_limit,
        basis=basis[0] if len(basis) == 1 else f"the lesser of {' and '.join(basis)}",
        source="; ".join(sources),
    )


def _assumed(kind: VolumeType, volume: Volume, block_size_bytes: int | None) -> bool:
    """Whether what bounds this block size is only what one has of the type for nothing.

    Such a type has both bought apart; more may have been, of the one that is not told.
    """
    if kind.mib_s_default is None:
        return False
    if volume.iops and volume.throughput_bytes_per_s:
        return False
    if not (volume.iops or volume.throughput_bytes_per_s) or not block_size_bytes:
        return True
    iops = volume.iops or kind.iops_default or math.inf
    bytes_per_s = volume.throughput_bytes_per_s or kind.mib_s_default * MIB
    by_iops = iops * block_size_bytes <= bytes_per_s
    return not (volume.iops if by_iops else volume.throughput_bytes_per_s)


def _volume(
    kind: VolumeType, volume: Volume, block_size_bytes: int | None, *, sequential: bool
) -> tuple[Rates, Rates]:
    size = volume.size_gib
    iops = volume.iops or kind.iops_default
    if iops is None and size is not None and (kind.iops_base or kind.iops_per_gib):
        iops = max(kind.iops_min, kind.iops_base + kind.iops_per_gib * size)
        iops = min(iops, kind.iops_max or math.inf)
    throughput = volume.throughput_bytes_per_s or _throughput(kind, size, iops)
    burst_iops = iops
    if iops is not None and kind.iops_burst is not None:
        burst_iops = max(iops, kind.iops_burst)
    burst_throughput = throughput
    if size is not None and kind.mib_s_burst_per_gib is not None:
        burst_throughput = MIB * min(
            kind.mib_s_burst_per_gib * size, kind.mib_s_burst_max or math.inf
        )
    limits = Rates(iops, throughput), Rates(burst_iops, burst_throughput)
    sustained, burst = (
        _at(rates, block_size_bytes, kind.io_kib, sequential=sequential) for rates in limits
    )
    return sustained, burst


def _throughput(kind: VolumeType, size: float | None, iops: float | None) -> float | None:
    if kind.mib_s_default is not None:
        return kind.mib_s_default * MIB
    if kind.mib_s_small is not None and size is not None and size <= kind.small_gib:
        return kind.mib_s_small * MIB
    if (kind.mib_s_per_gib and size is None) or (
        kind.mib_s_per_iops and not kind.mib_s_base and iops is None
    ):
        return None if kind.mib_s_max is None else kind.mib_s_max * MIB
    by_size = kind.mib_s_base + kind.mib_s_per_gib * (size or 0)
    mib_s = max(by_size, kind.mib_s_per_iops * (iops or 0))
    return min(mib_s, kind.mib_s_max or math.inf) * MIB if mib_s else None


def _at(
    rates: Rates, block_size_bytes: int | None, io_kib: int | None, *, sequential: bool
) -> Rates:
    """Both bounds at one block size: each limits the other."""
    iops, bytes_per_s = rates.iops, rates.bytes_per_s
    if sequential:
        iops = None
    if block_size_bytes is None:
        return Rates(iops, bytes_per_s)
    if iops is not None and io_kib is not None:
        iops /= math.ceil(block_size_bytes / (io_kib * 1024))
    by_iops = None if iops is None else iops * block_size_bytes
    bytes_per_s = _least(bytes_per_s, by_iops)
    return Rates(
        None if bytes_per_s is None else bytes_per_s / block_size_bytes,
        bytes_per_s,
    )


def _times(rates: Rates, count: int) -> Rates:
    return Rates(
        None if rates.iops is None else rates.iops * count,
        None if rates.bytes_per_s is None else rates.bytes_per_s * count,
    )


def _lesser(first: Rates, second: Rates) -> Rates:
    return Rates(_least(first.iops, second.iops), _least(first.bytes_per_s, second.bytes_per_s))


def _least(*values: float | None) -> float | None:
    return min((value for value in values if value is not None), default=None)
