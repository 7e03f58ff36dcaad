"""A disk that is slow: at first boot, and one that becomes so. Real runs on real block devices.

The disks take 20 ms for each I/O (two ticks of the guest's clock) and the slow one 90, so that
it is they that are measured and not the guest's processor.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any
from unittest import mock

from appliance import paths
from appliance.bench.suite import load_suite
from appliance.cli import drift_confirm
from appliance.drift.series import remeasure
from appliance.errors import EXIT_DRIFT
from tests.lab.drift import measured
from tests.lab.drift.watched import Seen, Watched, called, in_child

_SLOW_MS = 80
_SLOW = "d3"
# What the rule about members sees; the guest's processor is shared, so that more may be suspect.
_OF_DISKS = {"PERF-MEMBER", "PERF-LATENCY-MODE", "PERF-SLOWER"}


def a_disk_that_is_slow_at_first_boot(machine: Watched) -> None:
    measured.make(machine)
    measured.delay(machine, _SLOW, _SLOW_MS)
    smoke = load_suite("smoke")
    reads = [job for job in smoke.jobs if job.name == "rand-read-4k"]
    short = dataclasses.replace(
        smoke, jobs=tuple(dataclasses.replace(job, runtime_seconds=2.0) for job in reads)
    )

    def accept() -> int:
        measured.hurry()
        with mock.patch.object(remeasure, "load_suite", return_value=short):
            return drift_confirm.accept(db=paths.HISTORY_DB, as_json=True)

    done = in_child(accept, user=paths.SERVICE_USER)
    assert done.exit == EXIT_DRIFT, done
    said = json.loads(done.out)
    assert said["healthy"] is False, said
    serial = machine.serial(_SLOW)
    assert [(one["code"], one["member"]) for one in said["facts"]] == [("PERF-MEMBER", serial)]
    machine.expect(f"PERF-MEMBER:{serial}")


def a_member_becomes_slow(machine: Watched) -> None:
    serial = machine_with_a_past(machine)
    measured.delay(machine, _SLOW, _SLOW_MS)
    seen = _after_a_run(machine)
    assert not _of_disks(seen), "one slot is not two of three"
    seen = _after_a_run(machine)
    assert _of_disks(seen)[("PERF-MEMBER", serial)] == "suspect", seen.document
    assert seen.called.exit == 0, "nobody is woken for what is only suspected"
    assert paths.CONFIRM_WANTED.exists()

    verdicts = _repeated()
    assert verdicts["PERF-MEMBER"] == "confirmed", verdicts
    assert not paths.CONFIRM_WANTED.exists()
    seen = machine.check()
    assert _of_disks(seen)[("PERF-MEMBER", serial)] == "confirmed", seen.document
    assert seen.called.exit == EXIT_DRIFT

    measured.delay(machine, _SLOW, measured.USUAL_MS)
    for _ in range(3):
        seen = _after_a_run(machine)
    # Of PERF-LATENCY-MODE nothing is asked: a guest on a busy host has slow I/Os of its own.
    assert "PERF-MEMBER" not in {code for code, _ in _of_disks(seen)}, seen.document
    assert "PERF-MEMBER" in machine.kept()


def machine_with_a_past(machine: Watched) -> str:
    """Forty slots of ten days, and nothing to be found in them; the serial of the disk to be."""
    measured.go_back()
    measured.make(machine)
    machine.expect()
    measured.run_suite()
    measured.make_a_past()
    seen = machine.check()
    assert not _of_disks(seen), seen.document
    return machine.serial(_SLOW)


def _after_a_run(machine: Watched) -> Seen:
    measured.pass_time(6 * measured.HOUR)
    measured.run_suite()
    return machine.check()


def _of_disks(seen: Seen) -> dict[tuple[str, str], str]:
    return {
        (one["code"], one["member"]): one["state"]
        for one in seen.document["findings"]
        if one["code"] in _OF_DISKS
    }


def _repeated() -> dict[str, Any]:
    """``drift confirm``: verdicts by code."""

    def confirm() -> int:
        measured.hurry()
        return drift_confirm.confirm(db=paths.HISTORY_DB, as_json=True)

    made = json.loads(measured.as_service(confirm).out)["confirmations"]
    return {one["code"]: one["verdict"] for one in made}


def all_members_become_slower(machine: Watched) -> None:
    """As volumes that are throttled: no disk is to blame, and it may be accepted."""
    machine_with_a_past(machine)
    for name in measured.DISKS:
        measured.delay(machine, name, 2 * measured.USUAL_MS)
    seen = _after_a_run(machine)
    first_slow = measured.latest_run()
    for _ in range(2):
        seen = _after_a_run(machine)
    assert _of_disks(seen) == {("PERF-SLOWER", ""): "suspect"}, seen.document
    (found,) = (one for one in seen.document["findings"] if one["code"] == "PERF-SLOWER")
    assert abs(found["evidence"]["change_run"] - first_slow) <= 1, found

    assert _repeated()["PERF-SLOWER"] == "confirmed"
    seen = machine.check()
    assert _of_disks(seen) == {("PERF-SLOWER", ""): "confirmed"}, seen.document
    assert seen.called.exit == EXIT_DRIFT

    approved = called("drift", "approve", str(found["id"]), user=paths.SERVICE_USER)
    assert approved.exit == 0, approved
    seen = _after_a_run(machine)
    assert not _of_disks(seen), seen.document
