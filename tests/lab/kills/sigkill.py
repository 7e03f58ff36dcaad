"""Guest program: SIGKILL at every point of the works of the queue, then boot and apply.

The work runs in a forked child of its own process group, so that what it has started dies with
it, as in a unit of systemd.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from appliance.storage.execute.finalizer import Places
from tests.lab import rack
from tests.lab.guest import DISKS, RESULTS, load_all, must_be_guest, taken
from tests.lab.kills.names import BYSTANDER
from tests.lab.kills.points import Point, Seen, points, recorded, reporting
from tests.lab.kills.works import WORKS, Stage
from tests.lab.play import release
from tests.lab.shell import sh

Result = TypeVar("Result")
SAVED = Path("/tmp/saved")


class Range:
    """One work in this guest: set it up once, put it back for every shot."""

    def __init__(self, name: str) -> None:
        self.stage = Stage(WORKS[name], rack.Rack(DISKS), Places())
        self.bystander = ""

    def open(self) -> None:
        self.stage.prepare()
        self.bystander = self.stage.rack.disks[BYSTANDER].contents()
        shutil.rmtree(SAVED, ignore_errors=True)
        SAVED.mkdir()
        for disk in self.stage.rack.disks.values():
            disk.flush()
            sh("cp", "--sparse=always", str(disk.file), str(SAVED / disk.file.name))

    def reset(self) -> None:
        self.put_back(SAVED)
        if self.stage.work.request is not None:
            assert quiet(self.stage.boot) == 0, "boot before the work"

    def put_back(self, folder: Path, change: Callable[[], None] = lambda: None) -> None:
        """Have the disks hold what ``folder`` holds, then ``change`` their files."""
        release()
        disks = self.stage.rack.disks.values()
        for disk in disks:
            disk.flush()
            # Not another file: the target has this one open.
            sh("cp", "--sparse=always", "--no-preserve=all", str(folder / disk.file.name),
               str(disk.file))  # fmt: skip
        change()
        for disk in disks:
            disk.forget_cache()
        self.stage.rack.settle()
        for line in Path("/mnt").iterdir():
            if line.name != "checkout":
                shutil.rmtree(line, ignore_errors=True)
        for history in Path("/var/lib/stripewright").glob("history.db*"):
            history.unlink()
        shutil.rmtree("/var/lib/stripewright/live", ignore_errors=True)
        self.stage.declare()

    def learn(self) -> list[Seen]:
        """The steps of the work when nobody disturbs it."""
        seen: list[Seen] = []
        with recorded(seen):
            quiet(self.stage.do)
        return seen

    def shoot(self, point: Point, seconds: float) -> bool:
        """Run the work and kill it at ``point``; ``seconds`` is what that step takes.

        Whether it was hit: a step may be over before its time.
        """
        told, tell = os.pipe()
        child = os.fork()
        if not child:
            os.close(told)
            os.setpgid(0, 0)
            _be_shot(self.stage, point, tell)
        os.close(tell)
        with contextlib.suppress(PermissionError):
            os.setpgid(child, child)
        os.read(told, 1)
        os.close(told)
        if point.where == "in":
            time.sleep(seconds * point.part)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        _gone(child)
        return os.WIFSIGNALED(status)

    def prove(self, *, reboot: bool) -> None:
        if reboot:
            release()
        quiet(self.stage.converge)
        assert self.stage.rack.disks[BYSTANDER].contents() == self.bystander, "bystander changed"

    def close(self) -> None:
        release()
        self.stage.rack.clear()


def _gone(group: int) -> None:
    """Wait, as systemd does, until nothing of it is left: a fork holds the lock until it dies."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise AssertionError(f"process group {group} does not end")


def _be_shot(stage: Stage, point: Point, tell: int) -> None:
    def reached() -> None:
        os.write(tell, b"!")
        if point.where != "in":
            time.sleep(60)

    code = 1
    try:
        with reporting(point, reached), contextlib.redirect_stderr(io.StringIO()):
            stage.do()
        code = 0
    finally:
        os._exit(code)


def quiet(function: Callable[[], Result]) -> Result:
    with contextlib.redirect_stderr(io.StringIO()):
        return function()


def main(quick: bool) -> None:
    must_be_guest()
    rack.load()
    load_all()
    done: dict[str, dict[str, object]] = {}
    for name in taken():
        began = time.monotonic()
        place = Range(name)
        failures: list[str] = []
        tried = hit = 0
        seen: list[Seen] = []
        try:
            place.open()
            place.reset()
            seen = place.learn()
            assert seen, "the work has no step"
            for at, point in enumerate(points(seen, quick=quick)):
                place.reset()
                try:
                    tried += 1
                    hit += place.shoot(point, seen[point.step].seconds)
                    place.prove(reboot=at % 2 == 0)
                except Exception as error:  # the other points must still be tried
                    failures.append(f"{point} ({seen[point.step].command}): {error!r}")
                    print(f"{name}: {failures[-1]}", flush=True)
        except Exception:
            failures.append(traceback.format_exc())
        finally:
            place.close()
        done[name] = {
            "tried": tried,
            "hit": hit,
            "failures": failures,
            "steps": [one.command for one in seen],
            "seconds": round(time.monotonic() - began, 1),
        }
        print(f"{name}: {tried} points, {hit} hit, {len(failures)} failures", flush=True)
        RESULTS.write_text(json.dumps(done, indent=1))


if __name__ == "__main__":
    main(quick="quick" in sys.argv[1:])
