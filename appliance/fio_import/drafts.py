"""What a parser found in one fio report, before anything is concluded from it.

Mutable, because a report is read line by line and a terminal may have broken a line in
two. Everything is in SI units already; ``None`` and empty mean that the text did not say.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from appliance.fio_import.units_printed import Printed
from appliance.model import DeviceIo

DIRECTIONS = ("read", "write", "trim", "mixed")


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
