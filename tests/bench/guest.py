"""Guest program: the appliance against a minimal shell script, in turns, on the same disks."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from appliance import paths
from tests.lab import rack
from tests.lab.guest import DISKS, RESULTS, must_be_guest
from tests.lab.play import LAYOUT, MACHINE_ID, release
from tests.lab.rack import MIB

# By serial, so that nobody waits for disks of which nothing is known: they are all here.
_LAYOUT = """\
[[volume]]
name = "scratch"
select = { serials = ["LAB00001", "LAB00002", "LAB00003", "LAB00004"] }
mount = "/mnt/scratch"
wait = "0s"
"""
# What a careful person's boot script comes down to.
_CREATE = """\
set -e
mdadm --create /dev/md/scratch --run --quiet --metadata=1.2 --homehost=stripewright --name=scratch \
    --level=0 --chunk=256K --raid-devices=4 {disks}
mkfs.xfs -q -f -K -L scratch -d su=262144,sw=4 /dev/md/scratch
mkdir -p /mnt/scratch
mount -o nodev,nosuid,noatime /dev/md/scratch /mnt/scratch
"""
_ASSEMBLE = """\
set -e
mdadm --assemble --quiet /dev/md/scratch {disks}
mount -o nodev,nosuid,noatime /dev/md/scratch /mnt/scratch
"""
# What is timed, and how large each of the four disks is; sparse, so nothing of what a real disk
# takes to read is in it.
_PATHS = {"create": 160, "create 4 x 1 GiB": 1024, "create 4 x 64 GiB": 65536, "assemble": 160}
# As the installed command starts: `-m` would compile main.py each time.
_START = "import sys; from appliance.cli.main import main; sys.exit(main(['assemble']))"
_OURS = (sys.executable, "-c", _START)


def _timed(argv: tuple[str, ...]) -> float:
    """Seconds from starting the program to the mounted volume."""
    began = time.monotonic()
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    seconds = time.monotonic() - began
    assert done.returncode == 0, f"{argv}: {done.returncode}: {done.stderr.decode()[-500:]}"
    assert Path("/mnt/scratch").is_mount()
    return seconds


class Bench:
    def __init__(self, mib: int) -> None:
        self.rack = rack.Rack(DISKS)
        for number in range(1, 5):
            self.rack.add(f"d{number}", mib * MIB).plug()
        self.rack.settle()
        MACHINE_ID.write_text("0123456789abcdef0123456789abcdef\n")
        LAYOUT.parent.mkdir(parents=True, exist_ok=True)
        LAYOUT.write_text(_LAYOUT)

    def script(self, text: str) -> tuple[str, ...]:
        disks = " ".join(disk.path for disk in self.rack.disks.values())
        return ("sh", "-c", text.format(disks=disks))

    def create(self, argv: tuple[str, ...]) -> float:
        release()
        for disk in self.rack.disks.values():
            disk.blank()
        # A fresh machine, which has never seen them.
        paths.SIGHTINGS_FILE.unlink(missing_ok=True)
        self.rack.settle()
        return _timed(argv)

    def read_bytes(self) -> int:
        """What was read of all disks since they were plugged in."""
        nodes = (disk.path.rpartition("/")[2] for disk in self.rack.disks.values())
        # Sectors of 512 bytes (Documentation/block/stat.rst).
        return 512 * sum(
            int(Path(f"/sys/block/{one}/stat").read_text().split()[2]) for one in nodes
        )

    def close(self) -> None:
        release()
        self.rack.clear()

    def assemble(self, argv: tuple[str, ...]) -> float:
        release()
        return _timed(argv)


def main(pairs: int) -> None:
    must_be_guest()
    rack.load()
    found: dict[str, dict[str, object]] = {}
    for what, mib in _PATHS.items():
        bench = Bench(mib)
        times: dict[str, list[float]] = {"ours": [], "script": []}
        read: dict[str, list[int]] = {"ours": [], "script": []}
        bench.create(_OURS)  # once to fill the caches of both
        ways = (("script", bench.script(_CREATE)), ("ours", _OURS))
        if what == "assemble":
            ways = (("script", bench.script(_ASSEMBLE)), ("ours", _OURS))
        for _ in range(pairs):
            for name, argv in ways:
                before = bench.read_bytes()
                deed = bench.assemble if what == "assemble" else bench.create
                times[name].append(deed(argv))
                read[name].append(bench.read_bytes() - before)
        medians = {name: statistics.median(each) for name, each in times.items()}
        found[what] = {
            "pairs": pairs,
            "seconds": times,
            "median_seconds": medians,
            "median_read_bytes": {name: statistics.median(each) for name, each in read.items()},
            "ratio": medians["ours"] / medians["script"],
        }
        RESULTS.write_text(json.dumps(found))
        bench.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
