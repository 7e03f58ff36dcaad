"""Honest measurements of many kinds: no rule may block one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.validity_set import deeds
from tests.validity_set.record import MIB, Ask, Case, Label

KIB = 1024


def published(factor: float, kind: str = "instance-store") -> Any:
    """A published figure that makes what was measured ``factor`` of it."""

    def capability(iops: float) -> Mapping[str, Any]:
        return {"kind": kind, "iops": round(iops / factor), "basis": "made up for this case"}

    return capability


def _fine(why: str, *allow: str) -> Label:
    return Label(why, allow=allow)


# The guest has one processor, which long queues of small blocks fill: the result says so
# and stays valid.
BUSY = "CPU"
_QD1 = ("DEPTH", "CPU")

CASES = (
    # ---- one disk, raw
    Case("001-raw-randread-4k-qd1", "disk", Ask("randread", 4 * KIB, 1, 1, "io_uring"),
         _fine("one I/O at a time on one raw disk", *_QD1)),
    Case("002-raw-randread-4k-qd32", "disk", Ask("randread", 4 * KIB, 32, 1, "io_uring"),
         _fine("a full queue on one raw disk, just at what it is sold with", BUSY, "CAP"),
         capability=published(1.0)),
    Case("003-raw-randwrite-4k-qd16", "disk", Ask("randwrite", 4 * KIB, 16, 1, "libaio"),
         _fine("random writes on one raw disk, 10 % above what it is sold with", BUSY, "CAP"),
         capability=published(1.1)),
    Case("004-raw-read-1m-qd4", "disk", Ask("read", MIB, 4, 1, "libaio"),
         _fine("sequential reads; the kernel splits each into several requests", BUSY)),
    Case("005-raw-write-128k-qd8-text", "disk", Ask("write", 128 * KIB, 8, 1, "libaio"),
         _fine("sequential writes, by hand", BUSY), form="text"),
    Case("006-raw-randrw-4k-qd8-json", "disk", Ask("randrw", 4 * KIB, 8, 1, "libaio"),
         _fine("70 % reads, 30 % writes, by hand", BUSY), form="json",
         extra=("--rwmixread=70",)),
    Case("007-raw-randread-8k-4-jobs-psync-text", "disk", Ask("randread", 8 * KIB, 1, 4, "psync"),
         _fine("four psync workers of depth 1 are a depth of 4", *_QD1), form="text"),
    Case("008-raw-read-4m-psync-text", "disk", Ask("read", 4 * MIB, 1, 1, "psync"),
         _fine("large blocks, one at a time", *_QD1), form="text", file_bytes=200 * MIB),
    Case("009-raw-randread-4k-qd64-2-jobs", "disk", Ask("randread", 4 * KIB, 64, 2, "io_uring"),
         _fine("more than the disk's own queue holds: the rest waits in the kernel", BUSY)),
    Case("010-raw-randwrite-16k-qd4", "disk", Ask("randwrite", 16 * KIB, 4, 1,
         "io_uring"), _fine("16k random writes", BUSY)),
    # ---- one disk, XFS and ext4
    Case("011-xfs-randread-4k-qd1-psync", "disk-xfs", Ask("randread", 4 * KIB, 1, 1, "psync"),
         _fine("the latency probe: one small read after the other", *_QD1)),
    Case("012-xfs-randread-4k-qd8-4-jobs", "disk-xfs", Ask("randread", 4 * KIB, 8, 4, "libaio"),
         _fine("four workers with their own files", BUSY)),
    Case("013-xfs-randwrite-4k-qd8-4-jobs", "disk-xfs", Ask("randwrite", 4 * KIB, 8, 4, "io_uring"),
         _fine("overwriting files that are written already", BUSY)),
    Case("014-xfs-write-1m-qd8-text", "disk-xfs", Ask("write", MIB, 8, 1, "libaio"),
         _fine("sequential, by hand", BUSY), form="text"),
    Case("015-xfs-randrw-16k-qd4-2-jobs", "disk-xfs", Ask("randrw", 16 * KIB, 4, 2, "io_uring"),
         _fine("reads and writes half and half", BUSY)),
    Case("016-xfs-randrw-16k-text", "disk-xfs", Ask("randrw", 16 * KIB, 1, 2, "psync"),
         _fine("two psync workers, reads and writes half and half", *_QD1), form="text"),
    Case("017-xfs-read-by-size-text", "disk-xfs", Ask("read", 64 * KIB, 8, 4, "libaio", True, None),
         _fine("bounded by size: short because there was no more to do", BUSY), form="text",
         extra=("--loops=24",)),
    Case("018-xfs-rewrite-by-size-json", "disk-xfs",
         Ask("write", 256 * KIB, 4, 4, "libaio", True, None),
         _fine("bounded by size, in json+", BUSY), form="json+", extra=("--loops=64",)),
    Case("019-xfs-randread-128k-1s", "disk-xfs", Ask("randread", 128 * KIB, 4, 1, "libaio", True,
         1.0), _fine("one second, as long as asked", BUSY)),
    Case("020-ext4-randread-4k-qd16", "disk-ext4", Ask("randread", 4 * KIB, 16, 1, "io_uring"),
         _fine("ext4 on a plain disk", BUSY)),
    Case("021-ext4-randwrite-8k-4-jobs", "disk-ext4", Ask("randwrite", 8 * KIB, 4, 4, "libaio"),
         _fine("the 8k four-job set on ext4", BUSY)),
    Case("022-ext4-randwrite-8k-psync-text", "disk-ext4", Ask("randwrite", 8 * KIB, 1, 4, "psync"),
         _fine("psync with depth 1 says what it does", *_QD1), form="text"),
    Case("023-ext4-read-512k-json", "disk-ext4", Ask("read", 512 * KIB, 4, 2, "libaio"),
         _fine("sequential reads by two workers", BUSY), form="json"),
    Case("024-ext4-direct-write-fsync-text", "disk-ext4", Ask("randwrite", 4 * KIB, 1, 1, "psync"),
         _fine("a database's log: the journal writes as much as fio does, and that is no "
               "foreign load", *_QD1), form="text", extra=("--fsync=1",)),
    # ---- md RAID0 of four
    Case("025-md-randread-4k-qd32-4-jobs", "md-xfs", Ask("randread", 4 * KIB, 32, 4, "io_uring"),
         _fine("the stripe with full queues", BUSY)),
    Case("026-md-randwrite-4k-qd32", "md-xfs", Ask("randwrite", 4 * KIB, 32, 1, "libaio"),
         _fine("random writes over four members", BUSY)),
    Case("027-md-read-1m-qd8", "md-xfs", Ask("read", MIB, 8, 1, "io_uring"),
         _fine("each read is cut at the chunks and goes to all members", BUSY)),
    Case("028-md-write-4m-psync-text", "md-xfs", Ask("write", 4 * MIB, 1, 4, "psync"),
         _fine("the 4M psync set", *_QD1), form="text"),
    Case("029-md-write-64k-psync-text", "md-xfs", Ask("randwrite", 64 * KIB, 1, 4, "psync"),
         _fine("the 64k psync set", *_QD1), form="text"),
    Case("030-md-randrw-16k-qd8-json", "md-xfs", Ask("randrw", 16 * KIB, 8, 2, "libaio"),
         _fine("mixed on the stripe, json+", BUSY), form="json+"),
    Case("031-md-randread-4k-qd1", "md-xfs", Ask("randread", 4 * KIB, 1, 1, "io_uring"),
         _fine("the stripe one I/O at a time: each member has a quarter", *_QD1)),
    Case("032-md-randread-16k-text", "md-xfs", Ask("randread", 16 * KIB, 16, 2, "libaio"),
         _fine("by hand on the stripe", BUSY), form="text"),
    Case("033-md-raw-randread-4k-qd64", "md", Ask("randread", 4 * KIB, 64, 1, "io_uring"),
         _fine("the array itself, without a filesystem", BUSY), file_bytes=200 * MIB),
    Case("034-md-raw-write-256k-qd8", "md", Ask("write", 256 * KIB, 8, 1, "libaio"),
         _fine("the array itself, sequential writes", BUSY), file_bytes=200 * MIB),
    Case("035-steady-randread-12s", "delayed",
         Ask("randread", 4 * KIB, 4, 1, "io_uring", True, 12.0),
         _fine("a full-suite job on a disk of even latency, which looks as if a limiter made it "
               "so", BUSY, "CAP"), full_suite=True),
    Case("036-md-steady-under-a-limit-12s", "md-xfs",
         Ask("randread", 16 * KIB, 16, 1, "libaio", True, 12.0),
         _fine("a full-suite job that is steady because io.max keeps it so", BUSY, "CAP"),
         full_suite=True, limit=deeds.io_max("riops=200")),
    Case("049-steady-write-12s", "delayed", Ask("write", 64 * KIB, 2, 1, "libaio", True, 12.0),
         _fine("a full-suite job on an even disk, writes", BUSY), full_suite=True),
    Case("050-lvm-steady-rate-12s", "lvm-stripe-xfs",
         Ask("randrw", 8 * KIB, 1, 2, "psync", True, 12.0),
         _fine("a full-suite job at a fixed rate, reads and writes", *_QD1), full_suite=True,
         extra=("--rate_iops=200",)),
    # ---- LVM
    Case("037-lvm-linear-randread-4k", "lvm-ext4", Ask("randread", 4 * KIB, 8, 2, "libaio"),
         _fine("a linear volume on one disk", BUSY)),
    Case("038-lvm-stripe-randread-16k", "lvm-stripe-xfs", Ask("randread", 16 * KIB, 16, 1,
         "io_uring"), _fine("an LVM stripe of two", BUSY)),
    Case("039-lvm-stripe-write-256k-text", "lvm-stripe-xfs", Ask("write", 256 * KIB, 8, 1,
         "libaio"), _fine("an LVM stripe of two, by hand", BUSY), form="text"),
    Case("040-lvm-stripe-randrw-4k-json", "lvm-stripe-xfs", Ask("randrw", 4 * KIB, 4, 2, "libaio"),
         _fine("an LVM stripe of two, json+", BUSY), form="json+", extra=("--rwmixread=70",)),
    # ---- looks wrong, and is not
    Case("055-buffered-reads-from-the-disk-text", "disk-xfs",
         Ask("read", 64 * KIB, 1, 1, "psync", False),
         _fine("direct=0, but fio drops the cache at each pass and every byte comes from the "
               "disk", *_QD1), form="text", before=deeds.cold),
    Case("056-ramp-time-text", "disk-xfs", Ask("randread", 4 * KIB, 4, 1, "libaio"),
         _fine("ramp_time: the disks count more than fio does", BUSY), form="text",
         extra=("--ramp_time=2",)),
    Case("057-rate-limited-text", "disk-ext4", Ask("randread", 4 * KIB, 1, 1, "psync"),
         _fine("rate_iops=500: the worker waits between two I/Os, the latency stands", *_QD1),
         form="text", extra=("--rate_iops=500",)),
    Case("058-raw-randread-512", "disk", Ask("randread", 512, 4, 1, "libaio"),
         _fine("blocks of one sector", BUSY), form="json"),
    Case("059-even-disk-randread", "delayed", Ask("randread", 4 * KIB, 16, 1, "libaio"),
         _fine("dm-delay of 10 ms below everything: a slow disk with even latencies", BUSY,
               "CAP")),
    Case("060-even-disk-write-text", "delayed", Ask("write", 64 * KIB, 1, 1, "psync"),
         _fine("the same, one at a time, by hand", *_QD1), form="text"),
    # ---- only pasted: nothing is known but the report
    Case("061-each-job-by-itself-text", "disk-xfs", Ask("randread", 4 * KIB, 4, 4, "libaio"),
         Label("four reports of four workers; the disk did the I/O of all of them",
               allow=(BUSY,), results=4), form="text", pasted=True,
         extra=("--group_reporting=0",)),
    Case("062-block-sizes-mixed-text", "disk-xfs", Ask("randread", 4 * KIB, 4, 1, "libaio"),
         _fine("bssplit: IOPS × 4 KiB is not the bandwidth and need not be", BUSY), form="text",
         pasted=True, extra=("--bssplit=4k/60:64k/40",)),
    Case("063-status-interval-json", "disk-xfs", Ask("randread", 16 * KIB, 4, 1, "libaio"),
         _fine("a report each second, each over all the time before it", BUSY), form="json",
         extra=("--status-interval=1",)),
    Case("064-status-interval-text", "disk-xfs", Ask("randwrite", 16 * KIB, 4, 1, "libaio"),
         _fine("the same as text", BUSY), form="text", extra=("--status-interval=1",)),
    Case("065-two-block-sizes-text", "disk-xfs", Ask("randrw", 8 * KIB, 4, 1, "libaio"),
         _fine("bs=4k,16k: reads and writes of different sizes", BUSY), form="text", pasted=True,
         extra=("--bs=4k,16k",)),
)  # fmt: skip

HOST_CASES = (
    Case("041-loop-xfs-randread-4k-qd1", "loop-xfs", Ask("randread", 4 * KIB, 1, 1, "io_uring"),
         _fine("a loop device over a file of a cloud disk", *_QD1)),
    Case("042-loop-xfs-randread-4k-qd16", "loop-xfs", Ask("randread", 4 * KIB, 16, 1, "libaio"),
         _fine("a loop device with a queue", BUSY)),
    Case("043-loop-xfs-randwrite-16k-2-jobs-text", "loop-xfs",
         Ask("randwrite", 16 * KIB, 4, 2, "io_uring"),
         _fine("by hand with io_uring", BUSY), form="text"),
    Case("044-loop-ext4-read-1m-qd4", "loop-ext4", Ask("read", MIB, 4, 1, "libaio"),
         _fine("sequential reads of a real disk", BUSY)),
    Case("045-loop-ext4-write-128k-json", "loop-ext4", Ask("write", 128 * KIB, 4, 1, "libaio"),
         _fine("sequential writes to a real disk", BUSY), form="json"),
    Case("046-loop-raw-randrw-8k", "loop", Ask("randrw", 8 * KIB, 8, 1, "io_uring"),
         _fine("the loop device itself, half reads, half writes", BUSY), file_bytes=200 * MIB),
    Case("047-loop-xfs-8-jobs-psync-text", "loop-xfs", Ask("randread", 4 * KIB, 1, 8, "psync"),
         _fine("eight psync workers of depth 1", *_QD1), form="text"),
    Case("048-loop-xfs-sync-write-text", "loop-xfs", Ask("randwrite", 4 * KIB, 1, 1, "sync"),
         _fine("O_SYNC-free direct writes, one at a time, by the sync engine", *_QD1),
         form="text"),
    Case("051-old-fio-randread-4k-text", "loop-xfs-old", Ask("randread", 4 * KIB, 8, 2, "libaio"),
         _fine("fio 2.14: KB means 1024 and is only converted", BUSY), form="text"),
    Case("052-old-fio-write-64k-psync-text", "loop-xfs-old",
         Ask("randwrite", 64 * KIB, 1, 4, "psync"),
         _fine("fio 2.14, the psync set", *_QD1), form="text"),
    Case("053-old-fio-randrw-4k-text", "loop-xfs-old", Ask("randrw", 4 * KIB, 8, 1, "libaio"),
         _fine("fio 2.14, reads and writes in one report", BUSY), form="text",
         extra=("--rwmixread=75",)),
    Case("054-old-fio-read-1m-by-size-text", "loop-xfs-old",
         Ask("read", MIB, 4, 2, "libaio", True, None),
         _fine("fio 2.14, bounded by size", BUSY), form="text",
         extra=("--loops=60",)),
)  # fmt: skip
