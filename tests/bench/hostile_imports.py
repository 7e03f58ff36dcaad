"""What ``bench import`` takes for inputs made to hurt it.

``python -m tests.bench.hostile_imports [WORD ...]`` makes each in a temporary folder, imports it by
a process of its own, and prints a line: megabytes, seconds of processor, peak memory, how it ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.unit.legacies import report_3

MB = 1_000_000
_IMPORT = "import sys; from appliance.cli.main import main; sys.exit(main(sys.argv[1:]))"
_HEADLINE = b"  read: IOPS=412k, BW=1610MiB/s (1688MB/s)(283GiB/180002msec)\n"
_JOB = (
    '{"jobname":"x","error":0,"read":{"io_bytes":4096000,"bw_bytes":4096,"iops":1000.0,'
    '"runtime":1000,"total_ios":1000}}'
)


def _repeated(piece: bytes, size: int) -> Iterator[bytes]:
    block = piece * max(1, MB // len(piece))
    for _ in range(size // len(block)):
        yield block


def _clones() -> Iterator[bytes]:
    section, rest = (
        report_3(jobs=1).split("Run status")[0],
        "Run status" + report_3().split("Run status")[1],
    )
    disk = rest.splitlines()[-1] + "\n"
    for _ in range(3):
        yield section.encode() * 4090
        yield rest.encode()
        yield "".join(disk.replace("nvme1n1", f"nvme{n}n1") for n in range(510)).encode()


def _jobs(count: int) -> Iterator[bytes]:
    yield b'{"fio version":"fio-3.33","jobs":['
    yield ",".join([_JOB] * count).encode()
    yield b"]}"


INPUTS: dict[str, Callable[[], Iterator[bytes]]] = {
    "one line of '>', 20 MB": lambda: _repeated(b">", 20 * MB),
    "one line of '> ', 100 MB": lambda: _repeated(b"> ", 100 * MB),
    "lines of '> ', 100 MB": lambda: _repeated(b"> \n", 100 * MB),
    'JSON of \\", 40 MB': lambda: iter((b'{"fio version":1,"a":"', *_repeated(b'\\"', 40 * MB))),
    "JSON of brackets, 100 MB": lambda: iter(
        (b'{"fio version":1,"jobs":[', *_repeated(b"[],", 100 * MB))
    ),
    "3 reports of 4,090 clones on 510 disks": _clones,
    "lines of a lone backslash, 2 MB": lambda: _repeated(
        b"fio --name=a \\\n" + b"\\\n" * 8100, 2 * MB
    ),
    "lines of a lone option, 2 MB": lambda: _repeated(b"fio --name=a\n" + b"-a\n" * 2700, 2 * MB),
    "headlines, 98 MB": lambda: _repeated(_HEADLINE, 98 * MB),
    "blank lines, 100 MB": lambda: _repeated(b"\n", 100 * MB),
    "one letter a line, 100 MB": lambda: _repeated(b"x\n", 100 * MB),
    "carriage returns, 100 MB": lambda: _repeated(b"\r", 100 * MB),
    "JSON with 200,000 jobs": lambda: _jobs(200_000),
    "first words of JSON documents, 100 MB": lambda: _repeated(b'{"fio version":', 100 * MB),
    "quoted-printable, 100 MB": lambda: _repeated(b"IOPS=3D412k=\n", 100 * MB),
    "a character beyond 16 bits, 100 MB": lambda: iter(
        ("\U0001f4be".encode(), *_repeated(b"a line of text\n", 100 * MB))
    ),
    "real reports, 100 MB": lambda: _repeated((report_3() + "\n").encode(), 100 * MB),
    "real reports after commands, 100 MB": lambda: _repeated(
        ("$ fio --name=job --rw=randread --bs=4k --direct=1\n" + report_3() + "\n").encode(),
        100 * MB,
    ),
}


def main() -> int:
    chosen = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        for name, made in INPUTS.items():
            if chosen and not any(word in name for word in chosen):
                continue
            with path.open("wb") as stream:
                for block in made():
                    stream.write(block)
            seconds, peak, status, said = _import(path)
            print(
                f"{name:44} {path.stat().st_size / MB:6.1f} MB {seconds:6.1f} s "
                f"{peak / MB:6.0f} MB  exit {status}  {said}",
                flush=True,
            )
    return 0


def _import(path: Path) -> tuple[float, int, int, str]:
    """CPU seconds, peak bytes, exit status and the last words of an import of ``path``."""
    child = subprocess.Popen(
        [sys.executable, "-c", _IMPORT, "bench", "import", str(path), "--json"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    seconds = usage.ru_utime + usage.ru_stime
    words = said.replace(f"{path}: ", "").strip().split("\n")[0][:100]
    return seconds, usage.ru_maxrss * 1024, child.returncode, words


if __name__ == "__main__":
    sys.exit(main())
