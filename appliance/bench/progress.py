"""How far a run is, and that as one line. Pure."""

from __future__ import annotations

from dataclasses import dataclass

_BAR_WIDTH = 20


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a run is now.

    ``phase`` is ``check``, ``prepare`` or a job's name; ``job_index`` counts from 1 while a
    job runs and is 0 before. ``phase_seconds`` is how long the phase is expected to take.
    Rates are the stripe's last one-second sample.
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


def progress_line(progress: Progress, width: int) -> str:
    """One line of at most ``width`` columns, plain ASCII so that any terminal shows it.

    What matters less goes first when there is no room: the rates, then the bar.
    """
    step = f"{progress.job_index}/{progress.job_count}" if progress.job_index else "-"
    head = f"{progress.suite} {step} {progress.phase}"
    time = f"{progress.elapsed_seconds:.0f}/{progress.phase_seconds:.0f} s"
    left = f"{_clock(progress.left_seconds)} left"
    share = progress.elapsed_seconds / progress.phase_seconds if progress.phase_seconds else 0.0
    filled = round(_BAR_WIDTH * min(1.0, max(0.0, share)))
    bar = f"[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}]"
    rates = (
        f"{progress.read_iops:,.0f} r/s {progress.write_iops:,.0f} w/s "
        f"{progress.bytes_per_s / 1e6:,.0f} MB/s"
    )
    for parts in ((head, bar, time, left, rates), (head, bar, time, left), (head, time, left)):
        line = "  ".join(parts)
        if len(line) <= width:
            return line
    return line[: max(0, width)]


def _clock(seconds: float) -> str:
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02d}"
