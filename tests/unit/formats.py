"""Formats: of others, as bytes for files that stand in for disks, and what others read of ours."""

from __future__ import annotations

import struct

# Where LVM writes the label, of the places where it looks for one.
LABEL_BYTES = 512
# What programs read of each result, whether it was measured or imported: none may go away.
RESULT_KEYS = {
    "job",
    "direction",
    "block_size_bytes",
    "iops",
    "bandwidth_bytes",
    "latency_mean_ns",
    "percentiles_ns",
    "runtime_ms",
    "queue_depth_asked",
    "queue_depth_seen",
    "device",
    "members",
    "coverage",
    "corrected_iops",
    "valid",
    "findings",
}


def physical_volume(size_bytes: int, data_at: int) -> bytes:
    """An LVM label and its header: one data area at ``data_at``, or none if that is 0."""
    label = struct.pack("<8sQII8s", b"LABELONE", 1, 0, 32, b"LVM2 001")
    return label + b"u" * 32 + struct.pack("<QQQ", size_bytes, data_at, 0)
