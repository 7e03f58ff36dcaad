"""Runs of a short suite on the volume, as the service's user does them, and a past made of one."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import random
import time
from collections.abc import Callable
from unittest import mock

from appliance import paths
from appliance.bench import fingerprint, idle_check, runner
from appliance.bench.suite import parse_suite
from appliance.history import queries
from appliance.history.store import History
from appliance.model.measurement import JobResult
from appliance.model.runs import RunState
from tests.lab.drift.watched import Called, Watched, in_child, layout_text
from tests.lab.rack import SlowDisk

HOUR = 3600.0
DISKS = ("d1", "d2", "d3", "d4")
USUAL_MS = 10
LAYOUT = layout_text("md-raid0")
SUITE = parse_suite(
    "lab",
    """
summary = "random reads of a stripe of slow disks"
file_size = "32MiB"
files = 2
[[job]]
name = "rand-read-4k"
rw = "randread"
block_size = "4KiB"
iodepth = 16
jobs = 4
runtime_seconds = 3
""",
)
_SLOTS = 40
_NOISE = 0.02


def make(machine: Watched) -> None:
    """Four disks that can be made slow, and the volume of them."""
    machine.add(*DISKS, slow=True)
    machine.declare(LAYOUT)
    machine.boot()
    for name in DISKS:
        delay(machine, name, USUAL_MS)


def delay(machine: Watched, name: str, milliseconds: int) -> None:
    disk = machine.disk(name)
    assert isinstance(disk, SlowDisk)
    disk.delay(milliseconds)


def pass_time(seconds: float) -> None:
    """Put the guest's clock forward, and the boot with it: a clock that was set is a finding."""
    time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)
    with contextlib.suppress(FileNotFoundError):
        seen = json.loads(paths.SEEN_FILE.read_text())
        seen["host"]["began_at"] += seconds
        paths.SEEN_FILE.write_text(json.dumps(seen))


def as_service(work: Callable[[], int]) -> Called:
    done = in_child(work, user=paths.SERVICE_USER)
    assert done.exit == 0, done
    return done


def hurry() -> None:
    """No window before a run in which the disks are watched for others' load."""
    idle_check.WINDOW_SECONDS = 0.2


def run_suite() -> None:
    """One run of the suite, complete and valid."""

    def run() -> int:
        hurry()
        run_id = runner.run_suite(
            SUITE,
            target=fingerprint.default_target(),
            db=paths.HISTORY_DB,
            patience=idle_check.Patience(1.0),
        )
        with queries.open_readonly(paths.HISTORY_DB) as reader:
            record, (result,) = reader.run(run_id), reader.results(run_id)
        print(record.state, record.reason, result.iops, result.findings)
        return 0 if record.state is RunState.COMPLETE and result.valid else 1

    as_service(run)


def latest_run() -> int:
    with queries.open_readonly(paths.HISTORY_DB) as reader:
        return reader.runs(1)[0].id


def go_back() -> None:
    """Put the clock to where the past begins."""
    pass_time(-(_SLOTS + 1) * 6 * HOUR)


def make_a_past() -> None:
    """Forty runs after the latest one, six hours apart, each as that one but for 2 %; then it is
    the next moment to run.
    """

    def write() -> int:
        with queries.open_readonly(paths.HISTORY_DB) as reader:
            latest = reader.runs(1)[0]
            results = reader.results(latest.id)
        chance = random.Random(5)  # noqa: S311 - noise, not a secret
        now = latest.started_at
        with History.open_writable(paths.HISTORY_DB) as history:
            for slot in range(1, _SLOTS + 1):
                moment = now + slot * 6 * HOUR
                with mock.patch("time.time", lambda moment=moment: moment):
                    run_id = history.begin_run(
                        SUITE,
                        target=latest.target,
                        device=latest.device,
                        members=latest.members,
                        machine_type=latest.machine_type,
                        fio_version=latest.fio_version,
                        time_factor=1.0,
                    )
                    history.update_run(run_id, epoch_id=latest.epoch_id, engine=latest.engine)
                    for result in results:
                        factor = chance.gauss(1.0, _NOISE)
                        history.add_result(run_id, _scaled(result, factor), raw_report="{}")
                    history.finish_run(run_id, RunState.COMPLETE)
        return 0

    as_service(write)
    pass_time((_SLOTS + 1) * 6 * HOUR)


def _scaled(result: JobResult, factor: float) -> JobResult:
    return dataclasses.replace(
        result,
        iops=result.iops * factor,
        bandwidth_bytes=result.bandwidth_bytes * factor,
        latency_mean_ns=result.latency_mean_ns / factor,
    )
