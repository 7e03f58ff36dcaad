"""Help for the tests of the import: the corpus, and short ways to import a text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from appliance.fio_import import import_reports
from appliance.model.measurement import Measurement

CORPUS = Path(__file__).parent.parent / "corpus"
DIARIES = CORPUS / "diaries"
FIO = CORPUS / "fio"


def imported(text: str | bytes, machine_type: str = "") -> tuple[Measurement, ...]:
    data = text if isinstance(text, bytes) else text.encode()
    return import_reports(data, file="diary.txt", machine_type=machine_type).judged


def only(text: str | bytes) -> Measurement:
    found = imported(text)
    assert len(found) == 1, [(one.line, one.job) for one in found]
    return found[0]


def measured(one: Measurement) -> Measurement:
    """``one`` without where it stands and what is thought of it, to be compared."""
    return replace(one, line=0, findings=())


def of_file(path: Path) -> tuple[Measurement, ...]:
    return import_reports(path.read_bytes(), file=path.name).judged


def codes(judged: Measurement) -> list[str]:
    return [finding.code for finding in judged.findings]


# A whole report of fio 3.7 as it prints one, with the places that tests change.
REPORT_3 = """\
{name}: (groupid=0, jobs={jobs}): err= 0: pid={pid}: Mon Mar  1 10:00:00 2021
  {direction}: IOPS=412k, BW=1610MiB/s (1688MB/s)(283GiB/180002msec)
    slat (nsec): min=1200, max=9000, avg=2500.00, stdev=100.00
    clat (usec): min=70, max=9000, avg=1238.00, stdev=50.00
     lat (usec): min=72, max=9001, avg=1240.50, stdev=50.01
    clat percentiles (usec):
     |  1.00th=[  210], 50.00th=[ 1200], 99.00th=[ 2000], 99.99th=[ 8000]
   bw (  MiB/s): min= 1500, max= 1700, per=100.00%, avg=1610.00, stdev= 1.00, samples=360
   iops        : min=400000, max=430000, avg=412000.00, stdev=100.00, samples=360
  lat (usec)   : 250=1.00%, 500=99.00%
  cpu          : usr=5.00%, sys=20.00%, ctx=1, majf=0, minf=1
  IO depths    : 1=0.1%, 2=0.1%, 4=0.1%, 8=0.1%, 16=0.1%, 32=100.0%, >=64=0.0%
     submit    : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.0%, 64=0.0%, >=64=0.0%
     complete  : 0=0.0%, 4=100.0%, 8=0.0%, 16=0.0%, 32=0.1%, 64=0.0%, >=64=0.0%
     issued rwts: total={ios} short=0,0,0,0 dropped=0,0,0,0
     latency   : target=0, window=0, percentile=100.00%, depth=32

Run status group 0 (all jobs):
  {group}: bw=1610MiB/s (1688MB/s), 1610MiB/s-1610MiB/s (1688MB/s-1688MB/s), io=283GiB (304GB), \
run=180002-180002msec

Disk stats (read/write):
  {device}: ios={disk}, merge=0/0, ticks=91000000/0, in_queue=91000000, util=100.00%
"""


def report_3(
    *,
    device: str = "nvme1n1",
    direction: str = "read",
    name: str = "job",
    jobs: int = 16,
    pid: int = 100,
) -> str:
    reads = direction == "read"
    return REPORT_3.format(
        name=name,
        jobs=jobs,
        pid=pid,
        direction=direction,
        group="READ" if reads else "WRITE",
        ios="74189000,0,0,0" if reads else "0,74189000,0,0",
        disk="74189000/0" if reads else "0/74189000",
        device=device,
    )


def command(rw: str = "randread", where: str = "--directory=/mnt/data", more: str = "") -> str:
    return (
        f"fio --name=job {where} --rw={rw} --bs=4k --ioengine=libaio --iodepth=32 --numjobs=16"
        f" --direct=1 --size=1G --time_based --runtime=180 --group_reporting{more}"
    )
