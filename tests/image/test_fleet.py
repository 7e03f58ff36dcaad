"""Twenty machines with md, XFS and fio: one has a disk that takes its time, one is slow as a whole.
Their results are exported, shipped and judged; those two are named, and nothing else.
"""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from appliance.cli import main
from tests.rig.build import Image
from tests.rig.buses import Bus, Scsi
from tests.rig.drives import blank_drives
from tests.rig.machine import Guest
from tests.rig.uml_machine import UmlMachine

pytestmark = pytest.mark.soak

MACHINES, SLOW_DISK, SLOW_MACHINE = 20, 7, 13
# One processor each, and half a minute for each job.
AT_ONCE = 2
RUN_SECONDS = 900.0
# The guest's clock has ticks of 10 ms.
DELAY_MS = 10


class DelayedScsi(Scsi):
    """Its disks can be told to take their time: device-mapper's delay lies below each, and no cache
    is in front of it.
    """

    def _store(self, number: int | str) -> str:
        return f"{self._top}/core/iblock_0/drive{number}"

    def begin(self) -> list[str]:
        return [*super().begin(), "modprobe -a loop dm-delay target_core_iblock"]

    def attach(self, number: int, kind: str, serial: str, file: str) -> list[str]:
        below = f"$(losetup --find --show {file})"
        sectors = f"$(($(stat -c %s {file}) / 512))"
        store = self._store(number)
        return [
            f'dmsetup create slow{number} --table "0 {sectors} delay {below} 0 0"',
            *(
                f"echo udev_path=/dev/mapper/slow{number} > {store}/control"
                if line.endswith(f"> {store}/control")
                else line
                for line in super().attach(number, kind, serial, file)
            ),
        ]

    def end(self) -> list[str]:
        return [*super().end(), "dmsetup remove_all", "losetup --detach-all"]


@dataclass(slots=True)
class Member(UmlMachine):
    """One machine of the fleet."""

    @property
    def bus(self) -> Bus:
        return DelayedScsi()


def delay(guest: Guest, number: int) -> None:
    """From now on drive ``number`` takes that much longer for each I/O."""
    slow = f"slow{number}"
    table = f"dmsetup table {slow} | sed 's/ 0$/ {DELAY_MS}/'"
    guest.root.sh(
        f'table="$({table})" && dmsetup suspend {slow} && dmsetup load {slow} --table "$table"'
        f" && dmsetup resume {slow} && dmsetup table {slow} | grep -q ' {DELAY_MS}$'"
    )


@pytest.fixture(scope="module")
def histories(new_machine: Callable[..., Path]) -> Iterator[Path]:
    """A folder with the history of each machine."""

    def take(image: Image, folder: Path, _: object) -> Path:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda number: measure(image, folder, number), range(MACHINES)))
        return folder / "histories"

    return new_machine(take, ())


def measure(image: Image, folder: Path, number: int) -> None:
    own = folder / f"node-{number:02d}"
    machine = Member(image, own, blank_drives(prefix=f"N{number:02d}"))
    with machine.boot(extra_cmdline=f"systemd.hostname={own.name}") as guest:
        guest.wait_until_mounted()
        for drive in range(4) if number == SLOW_MACHINE else [2] if number == SLOW_DISK else []:
            delay(guest, drive)
        guest.root.sh(
            "systemctl start --wait stripewright-bench@smoke", timeout_seconds=RUN_SECONDS
        )
        kept = guest.root.sh("base64 /var/lib/stripewright/history.db")
        history = folder / "histories" / own.name / "history.db"
        history.parent.mkdir(parents=True)
        history.write_bytes(base64.b64decode(kept))
        # User Mode Linux has no DMI that would tell a machine type.
        with closing(sqlite3.connect(history)) as connection, connection:
            connection.execute("UPDATE run SET machine_type = 'uml.4disks'")
        guest.shutdown()
    for disk in (machine.root_disk, machine.carrier.disk):
        disk.unlink()


def test_the_two_are_named_and_nothing_else(
    histories: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Some ship Parquet, the others their history.
    for number in range(MACHINES // 2):
        name = f"node-{number:02d}"
        history = histories / name / "history.db"
        argv = ["export", "parquet", "--db", str(history), "--output", str(tmp_path / "out" / name)]
        assert main.main(argv) == 0
        history.rename(history.with_suffix(".shipped"))
    fleet = str(tmp_path / "fleet")
    assert main.main(["fleet-import", str(tmp_path / "out"), str(histories), "--into", fleet]) == 0
    capsys.readouterr()
    assert main.main(["fleet", fleet, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["machines"], document["problems"]) == (MACHINES, [])
    slow_disk = blank_drives(prefix=f"N{SLOW_DISK:02d}")[2].serial
    named = {(one["machine"], one["member"]) for one in document["odd"]}
    # The stripe waits for its slow disk, so that its machine may be named as well.
    named.discard((f"node-{SLOW_DISK:02d}", None))
    assert named == {
        (f"node-{SLOW_DISK:02d}", slow_disk), (f"node-{SLOW_MACHINE:02d}", None),
    }, json.dumps(document["odd"], indent=1)  # fmt: skip
