"""Where an executor reads and writes; tests give their own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from appliance import paths


@dataclass(frozen=True, slots=True)
class Places:
    """The files of one machine. ``units`` is where mount units go."""

    layout: Path = paths.LAYOUT_FILE
    db: Path = paths.HISTORY_DB
    state: Path = paths.STATE_FILE
    lock: Path = paths.LOCK_FILE
    plans: Path = paths.PLANS_DIR
    digests: Path = paths.DIGESTS_DIR
    progress: Path = paths.APPLY_FILE
    tuning: Path = paths.TUNING_FILE
    cpu_latency: Path = paths.CPU_LATENCY_FILE
    units: Path = paths.UNIT_DIR
    assembling: Path = paths.ASSEMBLING_FILE
    audit_spools: tuple[Path, ...] = paths.AUDIT_SPOOLS
