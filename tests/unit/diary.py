"""Figures of published benchmark diaries as evidence: an i3.4xlarge, an m5d and EBS volumes.

Typed from fio 2.14's text reports: ``KB`` and ``MB`` there are 1024 and 1024², and the disk
statistics are requests, without bytes.
"""

import dataclasses

from appliance.clouds.capability import published
from appliance.model.disks import DiskKind
from appliance.model.measurement import DeviceIo, Measurement, Source

LOCAL = DiskKind.INSTANCE_STORE


def disk(device: str, read: tuple[int, int, int], write: tuple[int, int, int]) -> DeviceIo:
    """One line of the disk statistics: (ios, merges, ticks) of both directions."""
    return DeviceIo(device, read[0], write[0], read[1], write[1], read[2], write[2])


def with_disks(evidence: Measurement, *disks: DeviceIo, **changes: object) -> Measurement:
    """``evidence``, had these disks done this."""
    return dataclasses.replace(evidence, device_io=disks, **changes)


def report(
    *,
    rw: str,
    bs_kib: int,
    ios: int,
    runtime_ms: int,
    iops: int,
    lat_us: float,
    percentiles_us: tuple[int, int, int, int, int],
    disks: tuple[DeviceIo, ...],
    machine: str = "i3.4xlarge",
    bw_kib: float,
    cpu: float = 10.0,
    jobs: int = 16,
    iodepth: int = 32,
    engine: str = "libaio",
    asked_ms: int = 180_000,
    direction: str = "",
    kind: DiskKind = LOCAL,
) -> Measurement:
    """A report; ``percentiles_us`` are p1, p10, p50, p90 and p99."""
    direction = direction or ("write" if "write" in rw else "read")
    members = tuple(io.device for io in disks if len(disks) == 1 or io.device != disks[0].device)
    percents = ("1.000000", "10.000000", "50.000000", "90.000000", "99.000000")
    return Measurement(
        source=Source.IMPORT,
        job="fio_test_file",
        direction=direction,
        rw=rw,
        engine=engine,
        fio_version="fio-2.14",
        direct=True,
        block_size_bytes=bs_kib * 1024,
        jobs=jobs,
        iodepth=iodepth,
        iops=float(iops),
        bandwidth_bytes=bw_kib * 1024,
        io_bytes=ios * bs_kib * 1024,
        total_ios=ios,
        runtime_ms=runtime_ms,
        runtime_asked_ms=asked_ms,
        latency_mean_ns=lat_us * 1000,
        percentiles_ns={p: us * 1000 for p, us in zip(percents, percentiles_us, strict=True)},
        printed_iops=float(iops),
        printed_bandwidth_bytes=bw_kib * 1024,
        cpu_percent=cpu,
        # Of a report that says how many of each there were.
        other_direction_iops=None if rw in ("rw", "randrw") else 0.0,
        device=disks[0].device,
        members=members,
        device_io=disks,
        machine_type=machine,
        capability=published(
            machine,
            kind=kind,
            member_count=len(members),
            direction=direction,
            block_size_bytes=bs_kib * 1024,
            rw=rw,
        ),
    )


NONE = (0, 0, 0)

SINGLE_WRITE_16K = report(
    rw="randwrite", bs_kib=16, ios=8_812_886, runtime_ms=180_007, iops=48_958, bw_kib=783_337,
    lat_us=10_453.66, percentiles_us=(1768, 4512, 6432, 8768, 378_880), cpu=5.94,
    disks=(disk("nvme1n1", (4, 0, 36), (8_810_139, 3, 91_434_452)),),
)  # fmt: skip
SINGLE_READ_16K = report(
    rw="randread", bs_kib=16, ios=38_956_979, runtime_ms=180_005, iops=216_421,
    bw_kib=3381.7 * 1024, lat_us=2365.09, percentiles_us=(0, 1, 1192, 9280, 10_048), cpu=15.79,
    disks=(disk("nvme0n1", (21_947_100, 0, 91_168_812), (398, 2515, 4040)),),
)  # fmt: skip
SINGLE_WRITE_4K = report(
    rw="randwrite", bs_kib=4, ios=32_501_253, runtime_ms=180_003, iops=180_559, bw_kib=722_238,
    lat_us=2834.07, percentiles_us=(580, 1288, 1672, 2192, 2864), cpu=15.8,
    disks=(disk("nvme1n1", NONE, (32_488_685, 0, 89_799_492)),),
)  # fmt: skip
SINGLE_READ_4K = report(
    rw="randread", bs_kib=4, ios=104_651_512, runtime_ms=180_003, iops=581_387,
    bw_kib=2271.5 * 1024, lat_us=879.88, percentiles_us=(1, 4, 1080, 1400, 2008), cpu=55.98,
    disks=(disk("nvme0n1", (74_211_417, 0, 85_859_608), (762, 4943, 1340)),),
)  # fmt: skip
STRIPE_WRITE_4K = report(
    rw="randwrite", bs_kib=4, ios=64_302_178, runtime_ms=180_001, iops=357_232,
    bw_kib=1395.5 * 1024, lat_us=1431.02, percentiles_us=(65, 187, 724, 1656, 5344), cpu=36.77,
    disks=(
        disk("md0", (20, 0, 0), (64_280_835, 0, 0)),
        disk("nvme0n1", (8, 0, 0), (32_154_435, 4, 30_971_044)),
        disk("nvme1n1", (12, 0, 4), (32_150_548, 4, 33_528_812)),
    ),
)  # fmt: skip
STRIPE_READ_4K = report(
    rw="randread", bs_kib=4, ios=148_446_206, runtime_ms=180_002, iops=824_691,
    bw_kib=3221.5 * 1024, lat_us=619.9, percentiles_us=(215, 302, 572, 876, 1192), cpu=83.68,
    disks=(
        disk("md0", (148_410_673, 0, 0), (6, 0, 0)),
        disk("nvme0n1", (74_227_681, 0, 46_047_652), (3, 0, 0)),
        disk("nvme1n1", (74_218_525, 0, 28_203_236), (3, 0, 0)),
    ),
)  # fmt: skip
STRIPE_SEQUENTIAL_READ_4K = report(
    rw="read", bs_kib=4, ios=148_472_285, runtime_ms=180_001, iops=824_841,
    bw_kib=3222.4 * 1024, lat_us=619.87, percentiles_us=(211, 282, 588, 876, 1192), cpu=78.52,
    disks=(
        disk("md0", (148_436_930, 0, 0), (6, 0, 0)),
        disk("nvme0n1", (74_235_285, 906, 48_027_596), (3, 0, 0)),
        disk("nvme1n1", (74_235_073, 985, 27_789_040), (3, 0, 0)),
    ),
)  # fmt: skip
_MIXED_DISKS = (
    disk("md0", (38_433_426, 0, 0), (38_432_770, 0, 0)),
    disk("nvme0n1", (19_217_940, 0, 25_310_040), (19_224_512, 0, 15_580_700)),
    disk("nvme1n1", (19_224_444, 0, 25_318_524), (19_217_142, 0, 15_593_096)),
)
STRIPE_MIXED_READ_4K = dataclasses.replace(
    report(
        rw="randrw", bs_kib=4, ios=38_442_385, runtime_ms=180_005, iops=213_562,
        bw_kib=854_251, lat_us=1434.54, percentiles_us=(116, 227, 1208, 2864, 4320), cpu=50.14,
        direction="read", disks=_MIXED_DISKS,
    ),
    other_direction_iops=213_558.0,
    other_direction_latency_mean_ns=958_890.0,
)  # fmt: skip
STRIPE_MIXED_WRITE_4K = dataclasses.replace(
    report(
        rw="randrw", bs_kib=4, ios=38_441_643, runtime_ms=180_005, iops=213_558,
        bw_kib=854_235, lat_us=958.89, percentiles_us=(52, 126, 796, 1992, 2896), cpu=50.14,
        direction="write", disks=_MIXED_DISKS,
    ),
    other_direction_iops=213_562.0,
    other_direction_latency_mean_ns=1_434_540.0,
)  # fmt: skip
STRIPE_WRITE_16K = report(
    rw="randwrite", bs_kib=16, ios=17_614_550, runtime_ms=180_331, iops=97_678,
    bw_kib=1526.3 * 1024, lat_us=5237.12, percentiles_us=(72, 245, 2288, 9280, 14_144), cpu=14.44,
    disks=(
        disk("md0", NONE, (17_614_560, 0, 0)),
        disk("nvme0n1", NONE, (8_809_259, 0, 62_945_952)),
        disk("nvme1n1", NONE, (8_805_301, 0, 27_717_276)),
    ),
)  # fmt: skip
STRIPE_READ_16K = report(
    rw="randread", bs_kib=16, ios=43_774_187, runtime_ms=180_004, iops=243_184,
    bw_kib=3799.8 * 1024, lat_us=2104.26, percentiles_us=(346, 548, 1368, 5024, 7200), cpu=38.57,
    disks=(
        disk("md0", (43_764_041, 0, 0), (6, 0, 0)),
        disk("nvme0n1", (21_890_836, 0, 66_350_324), (3, 0, 4)),
        disk("nvme1n1", (21_883_351, 0, 23_953_916), (3, 0, 0)),
    ),
)  # fmt: skip

I3_SINGLE_READS = (SINGLE_READ_4K, SINGLE_READ_16K)
I3_SINGLE_WRITES = (SINGLE_WRITE_4K, SINGLE_WRITE_16K)
I3_STRIPE = (
    STRIPE_WRITE_4K,
    STRIPE_READ_4K,
    STRIPE_SEQUENTIAL_READ_4K,
    STRIPE_MIXED_READ_4K,
    STRIPE_MIXED_WRITE_4K,
    STRIPE_WRITE_16K,
    STRIPE_READ_16K,
)

EBS_SIX_64K = report(
    rw="randwrite", bs_kib=64, ios=1_650_319, runtime_ms=180_002, iops=9168, bw_kib=586_774,
    lat_us=1744.37, percentiles_us=(812, 1012, 1608, 2704, 3792), engine="psync", iodepth=1,
    machine="m5d.4xlarge", kind=DiskKind.NETWORK, cpu=0.97,
    disks=(
        disk("md0", NONE, (1_697_041, 0, 0)),
        disk("nvme1n1", NONE, (275_297, 7075, 474_260)),
        disk("nvme2n1", NONE, (276_085, 7281, 472_848)),
        disk("nvme3n1", NONE, (276_253, 6967, 483_876)),
        disk("nvme4n1", NONE, (275_355, 7142, 474_264)),
        disk("nvme5n1", NONE, (276_180, 7241, 482_284)),
        disk("nvme6n1", NONE, (275_496, 7117, 472_024)),
    ),
)  # fmt: skip
EBS_ROOT_64K = report(
    rw="randwrite", bs_kib=64, ios=370_989, runtime_ms=180_008, iops=2060, bw_kib=131_901,
    lat_us=7762.5, percentiles_us=(3600, 7648, 7776, 7968, 8256), engine="psync", iodepth=1,
    machine="", cpu=0.2, disks=(disk("nvme0n1", NONE, (371_002, 11, 2_872_596)),),
)  # fmt: skip
EBS_ROOT_64K_ASKED_FOR_8 = report(
    rw="randwrite", bs_kib=64, ios=370_860, runtime_ms=180_007, iops=2060, bw_kib=131_856,
    lat_us=7764.95, percentiles_us=(2992, 7648, 7776, 7968, 8384), engine="psync", iodepth=8,
    machine="", cpu=0.18, disks=(disk("nvme0n1", NONE, (370_505, 6, 2_868_712)),),
)  # fmt: skip
EBS_SIX_INTERRUPTED = dataclasses.replace(
    report(
        rw="randwrite", bs_kib=64, ios=1_052_705, runtime_ms=114_265, iops=9212, bw_kib=589_622,
        lat_us=3472.11, percentiles_us=(900, 1224, 2928, 6496, 9792), engine="psync", iodepth=8,
        jobs=32, machine="", cpu=0.48,
        disks=(
            disk("md0", NONE, (1_052_032, 0, 0)),
            disk("nvme3n1", NONE, (175_476, 12, 591_320)),
            disk("nvme6n1", NONE, (175_418, 9, 583_572)),
            disk("nvme2n1", NONE, (175_454, 9, 600_292)),
            disk("nvme5n1", NONE, (175_442, 9, 666_780)),
            disk("nvme1n1", NONE, (175_505, 15, 570_780)),
            disk("nvme4n1", NONE, (175_457, 9, 621_956)),
        ),
    ),
    ended="fio was ended by signal 2",
)  # fmt: skip
M5D_8X_SINGLE_4M = report(
    rw="randwrite", bs_kib=4096, ios=7736, runtime_ms=60_210, iops=128, bw_kib=526_269,
    lat_us=248_670, percentiles_us=(97_000, 233_000, 239_000, 247_000, 478_000),
    engine="psync", iodepth=1, jobs=32, machine="m5d.8xlarge", asked_ms=60_000, cpu=0.15,
    disks=(disk("nvme7n1", NONE, (247_329, 34, 46_010_024)),),
)  # fmt: skip
M5D_4X_SINGLE_64K_ASKED_FOR_8 = report(
    rw="randwrite", bs_kib=64, ios=717_550, runtime_ms=180_008, iops=3986, bw_kib=255_118,
    lat_us=8026.68, percentiles_us=(7968, 7968, 7968, 7968, 15_936), engine="psync", iodepth=8,
    jobs=32, machine="m5d.4xlarge", cpu=0.19,
    disks=(disk("nvme7n1", NONE, (723_239, 26_096, 5_794_628)),),
)  # fmt: skip
EBS_IO1_4M = report(
    rw="randwrite", bs_kib=4096, ios=7474, runtime_ms=60_161, iops=124, bw_kib=508_860,
    lat_us=257_320, percentiles_us=(43_000, 159_000, 247_000, 379_000, 523_000),
    engine="psync", iodepth=1, jobs=32, machine="m5d.8xlarge", kind=DiskKind.NETWORK,
    asked_ms=60_000, cpu=0.18, disks=(disk("nvme5n1", NONE, (122_499, 82, 3_601_572)),),
)  # fmt: skip
M5D_4X_STRIPE_4M = report(
    rw="randwrite", bs_kib=4096, ios=7701, runtime_ms=60_127, iops=128, bw_kib=524_611,
    lat_us=124_800, percentiles_us=(32_000, 128_000, 128_000, 128_000, 131_000),
    engine="psync", iodepth=1, machine="m5d.4xlarge", asked_ms=60_000, cpu=0.32,
    disks=(
        disk("md1", NONE, (492_332, 0, 0)),
        disk("nvme8n1", NONE, (123_225, 123_223, 219_588)),
        disk("nvme7n1", NONE, (123_231, 123_229, 14_642_384)),
    ),
)  # fmt: skip
M5D_8X_STRIPE_4M = report(
    rw="randwrite", bs_kib=4096, ios=15_201, runtime_ms=60_126, iops=252, bw_kib=1011.3 * 1024,
    lat_us=126_440, percentiles_us=(50_000, 116_000, 124_000, 128_000, 247_000),
    engine="psync", iodepth=1, jobs=32, machine="m5d.8xlarge", asked_ms=60_000, cpu=0.31,
    disks=(
        disk("md1", NONE, (982_388, 0, 0)),
        disk("nvme8n1", NONE, (246_014, 246_022, 605_512)),
        disk("nvme7n1", NONE, (246_002, 246_014, 29_981_296)),
    ),
)  # fmt: skip
EBS_SIX_4M = report(
    rw="randwrite", bs_kib=4096, ios=8711, runtime_ms=60_042, iops=145, bw_kib=594_255,
    lat_us=110_250, percentiles_us=(23_000, 103_000, 113_000, 120_000, 135_000),
    engine="psync", iodepth=1, machine="m5d.4xlarge", kind=DiskKind.NETWORK, asked_ms=60_000,
    cpu=0.36,
    disks=(
        disk("md0", NONE, (556_716, 0, 0)),
        disk("nvme3n1", NONE, (26_380, 66_541, 588_228)),
        disk("nvme6n1", NONE, (26_259, 66_677, 2_275_520)),
        disk("nvme2n1", NONE, (26_404, 66_532, 563_940)),
        disk("nvme5n1", NONE, (26_408, 66_503, 1_728_944)),
        disk("nvme1n1", NONE, (26_381, 66_541, 376_828)),
        disk("nvme4n1", NONE, (26_271, 66_651, 1_576_628)),
    ),
)  # fmt: skip

M5D_STRIPES = (M5D_4X_STRIPE_4M, M5D_8X_STRIPE_4M)
ASKED_FOR_8 = (EBS_ROOT_64K_ASKED_FOR_8, EBS_SIX_INTERRUPTED, M5D_4X_SINGLE_64K_ASKED_FOR_8)
ALL = (
    *I3_SINGLE_READS,
    *I3_SINGLE_WRITES,
    *I3_STRIPE,
    EBS_SIX_64K,
    EBS_ROOT_64K,
    *ASKED_FOR_8,
    M5D_8X_SINGLE_4M,
    EBS_IO1_4M,
    *M5D_STRIPES,
    EBS_SIX_4M,
)
