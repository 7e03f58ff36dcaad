"""A machine with volumes of ours in the guest, and what a drift check says of it.

Each check is what the units run: root's own look first, then ``drift check`` as the service's
user, each in a process of its own. They are forked from this one, because starting Python takes
half a second in the guest.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pwd
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.cli import drift, main, units
from appliance.errors import EXIT_DRIFT, EXIT_OK
from appliance.history import queries
from appliance.model.findings import DriftSeverity
from appliance.storage.execute import executor
from appliance.storage.execute.request_spool import Request
from tests.lab.play import LAYOUT, MACHINE_ID, STATE, machine, release
from tests.lab.rack import MIB, DiskOfLab, Rack
from tests.lab.shell import sh

VOLUME = "data"
MOUNT = Path("/mnt/data")
LINK = Path("/dev/stripewright") / VOLUME
DISK_BYTES = 256 * MIB
# Checks go over in a fraction of this; a hanging filesystem may cost the look its patience.
MOST_SECONDS = 12.0
_MACHINE_ID = "0123456789abcdef0123456789abcdef"
_ERRORS = Path("/run/called.err")


def layout_text(stripe: str, *, filesystem: str = "xfs", more: str = "", **keys: str) -> str:
    """One volume of all local disks."""
    lines = [
        "[[volume]]",
        f'name = "{VOLUME}"',
        f'stripe = "{stripe}"',
        f'filesystem = "{filesystem}"',
        f'mount = "{MOUNT}"',
        'wait = "1s"',
        *(f'{key} = "{value}"' for key, value in keys.items()),
        more,
    ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Called:
    """What a command did. ``cpu_seconds`` are its own and those of the programs it started."""

    exit: int
    out: str
    err: str
    seconds: float
    cpu_seconds: float


def called(*argv: str, user: str = "") -> Called:
    """``stripewright ARGV`` in a process of its own, as ``user`` if one is given."""
    return in_child(lambda: main.main(list(argv)), user=user)


def in_child(work: Callable[[], int], *, user: str = "") -> Called:
    """``work`` in a process of its own; its exit status is what it returns."""
    reading, writing = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.close(reading)
            os.dup2(writing, 1)
            os.dup2(os.open(_ERRORS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 2)
            if user:
                _become(user)
            code = work()
        except BaseException:  # the parent shall read of it
            traceback.print_exc()
        finally:
            with contextlib.suppress(OSError):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        out = pipe.read().decode()
    _, status, usage = os.wait4(child, 0)
    return Called(
        exit=os.waitstatus_to_exitcode(status),
        out=out,
        err=_ERRORS.read_text(),
        seconds=time.monotonic() - began,
        cpu_seconds=usage.ru_utime + usage.ru_stime,
    )


def _become(user: str) -> None:
    entry = pwd.getpwnam(user)
    os.initgroups(user, entry.pw_gid)
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
    # Its own /proc would stay root's until the next execve (prctl(2), PR_SET_DUMPABLE).
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Seen:
    """One check: ``open`` are the findings that are not closed, as (code, member)."""

    called: Called
    document: Mapping[str, Any]

    @property
    def open(self) -> list[tuple[str, str]]:
        return sorted((one["code"], one["member"]) for one in self.document["findings"])


def stat(device: str) -> list[int]:
    """The counters of a block device by kernel name (Documentation/block/stat.rst)."""
    return [int(field) for field in Path(f"/sys/class/block/{device}/stat").read_text().split()]


class Watched:
    """The guest as a machine with ``disks`` local SSDs (d1, d2, …) of ``size_bytes``."""

    def __init__(self, rack: Rack) -> None:
        self.rack = rack
        self.expected_disks: int | None = None
        self.checks: list[Called] = []
        self.programs: list[Called] = []

    # ---- the machine

    def add(
        self, *names: str, size_bytes: int = DISK_BYTES, kind: str = "local-ssd", slow: bool = False
    ) -> None:
        for name in names:
            if slow:
                self.rack.add_slow(name, size_bytes).plug()
            else:
                self.rack.add(name, size_bytes, kind=kind).plug()
        self.rack.settle()

    @contextlib.contextmanager
    def with_network_disks(self, *names: str, size_bytes: int = 64 * MIB) -> Iterator[None]:
        """Network disks that are there for a while; what they hold goes with them."""
        self.add(*names, kind="network", size_bytes=size_bytes)
        yield
        for name in reversed(names):
            self.rack.disks.pop(name).remove()
        sh("udevadm", "settle")

    def disk(self, name: str) -> DiskOfLab:
        return self.rack.disks[name]

    def serial(self, name: str) -> str:
        return self.disk(name).serial

    def path(self, name: str) -> str:
        return self.disk(name).path

    def kernel_name(self, name: str) -> str:
        return self.path(name).removeprefix("/dev/")

    @property
    def device(self) -> str:
        """The kernel's name of what the volume's link leads to."""
        return LINK.resolve().name

    def declare(self, text: str) -> None:
        LAYOUT.parent.mkdir(parents=True, exist_ok=True)
        LAYOUT.write_text(text)
        MACHINE_ID.write_text(_MACHINE_ID + "\n")
        # As systemd makes it for the unit of the check.
        paths.DRIFT_RUN_DIR.mkdir(exist_ok=True)
        shutil.chown(paths.DRIFT_RUN_DIR, paths.SERVICE_USER, paths.SERVICE_USER)

    def boot(self) -> None:
        with self._machine(), _silent():
            code = executor.boot(LAYOUT)
        state = json.loads(STATE.read_text())
        assert code == 0, f"boot: exit {code}: {state['message']}; {state['hint']}"
        sh("udevadm", "settle")

    def apply(self, request: Request) -> None:
        """What an operator plans and confirms."""
        with self._machine(), _silent():
            made = executor.plan_request(request)
            code = executor.apply_confirmed(request, made.plan.digest)
        assert code == 0, f"apply: exit {code}: {made.plan}"
        sh("udevadm", "settle")

    def _machine(self) -> contextlib.AbstractContextManager[None]:
        return machine(self.expected_disks)

    # ---- the check

    def check(self) -> Seen:
        """One interval: root looks, then the check runs."""
        with self._machine():
            looked = in_child(units.look)
            assert looked.exit == EXIT_OK, looked
            # Behind the command line, which takes longer to be made than the check takes.
            done = in_child(
                lambda: drift.check(db=paths.HISTORY_DB, as_json=True), user=paths.SERVICE_USER
            )
        self.checks.append(done)
        assert done.exit in {EXIT_OK, EXIT_DRIFT}, done
        assert done.seconds < MOST_SECONDS, f"the check took {done.seconds:.1f} s: {done}"
        # Without a journal its messages come here; nothing else may.
        assert "Traceback" not in done.err, done.err
        document = json.loads(done.out)
        for area in ("layout", "environment"):
            assert document["looked_at"][area]["judged"], document
        assert not document["notes"], document
        return Seen(done, document)

    def expect(self, *wanted: str) -> Seen:
        """One check finds exactly ``wanted``, each ``CODE`` or ``CODE:serial of the member``."""
        seen = self.check()
        pairs = sorted((code, member) for code, _, member in (one.partition(":") for one in wanted))
        shown = json.dumps(seen.document, indent=1)
        assert seen.open == pairs, f"wanted {pairs}, got {seen.open}: {shown}"
        alarms = any(one["severity"] != DriftSeverity.NOTICE for one in seen.document["findings"])
        code = EXIT_DRIFT if alarms else EXIT_OK
        assert seen.called.exit == code, f"wanted exit {code}, got {seen.called.exit}: {shown}"
        for one in seen.document["findings"]:
            assert one["summary"], shown
            assert one["next_step"], shown
        return seen

    def kept(self) -> list[str]:
        """The codes of every finding that history has, closed ones as well."""
        with queries.open_readonly(paths.HISTORY_DB) as reader:
            return [one.fact.code for one in reader.drift_findings(include_closed=True)]

    # ---- before and after

    def clean_up(self) -> None:
        for unused in Path("/mnt").iterdir():
            while unused.name != "checkout" and unused.is_mount():
                sh("umount", str(unused))
        release()
        self.rack.clear()
        for path in (LAYOUT, STATE, paths.SEEN_FILE, paths.CONFIRM_WANTED):
            path.unlink(missing_ok=True)
        for path in (*paths.HISTORY_DB.parent.glob("history.db*"), *paths.UNIT_DIR.glob("mnt-*")):
            path.unlink()
        shutil.rmtree(paths.HISTORY_DB.parent / "live", ignore_errors=True)
        shutil.rmtree(paths.DRIFT_RUN_DIR, ignore_errors=True)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    with (
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        yield


def fio(seconds: float, *, rw: str = "randrw") -> Sequence[str]:
    """Arguments of an fio that keeps the stripe busy."""
    return (
        *("fio", "--thread", "--name=busy", f"--rw={rw}", "--bs=4k", "--direct=1"),
        *("--ioengine=libaio", "--iodepth=4", "--size=16M", f"--filename={MOUNT}/busy"),
        *("--time_based", f"--runtime={seconds}"),
        # What is in flight when a disk is pulled fails with ENODEV.
        *("--continue_on_error=all", "--ignore_error=EIO:ENODEV,EIO:ENODEV"),
    )
