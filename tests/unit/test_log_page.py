"""EC2's log page 0xD0: decoded as nvme-cli prints the same bytes, and what two readings say."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import re
import struct
from pathlib import Path

import pytest

from appliance.bench import log_page, validity
from appliance.clouds.aws import decode
from appliance.figures.provisioned import in_words, latencies_since, since
from appliance.history.json_documents import result_to_json
from appliance.model.measurement import DeviceLatency, Provisioned
from appliance.report import html, markdown
from appliance.report.gather import run_report
from appliance.state import codec
from appliance.storage.probe import nvme
from tests.unit import diary
from tests.unit.reports import BEGAN, material, results

EBS, LOCAL = 0x3C23B510, 0xEC2C0D7E
BOUNDS = [(0, 64), (64, 128), (128, 256), (256, 1024)]

# Of nvme-cli's "nvme amzn stats --details", made of the page that page() makes.
PRINTED = """\
Total Ops:
  Read: 1000
  Write: 20
Total Bytes:
  Read: 4096000
  Write: 81920
Total Time (us):
  Read: 90000
  Write: 400

EC2 Instance Local Storage Performance Exceeded (us):
  IOPS: 33
  Throughput: 44

Queue Length (point in time): 5

Read IO Latency Histogram
=================================
Lower       Upper        IO Count
=================================
[0        - 64      ] => 700
[64       - 128     ] => 200
[128      - 256     ] => 99
[256      - 1024    ] => 1
=================================

Write IO Latency Histogram
=================================
Lower       Upper        IO Count
=================================
[0        - 64      ] => 20
[64       - 128     ] => 0
[128      - 256     ] => 0
[256      - 1024    ] => 0
=================================

=================================
IO Size Range:
(io_size_low: 0 -> io_size_high: 4K]
Read IO Latency Histogram
[0        - 64      ] => 700
[64       - 128     ] => 200
[128      - 256     ] => 0
[256      - 1024    ] => 0
Write IO Latency Histogram
[0        - 64      ] => 20
[64       - 128     ] => 0
[128      - 256     ] => 0
[256      - 1024    ] => 0
=================================
IO Size Range:
(io_size_low: 4K -> io_size_high: max]
Read IO Latency Histogram
[0        - 64      ] => 0
[64       - 128     ] => 0
[128      - 256     ] => 99
[256      - 1024    ] => 1
Write IO Latency Histogram
[0        - 64      ] => 0
[64       - 128     ] => 0
[128      - 256     ] => 0
[256      - 1024    ] => 0
"""


def page(
    magic: int = LOCAL,
    *,
    version: int = 1,
    reads: tuple[int, ...] = (700, 200, 99, 1),
    writes: tuple[int, ...] = (20, 0, 0, 0),
    read_us: int = 90_000,
    limits: tuple[int, int, int, int] = (11, 22, 33, 44),
) -> bytes:
    """A log page as the device gives it; reads above 128 µs are of more than 4 KiB."""
    found = bytearray(8192)
    ios = (sum(reads), sum(writes))
    struct.pack_into(
        "<II6Q4QQ", found, 0, magic, version, *ios, 4096 * ios[0], 4096 * ios[1], read_us, 400,
        *limits, 5,
    )  # fmt: skip
    for offset, counts in ((512, reads), (2056, writes)):
        struct.pack_into("<Q", found, offset, len(BOUNDS))
        for number, ((least, most), count) in enumerate(zip(BOUNDS, counts, strict=True)):
            struct.pack_into(
                "<QQII", found, offset + 8 + 24 * number, least, most, count % 2**32, 7
            )
    struct.pack_into("<I8I", found, 3600, 2, 4096, 2**32 - 1, *[0] * 6)
    struct.pack_into("<4Q", found, 4096, *reads[:2], 0, 0)
    struct.pack_into("<4Q", found, 4096 + 256, *writes)
    struct.pack_into("<4Q", found, 4096 + 512, 0, 0, *reads[2:])
    return bytes(found)


def test_the_page_is_decoded_as_nvme_cli_prints_it() -> None:
    found = decode(page())
    assert found is not None
    assert found.times is not None
    numbers = re.findall(r"^  (?:Read|Write|IOPS|Throughput): (\d+)", PRINTED, re.MULTILINE)
    reads, writes = found.times["read"], found.times["write"]
    limits = found.limits
    assert [int(one) for one in numbers] == [
        reads.ios, writes.ios, 4_096_000, 81_920, reads.time_us, writes.time_us,
        limits.volume_iops_us, limits.volume_throughput_us,
    ]  # fmt: skip
    printed = [
        tuple(map(int, one))
        for one in re.findall(r"^\[(\d+) +- (\d+) +\] => (\d+)", PRINTED, re.MULTILINE)
    ]
    assert printed[:8] == [*reads.bins, *writes.bins]
    small, large = reads.by_size
    assert (small[0], large[0]) == (4096, 2**32 - 1)
    assert [count for *_, count in printed[8:12]] == list(small[1])
    assert [count for *_, count in printed[16:20]] == list(large[1])
    assert [count for *_, count in printed[12:16]] == list(writes.by_size[0][1])


def test_what_is_shorter_older_or_anothers() -> None:
    assert decode(page()[:80]) is None
    assert decode(page(0x1234)) is None
    short = decode(page()[:512])
    assert short is not None
    assert (short.limits, short.times) == (Provisioned(33, 44), {})
    half = decode(page()[:4096])
    assert half is not None
    assert half.times is not None
    assert (half.times["read"].ios, half.times["read"].by_size) == (1000, ())
    old = decode(page(version=0))
    assert old is not None
    assert old.times is not None
    assert old.times["read"].by_size == ()
    ebs = decode(page(EBS))
    assert ebs is not None
    assert ebs.limits == Provisioned(11, 22, 33, 44)
    # A count of bins that no page has.
    wild = bytearray(page())
    struct.pack_into("<Q", wild, 512, 2**63)
    found = decode(bytes(wild))
    assert found is not None
    assert found.times is not None
    assert len(found.times["read"].bins) == 64


def between(before: bytes, after: bytes, direction: str = "read") -> tuple[DeviceLatency, ...]:
    first, second = decode(before), decode(after)
    assert first is not None
    assert second is not None
    return latencies_since({"nvme1n1": first}, {"nvme1n1": second}, direction)


def test_two_readings() -> None:
    (found,) = between(page(), page(reads=(1700, 1200, 199, 1), read_us=390_000))
    assert (found.device, found.ios, found.mean_us) == ("nvme1n1", 2100, 300_000 / 2100)
    assert found.bins == ((0, 64, 1000), (64, 128, 1000), (128, 256, 100))
    assert (found.at_most_us(50.0), found.at_most_us(99.0)) == (128, 256)
    assert found.by_size == (
        (4096, ((0, 64, 1000), (64, 128, 1000))),
        (2**32 - 1, ((128, 256, 100),)),
    )
    assert in_words([found]) == "nvme1n1 mean 143 µs, p99 at most 256 µs"
    assert between(page(), page(reads=(1700, 1200, 199, 1)), "write") == ()
    # Attached again, or another disk.
    assert between(page(reads=(1700, 1200, 199, 1)), page()) == ()
    assert between(page(EBS), page(reads=(1700, 1200, 199, 1))) == ()
    assert between(page(), page(reads=(1700, 1200, 199, 1), read_us=80_000)) == ()


def test_a_counter_of_32_bits_goes_round() -> None:
    (found,) = between(
        page(reads=(2**32 - 5, 0, 0, 0)), page(reads=(2**32 + 95, 0, 0, 0), read_us=95_000)
    )
    assert found.bins == ((0, 64, 100),)


def test_they_are_kept_and_shown() -> None:
    latencies = between(page(), page(reads=(1700, 1200, 199, 1), read_us=390_000))
    kept = json.loads(json.dumps([dataclasses.asdict(one) for one in latencies]))
    assert tuple(codec.decode(DeviceLatency, one) for one in kept) == latencies
    measured = dataclasses.replace(results()[0], device_latencies=latencies)
    shown = json.loads(json.dumps(result_to_json(measured)))
    assert shown["device_latencies"] == [
        {
            "device": "nvme1n1",
            "ios": 2100,
            "mean_us": 300_000 / 2100,
            "p50_at_most_us": 128,
            "p99_at_most_us": 256,
            "bins_us": [[0, 64, 1000], [64, 128, 1000], [128, 256, 100]],
            "by_size": [
                {"at_most_bytes": 4096, "bins_us": [[0, 64, 1000], [64, 128, 1000]]},
                {"at_most_bytes": None, "bins_us": [[128, 256, 100]]},
            ],
        }
    ]


def test_they_are_in_the_report() -> None:
    latencies = between(page(), page(reads=(1700, 1200, 199, 1), read_us=390_000))
    made = material()
    first = dataclasses.replace(made.results[0], device_latencies=latencies)
    made = dataclasses.replace(made, results=(first, *made.results[1:]))
    document = run_report(made, written_at=BEGAN, version="1")
    words = "nvme1n1 mean 143 µs, p99 at most 256 µs"
    assert f"by the disks: {words}" in html.page(document)
    assert words in markdown.text(document)


def test_root_leaves_them_for_others(tmp_path: Path) -> None:
    found = decode(page())
    assert found is not None
    seen = tmp_path / "seen.json"
    disks = log_page.to_json({"nvme1n1": found})
    seen.write_text(json.dumps({"exceeded": {"at_monotonic_s": 2.0, "disks": disks}}))
    read = log_page.recorded(seen, 1.0)
    assert read == {"nvme1n1": found}
    assert since(read, read) == Provisioned()


@pytest.mark.parametrize(
    ("slow_us", "says"), [(900, "the disk itself is slower"), (105, "wait in front of it")]
)
def test_a_slow_member_is_told_from_its_queue(slow_us: int, says: str) -> None:
    stripe = next(one for one in diary.ALL if "MEMBER" in {f.code for f in validity.judge(one)})
    (slow,) = [f for f in validity.judge(stripe) if f.code == "MEMBER"]
    member = re.search(r"I/Os, (\S+) with", slow.message)
    assert member is not None
    own = tuple(
        DeviceLatency(name, 1000, 1000 * (slow_us if name == member[1] else 100))
        for name in stripe.members
    )
    (found,) = [
        f
        for f in validity.judge(dataclasses.replace(stripe, device_latencies=own))
        if f.code == "MEMBER"
    ]
    assert says in found.message
    # Between the two it gives the figures and no more.
    half_again = tuple(
        dataclasses.replace(one, time_us=150_000 if one.device == member[1] else 100_000)
        for one in own
    )
    (found,) = [
        f
        for f in validity.judge(dataclasses.replace(stripe, device_latencies=half_again))
        if f.code == "MEMBER"
    ]
    assert found.message.endswith("took 150 µs and the others 100 µs")
    # Of one member alone it says nothing.
    alone = dataclasses.replace(stripe, device_latencies=own[:1])
    (found,) = [f for f in validity.judge(alone) if f.code == "MEMBER"]
    assert "by their own count" not in found.message


def test_a_local_disk_is_asked_for_the_long_page_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = {
        "nvme1n1": "Amazon EC2 NVMe Instance Storage",
        "nvme2n1": "Amazon Elastic Block Store",
    }
    for name, model in models.items():
        (tmp_path / name / "device").mkdir(parents=True)
        (tmp_path / name / "device/model").write_text(model)
    asked = []

    def ioctl(descriptor: int, _: int, argument: bytearray) -> int:
        length, dword10 = struct.unpack_from("<II", argument, 36)
        asked.append((Path(f"/proc/self/fd/{descriptor}").readlink().name, length, dword10))
        if length == 8192:
            raise OSError
        ctypes.memmove(struct.unpack_from("<Q", argument, 24)[0], page(), 4096)
        return 0

    monkeypatch.setattr(nvme.fcntl, "ioctl", ioctl)
    for name in models:
        (tmp_path / "dev").mkdir(exist_ok=True)
        (tmp_path / "dev" / name).touch()
    found = log_page.read_exceeded(list(models), sys_block=tmp_path, dev=tmp_path / "dev")
    # Dwords, counted from zero, of log page 0xD0.
    long, short = (8192, 2047 << 16 | 0xD0), (4096, 1023 << 16 | 0xD0)
    assert asked == [("nvme1n1", *long), ("nvme1n1", *short), ("nvme2n1", *short)]
    assert found["nvme1n1"].times["read"].ios == 1000
