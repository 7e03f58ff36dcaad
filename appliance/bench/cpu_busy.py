"""How busy the machine's processors were, all of them together.

fio says what its own workers used. A database beside it, interrupts and the hypervisor's
share (steal) are in here only, and they are what keeps a queue from being full.
"""

from __future__ import annotations

from dataclasses import dataclass

import psutil  # type: ignore[import-untyped]


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Seconds since boot, summed over all processors (proc_stat(5))."""

    busy: float
    idle: float


def cpu_times() -> CpuTimes:
    """The times now. Waiting for I/O is idle: the processor was free for others.

    ``guest`` and ``guest_nice`` are in ``user`` and ``nice`` already.
    """
    now = psutil.cpu_times()
    return CpuTimes(
        busy=now.user + now.nice + now.system + now.irq + now.softirq + now.steal,
        idle=now.idle + now.iowait,
    )


def busy_percent(before: CpuTimes, after: CpuTimes) -> float | None:
    """The busy share of all processors between two readings, 0 to 100.

    ``None`` if no time has passed by these clocks, which tick 100 times a second.
    """
    # The kernel lets iowait step back a little.
    busy, idle = max(0.0, after.busy - before.busy), max(0.0, after.idle - before.idle)
    return 100 * busy / (busy + idle) if busy + idle > 0 else None
