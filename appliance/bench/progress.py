"""How far a run is: as one line, and as JSON. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass

from appliance.bench.suite import RESERVED_NAMES
from appliance.figures import sampling
from appliance.model.runs import Sample

_BAR_WIDTH = 20


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is now.

    ``phase`` is ``check``, ``prepare`` or a job's name; ``job_index`` counts measurements
    from 1 while one runs and is 0 before. ``phase_seconds`` is how long the phase is expected
    to take, ``left_seconds`` the whole run from now on; ``total_elapsed_seconds`` is since it
    began. Rates are the stripe's last one-second sample, ``members`` those of its disks.
    ``member`` is the one disk that is being measured, empty for the stripe. ``minute`` is
    what the stripe did in the last whole minute.
    """

    run_id: int
    suite: str
    phase: str
    job_index: int
    job_count: int
    elapsed_seconds: float
    phase_seconds: float
    left_seconds: float
    read_iops: float = 0.0
    write_iops: float = 0.0
    bytes_per_s: float = 0.0
    total_elapsed_seconds: float = 0.0
    pass_index: int = 1
    passes: int = 1
    member: str = ""
    members: tuple[Sample, ...] = ()
    minute: sampling.Minute | None = None

    @property
    def share(self) -> float:
        """How much of the whole run is done, 0 to 1, by time."""
        total = self.total_elapsed_seconds + self.left_seconds
        return min(1.0, self.total_elapsed_seconds / total) if total > 0 else 0.0


def progress_line(progress: Progress, width: int) -> str:
    """One line of at most ``width`` columns, plain ASCII so that any terminal shows it.

    The bar is the whole run, the seconds are the phase's. What matters less goes first when
    there is no room: the rates, then the bar. Without a sample there are no rates.
    """
    step = f"{progress.job_index}/{progress.job_count}" if progress.job_index else "-"
    head = f"{progress.suite} {step} {progress.phase}"
    if progress.member:
        head += f" on {progress.member}"
    time = f"{progress.elapsed_seconds:.0f}/{progress.phase_seconds:.0f} s"
    left = f"{progress.share * 100:.0f} %, {_clock(progress.left_seconds)} left"
    filled = round(_BAR_WIDTH * progress.share)
    bar = f"[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}]"
    rates = (
        f"{progress.read_iops:,.0f} r/s {progress.write_iops:,.0f} w/s "
        f"{progress.bytes_per_s / 1e6:,.0f} MB/s"
    )
    sampled = progress.members or progress.bytes_per_s
    for parts in (
        (head, time, bar, left, *([rates] if sampled else [])),
        (head, time, bar, left),
        (head, time, left),
    ):
        line = "  ".join(parts)
        if len(line) <= width:
            return line
    return line[: max(0, width)]


def progress_json(progress: Progress) -> str:
    """One JSON object on one line, for programs that follow a run."""
    return json.dumps(
        {
            "run": progress.run_id,
            "suite": progress.suite,
            "phase": progress.phase,
            "job": None if progress.phase in RESERVED_NAMES else progress.phase,
            "job_index": progress.job_index,
            "job_count": progress.job_count,
            "pass": progress.pass_index,
            "passes": progress.passes,
            "member": progress.member or None,
            "elapsed_seconds": round(progress.elapsed_seconds, 3),
            "left_seconds": round(max(0.0, progress.phase_seconds - progress.elapsed_seconds), 3),
            "total_elapsed_seconds": round(progress.total_elapsed_seconds, 3),
            "total_left_seconds": round(progress.left_seconds, 3),
            "read_iops": round(progress.read_iops, 1),
            "write_iops": round(progress.write_iops, 1),
            "bytes_per_s": round(progress.bytes_per_s),
            "members": [
                {
                    "device": sample.device,
                    "read_iops": sample.read_iops,
                    "write_iops": sample.write_iops,
                    "bytes_per_s": sample.read_bytes_per_s + sample.write_bytes_per_s,
                    "await_ms": sample.await_ms,
                    "util": sample.util,
                }
                for sample in progress.members
            ],
            "minute": None if progress.minute is None else sampling.minute_to_json(progress.minute),
        },
        separators=(",", ":"),
    )


def _clock(seconds: float) -> str:
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    if hours:
        return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"
    return f"{rest // 60}:{rest % 60:02d}"
