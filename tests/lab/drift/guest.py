"""Guest program: plays the scenarios of its queue, and writes down what came of each."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable, Iterable, Mapping

from tests.lab import rack
from tests.lab.drift import deeds, ordinary, slow
from tests.lab.drift.watched import Watched
from tests.lab.guest import DISKS, RESULTS, load_all, must_be_guest, taken

# These make their own volume.
PARTS: Mapping[str, Callable[[Watched], None]] = {
    one.__name__.replace("_", "-"): one
    for one in (
        ordinary.what_a_check_costs,
        ordinary.two_hours_of_ordinary_operation,
        ordinary.a_day_of_ordinary_operation,
        slow.a_disk_that_is_slow_at_first_boot,
        slow.a_member_becomes_slow,
        slow.all_members_become_slower,
    )
}


class Stage:
    """Where the scenarios are played: a machine that is left standing for the next one."""

    def __init__(self) -> None:
        self._machine = Watched(rack.Rack(DISKS))
        self._holds: deeds.Scenario | None = None

    @property
    def machine(self) -> Watched:
        return self._machine

    def play(self, name: str) -> None:
        self._machine.checks.clear()
        self._machine.programs.clear()
        if name in PARTS:
            self.clear()
            self._machine.expected_disks = None
            PARTS[name](self._machine)
            self.clear()
            return
        one = deeds.SCENARIOS[name]
        if self._holds is None or not one.alike(self._holds):
            self.clear()
            self._machine.add(*one.disks, size_bytes=one.size_bytes)
            self._machine.expected_disks = one.expected_disks
            self._machine.declare(one.layout)
            self._machine.boot()
            self._machine.expect()
        self._holds = None
        one.deed(self._machine)
        self._machine.expect()
        self._holds = one

    def clear(self) -> None:
        self._machine.clean_up()
        self._holds = None


def main(names: Iterable[str]) -> None:
    must_be_guest()
    rack.load()
    load_all()
    done: dict[str, dict[str, object]] = {}
    stage = Stage()
    for name in names:
        began = time.monotonic()
        try:
            stage.play(name)
            verdict: dict[str, object] = {"ok": True}
        except BaseException as error:  # the next scenario must still run
            verdict = {"ok": False, "error": repr(error), "trace": traceback.format_exc()}
        verdict |= {
            "seconds": round(time.monotonic() - began, 2),
            "checks_cpu_seconds": [one.cpu_seconds for one in stage.machine.checks],
            "programs_cpu_seconds": [one.cpu_seconds for one in stage.machine.programs],
        }
        done[name] = verdict
        print(f"{name}: {verdict}", flush=True)
        # Written after each, so that a guest that dies has told what it had.
        RESULTS.write_text(json.dumps(done, indent=1))


if __name__ == "__main__":
    main(taken())
