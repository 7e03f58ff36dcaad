"""The codes of findings: stable words for automation, each with its area and severity. Pure.

A code is never reused for another meaning. docs/drift.md says of each what it means and what to
do; units/catalog has the same for ``journalctl -x``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from appliance.model.findings import Area, DriftSeverity

_C, _W, _N = DriftSeverity.CRITICAL, DriftSeverity.WARNING, DriftSeverity.NOTICE


@dataclass(frozen=True, slots=True)
class Code:
    """``title`` is a few words for a table."""

    name: str
    area: Area
    severity: DriftSeverity
    title: str


def _table(area: Area, rows: Mapping[str, tuple[DriftSeverity, str]]) -> dict[str, Code]:
    return {name: Code(name, area, severity, title) for name, (severity, title) in rows.items()}


CODES: Mapping[str, Code] = {
    **_table(
        Area.LAYOUT,
        {
            "ARRAY-BROKEN": (_C, "the array has lost a member and fails I/O"),
            "ARRAY-DEGRADED": (_C, "a mirrored array runs without a member"),
            "ARRAY-READONLY": (_W, "the array takes no writes"),
            "ARRAY-MISSING": (_C, "a volume that was up is gone"),
            "ARRAY-APPEARED": (_W, "an undeclared array or group"),
            "STRIPE-LEVEL": (_C, "the array has another level"),
            "STRIPE-CHUNK": (_W, "the stripe has another chunk"),
            "MEMBER-MISSING": (_C, "a member is gone"),
            "MEMBER-SWAPPED": (_C, "another disk is in a member's place"),
            "MEMBER-ORDER": (_C, "the members are in another order"),
            "MEMBER-COUNT": (_W, "the number of members is not the expected one"),
            "DISK-COUNT": (_W, "the machine has fewer or more local disks than its type"),
            "LVM-SEGMENTS": (_W, "the logical volume's stripes lie otherwise"),
            "HWRAID-STATE": (_C, "the RAID controller says that a drive is not optimal"),
            "FS-GEOMETRY": (_W, "the filesystem is not aligned or sized as it was made"),
            "FS-FAILED": (_C, "the filesystem has stopped because of errors"),
            "MOUNT-MISSING": (_C, "the volume is not mounted"),
            "MOUNT-SOURCE": (_C, "something else is mounted in the volume's place"),
            "MOUNT-COVERED": (_C, "something is mounted on top of the volume"),
            "MOUNT-OPTIONS": (_W, "the volume is mounted with other options"),
            "LINK-WRONG": (_W, "the link in /dev/stripewright is missing or leads elsewhere"),
        },
    ),
    **_table(
        Area.ENVIRONMENT,
        {
            "ENV-KERNEL": (_N, "another kernel"),
            "ENV-FIO": (_N, "another fio"),
            "ENV-MACHINE-TYPE": (_W, "another machine type"),
            "ENV-SCHEDULER": (_W, "another I/O scheduler"),
            "ENV-IO-TIMEOUT": (_W, "another I/O timeout"),
            "ENV-CSTATE": (_W, "the processors may sleep deeper, or less deep"),
            "ENV-FIRMWARE": (_W, "a disk has another firmware"),
            "DISK-HEALTH": (_C, "a disk warns of its own condition"),
        },
    ),
    **_table(
        Area.HOST,
        {
            "HOST-DISK-FULL": (_C, "the appliance's own disk is full"),
            "HOST-READ-ONLY": (_C, "the appliance's own disk is read-only"),
            "HOST-RUN": (_C, "/run is full or read-only"),
            "HOST-CLOCK": (_W, "the clock was set, or dates lie ahead of it"),
            "HOST-CRASHED": (_W, "the last boot ended without a shutdown"),
        },
    ),
    **_table(
        Area.PERFORMANCE,
        {
            "PERF-SLOWER": (_W, "a series has become slower"),
            "PERF-FASTER": (_N, "a series has become faster: waits for approval"),
            "PERF-LATENCY-MODE": (_W, "some I/Os have become much slower than the rest"),
            "PERF-MEMBER": (_W, "one member is slower than the others"),
            "PERF-BELOW-PUBLISHED": (_W, "the stripe does not do what is published for it"),
            "RUNS-MISSING": (_W, "scheduled runs no longer give valid results"),
        },
    ),
}
