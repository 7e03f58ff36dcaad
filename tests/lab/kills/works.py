"""The works that are killed: what the disks are before, what is done, what must be at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from appliance.storage.execute import executor
from appliance.storage.execute.finalizer import Places
from appliance.storage.execute.request_spool import Request
from tests.lab.kills.names import BYSTANDER, NAMES
from tests.lab.play import MACHINE_ID, machine, release
from tests.lab.rack import MIB, Rack
from tests.lab.shapes import write
from tests.lab.shell import sh

MOUNT = Path("/mnt/data")
KEPT = "written before the work"
_MACHINE_ID = "0123456789abcdef0123456789abcdef"
_WITHOUT = "volume = []\n"


@dataclass(frozen=True, slots=True)
class Work:
    """One change of disks, from a state that is made once to a state that must be reached.

    ``request`` is what an operator confirms, ``None`` where boot does it. ``disks`` are plugged
    and the volume made of them if ``made``; then ``blanked``, ``enlarged`` and ``added`` happen.
    """

    name: str
    layout: str
    disks: Mapping[str, int]
    kind: str = "local-ssd"
    made: bool = False
    blanked: tuple[str, ...] = ()
    enlarged: Mapping[str, int] = field(default_factory=dict)
    added: Mapping[str, int] = field(default_factory=dict)
    request: Request | None = None
    mounted: bool = True
    kept: bool = False

    @property
    def expected_disks(self) -> int | None:
        return len(self.disks) if self.kind == "local-ssd" else None


def _layout(stripe: str, *, filesystem: str = "ext4", role: bool = False, **keys: str) -> str:
    lines = [
        "[[volume]]",
        'name = "data"',
        f'stripe = "{stripe}"',
        f'filesystem = "{filesystem}"',
        f'mount = "{MOUNT}"',
        'wait = "1s"',
        *(f'{key} = "{value}"' for key, value in keys.items()),
    ]
    if role:
        lines += ['select = { role = "data" }', "", "[[rule]]", 'model = "PersistentDisk"']
        lines += [f"serials = {[f'LAB{at:05d}' for at in range(1, 9)]}", 'role = "data"']
    return "\n".join(lines) + "\n"


def _disks(count: int, mib: int, first: int = 1) -> dict[str, int]:
    return {f"d{number}": mib * MIB for number in range(first, first + count)}


def _works() -> list[Work]:
    found = []
    sizes = {"single": (1, 64), "md-raid0": (2, 32), "md-raid10": (4, 32), "lvm-stripe": (2, 32)}
    for stripe, (count, mib) in sizes.items():
        disks = _disks(count, mib)
        found.append(Work(f"create-{stripe}", _layout(stripe), disks))
        found.append(
            Work(f"remove-{stripe}", _layout(stripe), disks, made=True,
                 request=Request(layout_text=_WITHOUT, remove=("data",)), mounted=False)
        )  # fmt: skip
        found.append(
            Work(f"grow-{stripe}", _layout(stripe, role=True), disks, kind="network", made=True,
                 enlarged=_disks(count, mib + 96), request=Request(), kept=True)
        )  # fmt: skip
    for stripe in ("md-raid0", "lvm-stripe"):
        found.append(
            Work(f"recreate-{stripe}", _layout(stripe, on_loss="recreate"), _disks(2, 32),
                 made=True, blanked=("d2",))
        )  # fmt: skip
    found.append(
        Work("grow-lvm-stripe-by-disks", _layout("lvm-stripe", role=True), _disks(2, 32),
             kind="network", made=True, added=_disks(2, 32, first=3), request=Request(), kept=True)
    )  # fmt: skip
    # XFS takes 300 MiB or more.
    for stripe, (count, _) in sizes.items():
        xfs = _layout(stripe, filesystem="xfs")
        mib = 400 if stripe == "md-raid10" else 640 // count
        found.append(Work(f"create-{stripe}-xfs", xfs, _disks(count, mib)))
    return found


WORKS: Mapping[str, Work] = {one.name: one for one in _works()}
assert set(WORKS) == set(NAMES)


class Stage:
    """The disks of one work in a guest. ``layout`` is where the layout lies."""

    def __init__(self, work: Work, rack: Rack, places: Places) -> None:
        self.work, self.rack, self.places = work, rack, places

    def attach(self) -> None:
        """Put every disk in, with what its file holds."""
        for name, size_bytes in {
            **self.work.disks,
            **self.work.enlarged,
            **self.work.added,
        }.items():
            self.rack.add(name, size_bytes, kind=self.work.kind).plug()
        self.rack.add(BYSTANDER, 64 * MIB, kind="network", serial="BYSTANDER").plug()
        self.rack.settle()
        MACHINE_ID.write_text(_MACHINE_ID + "\n")

    def prepare(self) -> None:
        """From blank disks to the state in which the work begins, everything let go of."""
        for name, size_bytes in self.work.disks.items():
            self.rack.add(name, size_bytes, kind=self.work.kind).plug()
        for name, size_bytes in self.work.added.items():
            self.rack.add(name, size_bytes, kind=self.work.kind)
        other = self.rack.add(BYSTANDER, 64 * MIB, kind="network", serial="BYSTANDER")
        write(other.file, "ext4", other.size_bytes, "pgdata")
        other.plug()
        self.rack.settle()
        MACHINE_ID.write_text(_MACHINE_ID + "\n")
        self.declare()
        if self.work.made:
            assert self.boot() == 0, "the volume could not be made"
            sh("mdadm", "--wait", "/dev/md/data", check=False)
            (MOUNT / "kept").write_text(KEPT)
            release()
        for name in self.work.blanked:
            self.rack.disks[name].blank()
        for name, size_bytes in self.work.enlarged.items():
            self.rack.disks[name].enlarge(size_bytes)
        for name in self.work.added:
            self.rack.disks[name].plug()
        self.rack.settle()

    def declare(self) -> None:
        self.places.layout.parent.mkdir(parents=True, exist_ok=True)
        self.places.layout.write_text(self.work.layout)

    def boot(self) -> int:
        with machine(self.work.expected_disks):
            return executor.boot(self.places.layout, places=self.places)

    def do(self) -> None:
        """The work itself; with a request after a boot, as the operator finds the machine."""
        if self.work.request is None:
            assert self.boot() == 0
            return
        self.apply()

    def apply(self) -> None:
        assert self.work.request is not None
        with machine(self.work.expected_disks):
            made = executor.plan_request(self.work.request, places=self.places)
            code = executor.apply_confirmed(self.work.request, made.plan.digest, places=self.places)
        assert code == 0, f"apply: exit {code}"

    def converge(self) -> None:
        """Boot, then the same request again: it must come to the end, whatever was before."""
        code = self.boot()
        assert code == 0, f"boot: exit {code}: {self.places.state.read_text()}"
        request = self.work.request or Request()
        for _ in range(2):
            with machine(self.work.expected_disks):
                plan = executor.plan_request(request, places=self.places).plan
            if not plan.steps:
                break
            assert self.work.request is not None, f"boot did not end it: {plan}"
            self.apply()
        assert not plan.steps, f"still to do: {[' '.join(step.argv) for step in plan.steps]}"
        assert MOUNT.is_mount() == self.work.mounted, f"mounted: {MOUNT.is_mount()}: {plan.volumes}"
        if self.work.kept:
            assert (MOUNT / "kept").read_text() == KEPT
