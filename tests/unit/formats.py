"""Formats of others, as bytes for files that stand in for disks."""

from __future__ import annotations

import struct

# Where LVM writes the label, of the places where it looks for one.
LABEL_BYTES = 512


def physical_volume(size_bytes: int, data_at: int) -> bytes:
    """An LVM label and its header: one data area at ``data_at``, or none if that is 0."""
    label = struct.pack("<8sQII8s", b"LABELONE", 1, 0, 32, b"LVM2 001")
    return label + b"u" * 32 + struct.pack("<QQQ", size_bytes, data_at, 0)
