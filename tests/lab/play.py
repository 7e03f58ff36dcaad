"""Playing a scenario of the catalogue on the guest's disks.

The appliance's own entry points are called as its units and commands call them, in this
process, because starting Python takes half a second in the guest. Before each, every disk is
hashed; afterwards every disk that the scenario does not name must have the same bytes.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from appliance import paths
from appliance.clouds.machine import read_machine
from appliance.errors import OperatorError
from appliance.model.disks import Machine
from appliance.model.plans import Decision
from appliance.storage.execute import boot, executor
from appliance.storage.execute.request_spool import Request
from appliance.storage.probe import devices
from tests.lab.catalogue import Deed, Expected, Scenario, size_of
from tests.lab.rack import Rack
from tests.lab.shapes import write
from tests.lab.shell import sh

LAYOUT = Path("/etc/stripewright/layout.toml")
STATE = Path("/run/stripewright/state.json")
HISTORY = Path("/var/lib/stripewright")
MACHINE_ID = Path("/etc/machine-id")
_UNITS = Path("/etc/systemd/system")
# Files of the guest that a scenario may replace; what was there before comes back.
_REPLACEABLE = (
    "/etc/fstab",
    "/etc/crypttab",
    "/etc/waagent.conf",
    "/etc/cloud/cloud.cfg.d/90-lab.cfg",
)


class Player:
    """One scenario, from blank disks to the last outcome."""

    def __init__(self, scenario: Scenario, rack: Rack) -> None:
        self._scenario, self._rack = scenario, rack
        self._planned: tuple[Request, str] | None = None
        self._descriptors: list[int] = []
        self._before: dict[str, str] = {}
        # Disks that the scenario has let the appliance use.
        self._ours: set[str] = set()

    def play(self) -> None:
        self._set_up()
        with machine(self._scenario.expected_disks, self._scenario.provider):
            for deed in self._scenario.deeds:
                try:
                    self._do(deed)
                except AssertionError as error:
                    raise AssertionError(f"{deed.where} {deed.verb}: {error}") from error

    # ---- before and after

    def _set_up(self) -> None:
        one = self._scenario
        for name, disk in one.disks.items():
            made = self._rack.add(
                name, disk.size_bytes, kind=disk.kind, serial=disk.serial, discard=disk.discard
            )
            if disk.shape:
                write(made.file, disk.shape, disk.size_bytes, disk.label)
            if disk.byte_at is not None:
                with made.file.open("r+b") as file:
                    file.seek(disk.byte_at % disk.size_bytes)
                    file.write(b"\x01")
            if disk.plugged:
                made.plug()
        self._rack.settle()
        for name, disk in one.disks.items():
            if disk.read_only:
                sh("blockdev", "--setro", self._rack.disks[name].path)
        MACHINE_ID.write_text(one.machine_id + "\n")
        for path, text in one.files.items():
            assert path in _REPLACEABLE, f"machine.files: only {', '.join(_REPLACEABLE)}"
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(self._named(text))
        if (one.folder / "layout.toml").exists():
            self._install("layout.toml")

    def clean_up(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        release()
        # Its first line is the heading.
        if len(Path("/proc/swaps").read_text().splitlines()) > 1:
            sh("swapoff", "-a", check=False)
        self._rack.clear()
        forgotten = (*HISTORY.glob("history.db*"), paths.SIGHTINGS_FILE)
        for path in (LAYOUT, STATE, *forgotten, *map(Path, _REPLACEABLE)):
            path.unlink(missing_ok=True)
        shutil.rmtree(HISTORY / "live", ignore_errors=True)
        # Units that were written, and programs that stood before the real ones.
        for left in (*_UNITS.glob("mnt-*.mount"), *Path("/usr/local/sbin").iterdir()):
            left.unlink()
        for folder in Path("/mnt").iterdir():
            if folder.is_symlink():
                folder.unlink()
            elif folder.name != "checkout" and not folder.is_mount():
                shutil.rmtree(folder, ignore_errors=True)

    def _named(self, text: str) -> str:
        """``{d1}`` is the kernel's node of disk d1, ``{d1.serial}`` its serial."""
        for name, disk in self._rack.disks.items():
            text = text.replace(f"{{{name}.serial}}", disk.serial)
            if f"{{{name}}}" in text:
                text = text.replace(f"{{{name}}}", disk.path)
        return text

    def _install(self, name: str) -> None:
        LAYOUT.parent.mkdir(parents=True, exist_ok=True)
        LAYOUT.write_text(self._layout(name))

    def _layout(self, name: str) -> str:
        return self._named((self._scenario.folder / name).read_text())

    # ---- the verbs

    def _do(self, deed: Deed) -> None:
        verb: Callable[[Any, Expected], None] = getattr(self, f"_{deed.verb}")
        verb(deed.argument, deed.expected)

    def _boot(self, _: bool, expected: Expected) -> None:
        with self._untouched(expected):
            code, said = _called(lambda: executor.boot(LAYOUT))
        state = json.loads(STATE.read_text())
        self._judge(state["volumes"], code, f"{state['message']}\n{said}", expected)

    def _boot_late(self, when: Mapping[str, Any], expected: Expected) -> None:
        """Boot, and have the disks ``plug`` arrive ``after_seconds`` later."""
        late = [self._rack.disks[name] for name in when["plug"]]

        def arrive() -> None:
            for disk in late:
                disk.plug()

        timer = threading.Timer(float(when["after_seconds"]), arrive)
        timer.start()
        try:
            self._boot(True, expected)
        finally:
            timer.join()

    def _boot_killed(self, after_seconds: float, expected: Expected) -> None:
        """Boot, killed with all that it has started, if it is not over by then."""
        with self._untouched(expected):
            child = os.fork()
            if not child:
                os.setpgid(0, 0)
                try:
                    _called(lambda: executor.boot(LAYOUT))
                finally:
                    os._exit(0)
            with contextlib.suppress(PermissionError):
                os.setpgid(child, child)
            time.sleep(after_seconds)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            sh("udevadm", "settle")

    def _plan(self, orders: Mapping[str, Any], expected: Expected) -> None:
        unknown = set(orders) - {"layout", "remove", "erase"}
        assert not unknown, f"plan: unknown {', '.join(unknown)}"
        request = Request(
            layout_text=self._layout(orders["layout"]) if "layout" in orders else None,
            remove=tuple(orders.get("remove", ())),
            erase=tuple(self._named(one) for one in orders.get("erase", ())),
        )
        made: list[executor.Planned] = []
        # A plan never changes a disk, whatever it says; a volume that is up lives on.
        with self._untouched(replace(expected, touches=tuple(self._ours))):
            code, said = _called(lambda: made.append(executor.plan_request(request)))
        if not made:
            self._judge([], code, said, expected)
            return
        plan = made[0].plan
        self._planned = (request, plan.digest)
        refused = plan.decision is Decision.REFUSE
        volumes = [
            {"name": one.name, "decision": one.decision, "reason": one.reason, "hint": one.hint}
            for one in plan.volumes
        ]
        commands = "\n".join(" ".join(step.argv) for step in plan.steps)
        self._judge(volumes, 3 if refused else 0, said, expected, commands)
        destroyed = {lost.serial for step in plan.steps for lost in step.destroys}
        wanted = {self._rack.disks[name].serial for name in expected.destroys}
        assert not expected.destroys or destroyed == wanted, f"destroys {destroyed}, not {wanted}"

    def _apply(self, _: bool, expected: Expected) -> None:
        """Confirm the last plan."""
        assert self._planned, "nothing was planned"
        request, digest = self._planned
        with self._untouched(expected):
            code, said = _called(lambda: executor.apply_confirmed(request, digest))
        self._judge([], code, said, expected)

    def _release(self, _: bool, __: Expected) -> None:
        release()

    def _unplug(self, names: list[str], _: Expected) -> None:
        for name in names:
            self._rack.disks[name].pull()
        self._rack.settle()

    def _plug(self, names: list[str], _: Expected) -> None:
        for name in names:
            self._rack.disks[name].plug()
        self._rack.settle()

    def _blank(self, names: list[str], _: Expected) -> None:
        for name in names:
            self._rack.disks[name].blank()
        sh("udevadm", "settle")

    def _enlarge(self, sizes: Mapping[str, str], _: Expected) -> None:
        for name, size in sizes.items():
            self._rack.disks[name].enlarge(size_of(size, "enlarge"))
        sh("udevadm", "settle")

    def _shape(self, shapes: Mapping[str, str], _: Expected) -> None:
        for name, shape in shapes.items():
            disk = self._rack.disks[name]
            write(Path(disk.path), shape, disk.size_bytes, "pgdata")
        sh("udevadm", "settle")

    def _put(self, places: Mapping[str, int], _: Expected) -> None:
        """One byte on each of the disks, at an offset; negative: from the end."""
        for name, offset in places.items():
            disk = self._rack.disks[name]
            descriptor = os.open(disk.path, os.O_WRONLY)
            try:
                os.pwrite(descriptor, b"\x01", offset % disk.size_bytes)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sh("udevadm", "settle")

    def _run(self, argv: list[str], _: Expected) -> None:
        sh(*map(self._named, argv))
        sh("udevadm", "settle")

    def _fails(self, argv: list[str], _: Expected) -> None:
        done = subprocess.run(
            [self._named(one) for one in argv], capture_output=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode, f"{argv} succeeded"

    def _write(self, files: Mapping[str, str], _: Expected) -> None:
        for path, text in files.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text)

    def _read(self, files: Mapping[str, str], _: Expected) -> None:
        for path, text in files.items():
            found = Path(path).read_text()
            assert found == text, f"{path} holds {found!r}"

    def _absent(self, paths: list[str], _: Expected) -> None:
        for path in paths:
            assert not os.path.lexists(path), f"{path} is still there"

    def _declare(self, name: str, _: Expected) -> None:
        self._install(name)

    def _link(self, links: Mapping[str, str], _: Expected) -> None:
        """Symbolic links: path -> target."""
        for path, target in links.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).symlink_to(target)

    def _machine_id(self, text: str, _: Expected) -> None:
        """As on another machine, or as after an image was copied."""
        MACHINE_ID.write_text(text + "\n")

    def _hold(self, name: str, _: Expected) -> None:
        """Another program opens the disk exclusively and keeps it open."""
        self._descriptors.append(os.open(self._rack.disks[name].path, os.O_RDWR | os.O_EXCL))

    def _same_bytes(self, names: list[str], _: Expected) -> None:
        """The disks hold what they held before the appliance's last deed."""
        for name in names:
            assert self._rack.disks[name].contents() == self._before[name], f"{name} changed"

    # ---- judging

    @contextlib.contextmanager
    def _untouched(self, expected: Expected) -> Iterator[None]:
        self._before = self._rack.contents()
        self._ours |= set(expected.touches)
        yield
        after = self._rack.contents()
        changed = {name for name, one in self._before.items() if after[name] != one}
        wrong = changed - set(expected.touches)
        assert not wrong, f"bytes changed on {', '.join(sorted(wrong))}"

    def _judge(
        self,
        volumes: Sequence[Mapping[str, Any]],
        code: int,
        said: str,
        expected: Expected,
        commands: str = "",
    ) -> None:
        seen = {one["name"]: str(one["decision"]) for one in volumes}
        reasons = "\n".join(f"{one['reason']}\n{one['hint']}" for one in volumes)
        report = f"{seen} exit {code}\nreasons: {reasons}\nsaid: {said}\ncommands: {commands}"
        wanted = dict(expected.decisions)
        if "" in wanted:
            assert len(seen) == 1, f"one decision for several volumes: {report}"
            wanted = dict.fromkeys(seen, wanted[""])
        if wanted:
            differing = {k: v for k, v in wanted.items() if seen.get(k) != v}
            assert not differing, f"wanted {wanted}, got {report}"
        assert code == expected.exit, f"wanted exit {expected.exit}, got {report}"
        for one in volumes:
            if one["decision"] == "refuse":
                assert one["hint"], f"a refusal without a way on: {report}"
        for fragments, text in (
            (expected.reason, reasons),
            (expected.message, said),
            (expected.error, said),
            (expected.commands, commands),
        ):
            for fragment in map(self._named, fragments):
                assert fragment in text, f"{fragment!r} is missing in {report}"
        for fragment in map(self._named, expected.never):
            assert fragment not in f"{reasons}\n{said}\n{commands}", f"{fragment!r} is in {report}"
        for mount in expected.mounted:
            assert Path(mount).is_mount(), f"{mount} is not mounted: {report}"
        for mount in expected.unmounted:
            assert not Path(mount).is_mount(), f"{mount} is mounted: {report}"


@contextlib.contextmanager
def machine(expected_disks: int | None, provider: str = "gcp") -> Iterator[None]:
    """The machine as a scenario has it; User Mode Linux has no DMI to read it from."""
    real = read_machine

    def read(**where: Any) -> Machine:
        return replace(
            real(**where),
            provider=provider,
            machine_type="lab.large" if expected_disks is not None else "",
            expected_disks=expected_disks,
        )

    with (
        mock.patch.object(devices, "read_machine", read),
        # Disks of an unknown machine type are waited for; here none comes unannounced.
        mock.patch.object(boot, "_SETTLE_SECONDS", 0.5),
    ):
        yield


def _called(function: Callable[[], Any]) -> tuple[int, str]:
    """The exit code that the command would have, and what it would print."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
            code = function()
    except OperatorError as error:
        return error.exit_code, f"{said.getvalue()}{error.message}\n{error.hint}"
    return code if isinstance(code, int) else 0, said.getvalue()


def release() -> None:
    """Let go of everything that was built, as a shutdown does."""
    for line in reversed(Path("/proc/self/mountinfo").read_text().splitlines()):
        mount = line.split()[4]
        if mount.startswith(("/mnt/", "/run/elsewhere")) and mount != "/mnt/checkout":
            sh("umount", mount, check=False)
    # Each of these takes the guest a tenth of a second, and most scenarios need none of them.
    if _block_devices("md"):
        sh("mdadm", "--stop", "--scan", check=False)
        sh("udevadm", "settle")
    if _block_devices("dm-"):
        sh("dmsetup", "remove_all", "--retry", check=False)
        sh("udevadm", "settle")


def _block_devices(kind: str) -> bool:
    return any(one.name.startswith(kind) for one in Path("/sys/block").iterdir())
