"""Misuse, trouble and limits: what fio reports here is not what the disks can do."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable

from tests.validity_set import deeds
from tests.validity_set.good import BUSY, KIB, published
from tests.validity_set.record import MIB, Ask, Case, Label


def _wrong(why: str, *expect: str, allow: tuple[str, ...] = (BUSY,), alone: tuple[str, ...] = (),
           results: int = 1, edited: str = "") -> Label:  # fmt: skip
    return Label(why, False, expect, allow, alone, results, edited)


def _noted(why: str, *expect: str, allow: tuple[str, ...] = (BUSY, "DEPTH")) -> Label:
    """Valid, with a warning or a label that must be there."""
    return Label(why, True, expect, allow)


# What comes with a page cache that answers: no depth, no disk's latency, a busy processor.
_CACHE = (BUSY, "DEPTH", "IMPOSSIBLE")
_READ = Ask("randread", 4 * KIB, 8, 1, "libaio")


def _network(iops: int, burst: int | None = None) -> dict[str, object]:
    made = {"kind": "network", "iops": iops, "baseline_iops": iops,
            "basis": "the io.max that was set for this case"}  # fmt: skip
    return made | ({"iops": burst, "burst_iops": burst} if burst else {})


def _network_bytes(bytes_per_s: int) -> dict[str, object]:
    return {"kind": "network", "bytes_per_s": bytes_per_s, "baseline_bytes_per_s": bytes_per_s,
            "basis": "the io.max that was set for this case"}  # fmt: skip


def _ten_times_iops(text: str) -> str:
    return re.sub(r"IOPS=([\d.]+)", lambda m: f"IOPS={float(m[1]) * 10:g}", text)


def _bits(text: str) -> str:
    """Eight times the bandwidth, as who takes bits for bytes."""
    return re.sub(
        r"BW=([\d.]+)(\w+/s) \(([\d.]+)",
        lambda m: f"BW={float(m[1]) * 8:.1f}{m[2]} ({float(m[3]) * 8:.1f}",
        text,
    )


def _half_bytes(text: str) -> str:
    return re.sub(
        r'("bw_bytes" : )(\d+)', lambda m: m[1] + str(int(m[2]) // 2) if int(m[2]) else m[0], text
    )


def _slow_latency(text: str) -> str:
    """A mean latency five times as long as was measured."""
    return re.sub(
        r"( lat \(usec\): min=.*avg=\s*)([\d.]+)", lambda m: f"{m[1]}{float(m[2]) * 5:.2f}", text
    )


def _cut_at(share: float) -> Callable[[str], str]:
    return lambda text: text[: round(len(text) * share)]


def _before_figures(text: str) -> str:
    return text[: text.index("(groupid=")]


CASES = (
    # ---- nothing on the disk to be read
    Case("101-sparse-run", "disk-xfs", Ask("randread", 4 * KIB, 8, 1, "io_uring"),
         _wrong("a file of holes", "COVERAGE", allow=_CACHE),
         files="sparse", before=deeds.sparse),
    Case("102-sparse-text", "disk-ext4", Ask("randread", 4 * KIB, 16, 1, "libaio"),
         _wrong("a file of holes, by hand", "COVERAGE", allow=_CACHE, alone=("COVERAGE",)),
         form="text", files="sparse", before=deeds.sparse),
    Case("103-unwritten-run", "md-xfs", Ask("read", MIB, 4, 2, "libaio"),
         _wrong("fallocate gives space and no data; zeros are read", "COVERAGE", allow=_CACHE),
         files="unwritten", before=deeds.unwritten),
    Case("104-unwritten-json", "disk-ext4", Ask("randread", 16 * KIB, 8, 2, "io_uring"),
         _wrong("fallocate gives space and no data", "COVERAGE", allow=_CACHE,
                alone=("COVERAGE",)),
         form="json", files="unwritten", before=deeds.unwritten),
    Case("105-half-written-run", "disk-xfs", Ask("randread", 4 * KIB, 8, 1, "io_uring"),
         _wrong("half the file is a hole", "COVERAGE", allow=_CACHE),
         files="partly", before=deeds.partly(0.5)),
    Case("106-tenth-hole-text", "disk-xfs", Ask("randread", 16 * KIB, 4, 1, "libaio"),
         _wrong("an eighth of the file is a hole", "COVERAGE", allow=_CACHE),
         form="text", files="partly", before=deeds.partly(21 / 24)),
    Case("107-md-half-written-json", "md-xfs", Ask("randread", 64 * KIB, 8, 1, "libaio"),
         _wrong("half the file is a hole, on a stripe", "COVERAGE", allow=_CACHE,
                alone=("COVERAGE",)),
         form="json+", files="partly", before=deeds.partly(0.5)),
    # ---- the page cache answers
    Case("108-cached-psync-text", "disk-xfs", Ask("randread", 4 * KIB, 1, 1, "psync", False),
         _wrong("direct=0 and the file is in memory", "COVERAGE", allow=_CACHE,
                alone=("COVERAGE",)),
         form="text", before=deeds.hot, extra=("--invalidate=0",)),
    Case("109-cached-libaio-run", "disk-ext4", Ask("randread", 4 * KIB, 16, 1, "libaio", False),
         _wrong("direct=0: libaio is synchronous and the file is in memory", "COVERAGE", "DEPTH",
                allow=_CACHE),
         before=deeds.hot, extra=("--invalidate=0",)),
    Case("110-cached-4-jobs-json", "md-xfs", Ask("read", 128 * KIB, 1, 4, "psync", False),
         _wrong("four workers read the page cache", "COVERAGE", allow=_CACHE,
                alone=("COVERAGE",)),
         form="json", before=deeds.hot, extra=("--invalidate=0",)),
    Case("112-buffered-write-json", "disk-ext4", Ask("write", 64 * KIB, 1, 1, "psync", False, 2.0),
         _wrong("direct=0 writes into memory, and no disk has it when fio ends", "COVERAGE",
                allow=_CACHE), form="json", files="dirty", file_bytes=120 * MIB,
         before=deeds.lazy_writeback, extra=("--rate=40m", "--fallocate=none")),
    # ---- a depth that was not there
    Case("113-psync-depth-8-text", "md-xfs", Ask("randwrite", 64 * KIB, 8, 4, "psync"),
         _wrong("psync ignores iodepth=8", "DEPTH", alone=("DEPTH",)), form="text"),
    Case("114-psync-depth-32-json", "disk-xfs", Ask("randread", 4 * KIB, 32, 1, "psync"),
         _wrong("psync ignores iodepth=32", "DEPTH", alone=("DEPTH",)), form="json"),
    Case("115-psync-depth-8-run", "disk-ext4", Ask("randwrite", 8 * KIB, 8, 2, "psync"),
         _wrong("psync ignores iodepth=8", "DEPTH")),
    Case("116-pvsync2-depth-16-text", "disk-ext4", Ask("randread", 4 * KIB, 16, 2, "pvsync2"),
         _wrong("pvsync2 is as synchronous as psync", "DEPTH", alone=("DEPTH",)), form="text"),
    Case("117-psync-depth-2-text", "disk-xfs", Ask("randread", 4 * KIB, 2, 4, "psync"),
         _wrong("psync ignores iodepth=2 as well", "DEPTH", alone=("DEPTH",)), form="text"),
    Case("118-libaio-buffered-cold-text", "disk-xfs",
         Ask("randread", 4 * KIB, 32, 4, "libaio", False, None),
         _wrong("direct=0: libaio does one at a time, though each comes from the disk", "DEPTH",
                allow=("COVERAGE", *_CACHE, "FOREIGN"), alone=("DEPTH",)),
         form="text", before=deeds.cold),
    Case("119-thinktime-text", "disk-xfs", Ask("randread", 4 * KIB, 16, 1, "libaio"),
         _wrong("thinktime lets the queue run empty", "DEPTH", alone=("DEPTH",)), form="text",
         extra=("--thinktime=2000", "--thinktime_blocks=16")),
    Case("180-psync-depth-each-job-text", "disk-xfs", Ask("randread", 4 * KIB, 8, 2, "psync"),
         _wrong("psync ignores iodepth=8, each worker reported by itself", "DEPTH", results=2),
         form="text", pasted=True, extra=("--group_reporting=0",)),
    # ---- another device
    Case("120-not-mounted-run", "root", Ask("randread", 4 * KIB, 8, 1, "libaio"),
         _wrong("the volume is not mounted: the directory lies on the root disk", "TARGET",
                allow=(BUSY, "FOREIGN", "IMPOSSIBLE", "DEPTH")), expected=("md0",)),
    Case("121-other-disk-run", "other-disk", Ask("randread", 4 * KIB, 8, 1, "io_uring"),
         _wrong("another disk than the volume's", "TARGET"), expected=("sda",)),
    Case("122-one-member-only-text", "disk", Ask("randread", 4 * KIB, 16, 1, "libaio"),
         _wrong("one member was measured, the stripe was meant", "TARGET"), form="text",
         expected=("md0",)),
    Case("123-other-filesystem-json", "disk-ext4", Ask("randwrite", 16 * KIB, 4, 1, "libaio"),
         _wrong("another filesystem than the volume's", "TARGET"), form="json",
         expected=("dm-0",)),
    # ---- others on the disks
    Case("124-second-fio-run", "disk-xfs", _READ,
         _wrong("a second fio reads the same disk", "FOREIGN", allow=(BUSY, "DEPTH")),
         beside=deeds.second_fio("randread", "4k", 8)),
    Case("125-backup-beside-text", "disk-xfs", _READ,
         _wrong("dd writes to the same disk while it is read", "FOREIGN",
                allow=(BUSY, "DEPTH")), form="text", beside=deeds.dd_writer),
    Case("126-member-read-run", "md-xfs", _READ,
         _wrong("dd reads one member below the stripe", "FOREIGN",
                allow=(BUSY, "DEPTH", "MEMBER")), beside=deeds.dd_reader("/dev/sda")),
    Case("127-writes-beside-writes-run", "disk-ext4", Ask("randwrite", 8 * KIB, 4, 2, "libaio"),
         _wrong("a second fio writes to the same disk", "FOREIGN", allow=(BUSY, "DEPTH")),
         beside=deeds.second_fio("randwrite", "8k", 8)),
    Case("128-a-tenth-beside-json", "disk-xfs", Ask("randread", 4 * KIB, 4, 1, "io_uring"),
         _wrong("a slow second reader takes a part of the disk", "FOREIGN",
                allow=(BUSY, "DEPTH")), form="json+",
         beside=deeds.second_fio("randread", "4k", 1, "--rate_iops=3000")),
    Case("170-slow-writer-beside-run", "disk-xfs", _READ,
         _wrong("another program writes 10 MB/s in large blocks: few requests, and a tenth of "
                "the bytes", "FOREIGN", allow=(BUSY, "DEPTH")),
         beside=deeds.second_fio("write", "1m", 1, "--rate=10m")),
    Case("169-lazy-init-text", "disk-ext4-lazy",
         Ask("randread", 4 * KIB, 1, 1, "psync", True, 12.0),
         _wrong("ext4 made a moment ago: the kernel is still writing its inode tables", "FOREIGN",
                allow=(BUSY, "DEPTH"), alone=("FOREIGN",)), form="text",
         extra=("--rate_iops=300",)),
    # ---- limits that were set, and known
    Case("129-cap-iops-run", "disk-xfs", Ask("randread", 4 * KIB, 16, 1, "libaio", True, 5.0),
         _noted("io.max riops=2000, as a volume is provisioned", "CAP"),
         limit=deeds.io_max("riops=2000"), capability=_network(2000)),
    Case("130-cap-bandwidth-run", "disk-xfs", Ask("read", 256 * KIB, 8, 1, "libaio", True, 5.0),
         _noted("io.max rbps=125 MB/s, as a volume is provisioned", "CAP"),
         limit=deeds.io_max("rbps=125000000"), capability=_network_bytes(125_000_000)),
    Case("131-cap-md-writes-run", "md-xfs", Ask("randwrite", 16 * KIB, 64, 1, "io_uring", True,
         5.0), _noted("io.max wiops=300 on each of four members", "CAP"),
         limit=deeds.io_max("wiops=300"), capability=_network(1200)),
    Case("132-cap-iops-text", "disk-ext4", Ask("randwrite", 4 * KIB, 32, 1, "libaio", True, 5.0),
         _noted("io.max wiops=1000, by hand", "CAP"), form="text",
         limit=deeds.io_max("wiops=1000"), capability=_network(1000)),
    Case("133-below-the-cap-run", "disk-xfs", Ask("randread", 4 * KIB, 1, 1, "io_uring"),
         Label("a limit that was not reached", allow=("DEPTH", "CPU")),
         capability=_network(64000)),
    # ---- a member that is not like the others
    Case("134-slow-member-randread-run", "md-slow", Ask("randread", 4 * KIB, 16, 1, "io_uring"),
         _noted("dm-delay of 10 ms below one member", "MEMBER")),
    Case("135-slow-member-randwrite-text", "md-slow", Ask("randwrite", 16 * KIB, 4, 2, "libaio"),
         _noted("dm-delay of 10 ms below one member, by hand", "MEMBER"), form="text"),
    Case("136-slow-member-read-json", "md-slow", Ask("read", MIB, 4, 1, "libaio", True, 9.0),
         _noted("dm-delay of 10 ms below one member, sequential", "MEMBER"), form="json"),
    Case("137-slow-lvm-member-run", "lvm-slow", Ask("randread", 16 * KIB, 8, 1, "libaio"),
         _noted("dm-delay of 10 ms below one of two disks of an LVM stripe", "MEMBER")),
    # ---- too short, killed, errors
    Case("138-timeout-run", "disk-xfs", Ask("randread", 4 * KIB, 8, 1, "io_uring", True, 6.0),
         _wrong("timeout(1) ended fio after 2 of 6 s", "SHORT"), cut=(2.0, signal.SIGTERM)),
    Case("139-interrupted-text", "md-xfs", Ask("randread", 4 * KIB, 8, 2, "libaio", True, 6.0),
         _wrong("^C after 2 of 6 s", "SHORT", alone=("SHORT",)), form="text",
         cut=(2.0, signal.SIGINT)),
    Case("140-interrupted-json", "disk-ext4", Ask("randwrite", 8 * KIB, 4, 1, "libaio", True, 6.0),
         _wrong("^C after 2 of 6 s", "SHORT", alone=("SHORT",)), form="json+",
         cut=(2.0, signal.SIGINT)),
    Case("141-size-ends-early-text", "disk-xfs", Ask("read", MIB, 4, 1, "libaio", True, 5.0, False),
         _wrong("5 s were asked, the file was at its end much earlier", "SHORT",
                allow=(BUSY, "DEPTH")), form="text"),
    Case("142-killed-json", "disk-xfs", Ask("randread", 4 * KIB, 8, 1, "libaio", True, 6.0),
         _wrong("kill -9: fio printed nothing", results=0), form="json+",
         cut=(2.0, signal.SIGKILL)),
    Case("143-killed-with-status-text", "disk-xfs",
         Ask("randread", 4 * KIB, 8, 1, "libaio", True, 8.0),
         _wrong("kill -9 with status-interval=1: the last status is no result", "SHORT",
                allow=(BUSY, "FOREIGN"), alone=("SHORT",)), form="text", cut=(3.5, signal.SIGKILL),
         extra=("--status-interval=1",)),
    Case("144-killed-with-status-json", "disk-xfs",
         Ask("randread", 4 * KIB, 8, 1, "libaio", True, 8.0),
         _wrong("kill -9 with status-interval=1", "SHORT",
                allow=(BUSY, "FOREIGN"), alone=("SHORT",)),
         form="json", cut=(3.5, signal.SIGKILL), extra=("--status-interval=1",)),
    Case("145-cut-json", "disk-xfs", Ask("randread", 4 * KIB, 8, 1, "libaio", True, 2.0),
         Label("half a JSON document of a run that was in order, with all figures that count",
               allow=(BUSY,), edited="cut off in the middle"), form="json+", edit=_cut_at(0.5)),
    Case("146-cut-text", "disk-xfs", Ask("randread", 4 * KIB, 8, 1, "libaio", True, 2.0),
         Label("half a text report of a run that was in order", allow=(BUSY,),
               edited="cut off among the percentiles"), form="text", edit=_cut_at(0.45)),
    Case("167-cut-json-early", "disk-xfs", Ask("randread", 4 * KIB, 8, 1, "libaio", True, 2.0),
         _wrong("a JSON document without its figures", results=0,
                edited="cut off among the options"), form="json", edit=_cut_at(0.08)),
    Case("168-cut-text-early", "disk-xfs", Ask("randread", 4 * KIB, 8, 1, "libaio", True, 2.0),
         _wrong("a text report without its figures", results=0,
                edited="cut off before the figures"), form="text", edit=_before_figures),
    Case("147-bad-sector-run", "dust", Ask("read", 64 * KIB, 4, 1, "libaio"),
         _wrong("a sector cannot be read", "SHORT", allow=(BUSY, "DEPTH", "FOREIGN")),
         file_bytes=200 * MIB),
    Case("148-bad-sector-text", "dust", Ask("randread", 4 * KIB, 4, 2, "libaio"),
         _wrong("sectors cannot be read", "SHORT", alone=("SHORT",),
                allow=(BUSY, "DEPTH", "FOREIGN")), form="text", file_bytes=200 * MIB),
    Case("149-errors-passed-over-text", "dust", Ask("randread", 4 * KIB, 4, 1, "libaio"),
         _wrong("continue_on_error: fio goes on and counts", "SHORT", alone=("SHORT",),
                allow=(BUSY, "DEPTH", "FOREIGN")), form="text", file_bytes=200 * MIB,
         extra=("--continue_on_error=io",)),
    Case("150-disk-goes-away-json", "flakey", Ask("randwrite", 4 * KIB, 4, 1, "libaio", True, 6.0),
         _wrong("after some seconds every I/O fails", "SHORT", alone=("SHORT",),
                allow=(BUSY, "DEPTH", "FOREIGN")), form="json+", file_bytes=200 * MIB),
    Case("151-disk-full-text", "disk-xfs", Ask("write", MIB, 4, 2, "libaio", True, None),
         _wrong("no space left on the filesystem", "SHORT", alone=("SHORT",),
                allow=(BUSY, "DEPTH", "FOREIGN", "UNITS")), form="text", files="full",
         file_bytes=300 * MIB, extra=("--fallocate=none",)),
    # ---- the processor
    Case("152-cpu-fio-run", "zram", Ask("randread", 4 * KIB, 16, 2, "io_uring", True, 8.0),
         _noted("compressed memory as a disk: the processor is what is measured", "CPU")),
    Case("153-cpu-burning-beside-run", "disk-xfs", Ask("randread", 4 * KIB, 4, 1, "libaio"),
         _noted("another program takes the processor", "CPU"), beside=deeds.burning),
    Case("154-cpu-fio-text", "disk",
         Ask("randread", 4 * KIB, 16, 4, "io_uring", True, 8.0),
         _noted("four workers and one processor", "CPU"), form="text"),
    # ---- credits
    Case("155-burst-all-the-time-run", "disk-xfs", Ask("randread", 4 * KIB, 16, 1, "libaio"),
         _wrong("3,000 IOPS are burst credits, 300 what lasts", "BURST",
                allow=(BUSY, "CAP", "DEPTH")),
         limit=deeds.io_max("riops=3000"), capability=_network(300, burst=3000)),
    Case("156-burst-runs-out-run", "disk-xfs", Ask("randread", 4 * KIB, 16, 1, "libaio", True,
         10.0), _wrong("the credits end in the middle", "BURST", allow=(BUSY, "CAP", "DEPTH",
         "STEADY")), limit=deeds.io_max("riops=3000"), beside=deeds.changing((5.5, "riops=300")),
         capability=_network(300, burst=3000)),
    # ---- not steady
    Case("157-step-down-run", "disk-xfs", Ask("randwrite", 4 * KIB, 16, 1, "libaio", True, 12.0),
         _wrong("the rate falls to half in the last seconds", "STEADY",
                allow=(BUSY, "DEPTH", "BURST", "CAP")), limit=deeds.io_max("wiops=4000"),
         beside=deeds.changing((8.5, "wiops=2000")), full_suite=True),
    Case("158-ramp-run", "md-xfs", Ask("randread", 16 * KIB, 16, 1, "libaio", True, 12.0),
         _wrong("the rate climbs all the time", "STEADY", allow=(BUSY, "DEPTH", "BURST", "CAP")),
         limit=deeds.io_max("riops=200"), full_suite=True,
         beside=deeds.changing(*((1.5 if at == 0 else 1.0, f"riops={300 + 100 * at}")
                                 for at in range(12)))),
    Case("159-ups-and-downs-run", "disk-xfs", Ask("randread", 4 * KIB, 8, 1, "libaio", True, 12.0),
         _wrong("the rate goes up and down", "STEADY", allow=(BUSY, "DEPTH", "BURST", "CAP")),
         limit=deeds.io_max("riops=2000"), full_suite=True,
         beside=deeds.changing(*((2.0, f"riops={1000 if at % 2 else 3000}")
                                 for at in range(6)))),
    # ---- figures that cannot be
    Case("160-ten-times-iops-text", "disk-xfs", _READ,
         _wrong("IOPS × block size is not the bandwidth", "UNITS", allow=(BUSY, "DEPTH"),
                alone=("UNITS",), edited="IOPS × 10"), form="text", edit=_ten_times_iops),
    Case("161-bits-for-bytes-text", "md-xfs", Ask("read", 256 * KIB, 4, 1, "libaio"),
         _wrong("a bandwidth in bits", "UNITS", alone=("UNITS",), edited="BW × 8"), form="text",
         edit=_bits),
    Case("162-half-the-bytes-json", "disk-xfs", Ask("randwrite", 16 * KIB, 4, 1, "libaio"),
         _wrong("bw_bytes is not io_bytes ÷ runtime", "UNITS", alone=("UNITS",),
                edited="bw_bytes ÷ 2"), form="json+", edit=_half_bytes),
    Case("163-latency-edited-text", "disk-xfs", Ask("randread", 4 * KIB, 4, 1, "libaio"),
         _wrong("IOPS and latency contradict each other", "DEPTH", alone=("DEPTH",),
                allow=(BUSY, "UNITS"), edited="mean latency × 5"), form="text",
         edit=_slow_latency),
    Case("164-above-published-run", "disk", Ask("randread", 4 * KIB, 16, 1, "io_uring"),
         _wrong("twice what the disk is sold with", "IMPOSSIBLE", allow=(BUSY, "CAP")),
         capability=published(2.0)),
    Case("165-above-published-by-a-fifth-run", "md-xfs",
         Ask("randwrite", 4 * KIB, 16, 1, "libaio"),
         _wrong("a fifth more than the disks are sold with", "IMPOSSIBLE", allow=(BUSY, "CAP")),
         capability=published(1.2)),
)  # fmt: skip

# A diary: the same line twice, and in between the volume was unmounted.
DIARY = (
    Case("166-unmounted-between-text", "disk-xfs", Ask("randwrite", 4 * KIB, 8, 1, "libaio"),
         Label("the volume"), form="text", prose="Now the new volume. First it is written:\n\n"),
    Case("166-unmounted-between-text", "root", Ask("randread", 4 * KIB, 8, 1, "libaio"),
         _wrong("the volume was unmounted: the reads hit another disk than the writes",
                "TARGET", alone=("TARGET",), results=2), form="text",
         prose="\n\nAnd read (the machine was restarted in between):\n\n"),
)  # fmt: skip

HOST_CASES = (
    Case("171-cached-on-a-real-disk-json", "loop-xfs",
         Ask("randread", 4 * KIB, 1, 1, "psync", False),
         _wrong("direct=0 and the file is in memory", "COVERAGE", allow=_CACHE,
                alone=("COVERAGE",)), form="json+", before=deeds.hot, extra=("--invalidate=0",)),
    Case("172-tmpfs-json", "shm", Ask("randread", 4 * KIB, 1, 1, "psync"),
         _wrong("a filesystem in memory takes direct=1 as well", "IMPOSSIBLE", "TARGET",
                allow=_CACHE, alone=("IMPOSSIBLE",)), form="json"),
    Case("173-sparse-on-loop-text", "loop-xfs", Ask("randread", 4 * KIB, 16, 1, "io_uring"),
         _wrong("a file of holes on a real disk", "COVERAGE", allow=_CACHE,
                alone=("COVERAGE",)), form="text", files="sparse", before=deeds.sparse),
    Case("174-old-fio-psync-depth-8-text", "loop-xfs-old",
         Ask("randwrite", 64 * KIB, 8, 4, "psync"),
         _wrong("fio 2.14, psync ignores iodepth=8", "DEPTH", alone=("DEPTH",)), form="text"),
    Case("175-old-fio-sparse-text", "loop-xfs-old", Ask("randread", 4 * KIB, 8, 1, "libaio"),
         _wrong("fio 2.14 reads a file of holes", "COVERAGE", allow=_CACHE,
                alone=("COVERAGE",)), form="text", files="sparse", before=deeds.sparse),
    Case("176-old-fio-interrupted-text", "loop-xfs-old",
         Ask("randread", 4 * KIB, 8, 1, "libaio", True, 6.0),
         _wrong("fio 2.14, ^C after 2 of 6 s", "SHORT", alone=("SHORT",)), form="text",
         cut=(2.0, signal.SIGINT)),
    Case("177-foreign-on-loop-text", "loop-xfs", _READ,
         _wrong("a second fio on a real disk", "FOREIGN", allow=(BUSY, "DEPTH"),
                alone=("FOREIGN",)), form="text", beside=deeds.second_fio("randread", "4k", 8)),
    Case("178-cgroup-v1-cap-run", "loop-xfs",
         Ask("randread", 4 * KIB, 16, 1, "libaio", True, 5.0),
         _noted("blkio.throttle on a real disk, as a volume is provisioned", "CAP"),
         limit=deeds.blkio(2500), capability=_network(2500)),
    Case("181-cached-below-loop-json", "loop-cached", Ask("randread", 4 * KIB, 1, 1, "psync"),
         _wrong("direct=1 on a loop device, whose own file is in memory: the loop device counts "
                "every read, and none takes a disk's time", "IMPOSSIBLE", alone=("IMPOSSIBLE",),
                allow=_CACHE), form="json+", file_bytes=100 * MIB),
    Case("179-sparse-psync-on-loop-run", "loop-xfs", Ask("randread", 4 * KIB, 1, 1, "psync"),
         _wrong("a file of holes: direct reads that no disk can do", "COVERAGE", "IMPOSSIBLE",
                allow=_CACHE), files="sparse", before=deeds.sparse),
)  # fmt: skip
