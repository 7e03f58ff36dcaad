"""What a run shows and what stops it, without running one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from appliance.bench import idle_check, sampler
from appliance.bench.block_devices import Devices
from appliance.bench.idle_check import Patience
from appliance.bench.progress import Progress, progress_line
from appliance.bench.run_log import RunLog
from appliance.bench.suite import load_suite
from appliance.cli import bench_run
from appliance.cli.output import StatusLine
from appliance.model.runs import Counters, Sample
from appliance.system.stopping import Stopped, StopSignals

PROGRESS = Progress(1, "smoke", "check", 0, 5, 0.0, 2.0, 152.0)
SAMPLE = Sample(0, "nvme0n1", 1000.0, 0.0, 4_096_000.0, 0.0, 0.1, 0.5)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_run_in_order(number: signal.Signals) -> None:
    def harmless(*_: object) -> None:
        """What is here before: a signal that is not remembered must not end the tests."""

    before = signal.signal(number, harmless)
    try:
        with StopSignals() as signals:
            signals.check()
            signal.raise_signal(number)
            with pytest.raises(Stopped, match=number.name):
                signals.check()
        assert signal.getsignal(number) is harmless
    finally:
        signal.signal(number, before)


def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals() as signals:
            signal.raise_signal(signal.SIGHUP)
            signals.check()
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("shows", [bench_run.progress_on, bench_run._json_on])
def test_a_reader_that_has_gone_ends_no_run(
    shows: Callable[[StatusLine], Callable[[Progress], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    broken = os.fdopen(writer, "w")
    try:
        monkeypatch.setattr(sys, "stderr", broken)
        line = StatusLine()
        show = shows(line)
        show(PROGRESS)
        show(PROGRESS)
        line.finish()
    finally:
        monkeypatch.undo()
        with contextlib.suppress(BrokenPipeError):
            broken.close()


def test_each_line_of_json_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    bench_run._json_on(StatusLine())(PROGRESS)
    err = capsys.readouterr().err
    assert err.endswith("\n")
    assert json.loads(err)["total_left_seconds"] == 152.0


def test_without_a_sample_no_rates_are_shown() -> None:
    assert "r/s" not in progress_line(PROGRESS, 200)


def _log() -> RunLog:
    history = SimpleNamespace(begin_run=lambda *_, **__: 1, begin_phase=lambda *_, **__: None)
    place = SimpleNamespace(path="/t", kind="filesystem", devices=Devices("nvme0n1", ("nvme0n1",)))
    return RunLog(
        history,
        load_suite("smoke"),
        place,
        machine_type="",
        fio_version="",
        time_factor=1.0,
        signals=StopSignals(),
        on_progress=lambda _: None,
    )


def test_a_phase_does_not_show_the_rates_of_the_one_before() -> None:
    log = _log()
    log._latest["nvme0n1"] = SAMPLE
    assert log.progress(0.0).read_iops == 1000.0
    log.begin_phase("prepare", expected_seconds=1.0)
    assert (log.progress(0.0).read_iops, log.progress(0.0).members) == (0.0, ())


@pytest.mark.parametrize(("busy", "phases_told"), [(0, 1), (1, 2), (3, 2)])
def test_the_check_is_expected_to_take_its_window_until_there_is_load(
    busy: int, phases_told: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    phases: list[float] = []
    clock = iter(range(1000))
    monkeypatch.setattr(idle_check.time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(idle_check.time, "sleep", lambda _: None)
    monkeypatch.setattr(sampler, "read_all", lambda _: {"nvme0n1": Counters("nvme0n1", *[0] * 8)})
    said = iter(["busy"] * busy + [""])
    monkeypatch.setattr(idle_check, "foreign_load", lambda *_, **__: next(said))
    log = SimpleNamespace(
        tick=lambda: None,
        begin_phase=lambda _, expected_seconds: phases.append(expected_seconds),
    )
    assert idle_check.wait_until_idle(("nvme0n1",), Patience(seconds=100.0), log) == ""
    assert phases[0] == idle_check.WINDOW_SECONDS
    assert len(phases) == phases_told
    assert all(20.0 < rest < 100.0 for rest in phases[1:])
