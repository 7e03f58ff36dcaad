"""schedule.toml comes into effect: timers, requests of operators, what is refused."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pytest

from appliance import paths
from appliance.bench import schedule_effect
from appliance.bench.schedule_effect import Places
from appliance.bench.timetable import Row
from appliance.cli import schedule
from appliance.cli.command import parse
from appliance.cli.main import commands, main
from appliance.client import answers, schedule_requests
from appliance.client.machine_status import schedule_problem
from appliance.client.schedule_requests import When
from appliance.errors import EXIT_FAILED, OperatorError, UsageError
from appliance.storage.execute import request_spool
from appliance.system import journal, services
from appliance.system.services import UnitState

SMOKE = "stripewright-bench@smoke.timer"
FULL = "stripewright-bench@full.timer"
OTHER = "stripewright-bench@random-1m.timer"
DRIFT = "stripewright-drift.timer"
FOUR_HOURS = '[suite.smoke]\nevery = "4h"\njitter = "10min"\n'


@dataclass
class Manager:
    """systemd as far as this asks of it: what was said to it, and what runs."""

    said: list[str] = field(default_factory=list)
    active: set[str] = field(default_factory=lambda: {SMOKE, FULL, DRIFT})

    def start_unit(self, name: str) -> None:
        if name not in self.active:
            self.said.append(f"start {name}")
            self.active.add(name)

    def stop_unit(self, name: str) -> None:
        self.said.append(f"stop {name}")
        self.active.remove(name)

    def restart_unit(self, name: str) -> None:
        self.said.append(f"restart {name}")
        self.active.add(name)

    def reload_manager(self) -> None:
        self.said.append("reload")

    def unit_state(self, name: str) -> UnitState:
        return UnitState(name, "active" if name in self.active else "inactive", "", "")

    def heard(self) -> list[str]:
        said, self.said = self.said, []
        return said


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    units, spool = tmp_path / "units", tmp_path / "spool"
    units.mkdir()
    spool.mkdir()
    made = Places(
        file=tmp_path / "etc/schedule.toml",
        units=units,
        state=tmp_path / "run/schedule.json",
        lock=tmp_path / "run/lock",
        spool=spool,
    )
    monkeypatch.setattr(schedule_effect, "PLACES", made)
    return made


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[journal.Event, str]]:
    found: list[tuple[journal.Event, str]] = []
    monkeypatch.setattr(journal, "event", lambda what, said, **_: found.append((what, said)))
    return found


def change(suite: str, *, file: Path | None, when: When, as_json: bool = False) -> int:
    return schedule.change(suite=suite, file=file, **asdict(when), as_json=as_json)


def declare(places: Places, text: str) -> None:
    places.file.parent.mkdir(exist_ok=True)
    places.file.write_text(text)


def test_only_what_changed_is_restarted(
    places: Places, told: list[tuple[journal.Event, str]]
) -> None:
    manager = Manager()
    schedule_effect.bring_into_effect(places, manager)
    assert manager.heard() == []
    assert told == []
    declare(places, FOUR_HOURS)
    schedule_effect.bring_into_effect(places, manager)
    assert manager.heard() == ["reload", f"restart {SMOKE}"]
    assert [what for what, _ in told] == [journal.Event.SCHEDULE_SET]
    assert "suite smoke: 00/4:00, up to 10 min later" in told[0][1]
    drop_in = places.units / f"{SMOKE}.d/50-schedule.conf"
    written = drop_in.stat().st_mtime_ns
    schedule_effect.bring_into_effect(places, manager)
    assert (manager.heard(), len(told)) == ([], 1)
    assert drop_in.stat().st_mtime_ns == written
    # A timer that somebody stopped runs again.
    manager.active.remove(DRIFT)
    schedule_effect.bring_into_effect(places, manager)
    assert manager.heard() == [f"start {DRIFT}"]


def test_what_is_no_longer_declared_is_taken_back(
    places: Places, told: list[tuple[journal.Event, str]]
) -> None:
    manager = Manager()
    strangers = places.units / f"{SMOKE}.d" / "10-mine.conf"
    strangers.parent.mkdir()
    strangers.write_text("[Timer]\n")
    declare(places, FOUR_HOURS + '[suite.random-1m]\nat = "Mon 05:00"\n')
    schedule_effect.bring_into_effect(places, manager)
    assert manager.heard() == ["reload", f"restart {SMOKE}", f"restart {OTHER}"]
    places.file.unlink()
    schedule_effect.bring_into_effect(places, manager)
    # The timer of a suite that has none of its own goes before the file without which it is none.
    assert manager.heard() == [f"stop {OTHER}", "reload", f"restart {SMOKE}"]
    assert [path for path in places.units.rglob("*") if path.is_file()] == [strangers]
    assert not (places.units / f"{OTHER}.d").exists()


def test_a_suite_that_is_off_is_stopped_and_comes_back(
    places: Places, told: list[tuple[journal.Event, str]]
) -> None:
    manager = Manager()
    declare(places, "[suite.full]\nenabled = false\n")
    schedule_effect.bring_into_effect(places, manager)
    assert manager.heard() == ["reload", f"stop {FULL}"]
    declare(places, "[suite.full]\n")
    schedule_effect.bring_into_effect(places, manager)
    assert manager.heard() == ["reload", f"restart {FULL}"]


def test_acceptance_that_becomes_required_begins_at_once(
    places: Places, told: list[tuple[journal.Event, str]]
) -> None:
    manager = Manager()
    declare(places, "[acceptance]\nrequired = true\n")
    schedule_effect.bring_into_effect(places, manager)
    assert manager.heard() == ["reload", "start stripewright-acceptance.service"]
    schedule_effect.bring_into_effect(places, manager)
    assert manager.heard() == []


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Manager:
    """Root's side of it, in folders of the test."""
    manager = Manager()
    for name in ("start_unit", "stop_unit", "restart_unit", "reload_manager", "unit_state"):
        monkeypatch.setattr(services, name, getattr(manager, name))
    monkeypatch.setattr(paths, "PLANS_DIR", tmp_path / "run/plans")
    return manager


def test_a_bad_file_leaves_all_as_it_was(
    places: Places, root: Manager, told: list[tuple[journal.Event, str]]
) -> None:
    declare(places, FOUR_HOURS)
    schedule_effect.apply(places)
    root.heard()
    before = (places.units / f"{SMOKE}.d/50-schedule.conf").read_text()
    declare(places, '[suite.smoke]\nevery = "5h"\n')
    with pytest.raises(UsageError, match=r"suite\.smoke\.every \(line 2\)"):
        schedule_effect.apply(places)
    assert root.heard() == []
    assert (places.units / f"{SMOKE}.d/50-schedule.conf").read_text() == before
    assert told[-1][0] is journal.Event.SCHEDULE_REFUSED
    assert "'5h' is not allowed" in schedule_problem(places.state)
    declare(places, FOUR_HOURS)
    schedule_effect.apply(places)
    assert schedule_problem(places.state) == ""


def test_an_operators_request_is_installed(
    places: Places, root: Manager, told: list[tuple[journal.Event, str]]
) -> None:
    name = request_spool.leave_bytes(places.spool, FOUR_HOURS.encode())
    schedule.schedule_request(name=name)
    assert places.file.read_text() == FOUR_HOURS
    assert root.heard() == ["reload", f"restart {SMOKE}"]
    assert list(places.spool.iterdir()) == []
    answer = answers.store().plan(name)
    assert answer is not None
    assert answer["error"] is None


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"[suite.smoke]\nevery = '5h'\n", "not allowed"),
        (b"\xff", "not UTF-8"),
        (b'{"erase":[],"layout":null,"remove":[]}', "not valid TOML"),
        (b"#" * 70_000, "larger than 64 KiB"),
    ],
)
def test_what_root_does_not_install(
    places: Places,
    root: Manager,
    told: list[tuple[journal.Event, str]],
    raw: bytes,
    said: str,
) -> None:
    declare(places, FOUR_HOURS)
    name = request_spool.leave_bytes(places.spool, raw)
    schedule.schedule_request(name=name)
    assert places.file.read_text() == FOUR_HOURS
    assert root.heard() == []
    assert told[-1][0] is journal.Event.SCHEDULE_REFUSED
    answer = answers.store().plan(name)
    assert answer is not None
    assert said in answer["error"]["message"]
    # What is installed is still in effect: the refusal is for who asked.
    assert schedule_problem(places.state) == ""


@pytest.mark.parametrize("words", [["schedule-apply"], ["schedule-request", "0" * 64]])
def test_only_root_brings_it_into_effect(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(words) == EXIT_FAILED
    assert "only root" in capsys.readouterr().err


def test_a_request_that_is_not_there(
    places: Places, root: Manager, told: list[tuple[journal.Event, str]]
) -> None:
    schedule.schedule_request(name="0" * 64)
    schedule.schedule_request(name="../../etc/passwd")
    assert [what for what, _ in told] == [journal.Event.SCHEDULE_REFUSED] * 2
    assert not places.file.exists()


# ---------------------------------------------------------------------------------- operator


@pytest.fixture
def operator(
    monkeypatch: pytest.MonkeyPatch, places: Places, root: Manager
) -> list[tuple[str, str]]:
    """An operator's side: the unit is started for real, as a call. Units and what they were
    asked with.
    """
    asked: list[tuple[str, str]] = []

    def start(unit: str) -> None:
        name = unit.removeprefix("stripewright-schedule@").removesuffix(".service")
        asked.append((unit, (places.spool / f"{name}.json").read_text()))
        schedule.schedule_request(name=name)

    monkeypatch.setattr(services, "start_and_wait", start)
    monkeypatch.setattr(services, "is_installed", lambda _: True)
    monkeypatch.setattr(services, "systemd_is_running", lambda: False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return asked


def test_an_operator_changes_a_suite(
    places: Places,
    operator: list[tuple[str, str]],
    told: list[tuple[journal.Event, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    declare(places, '[drift]\nevery = "9min"\n')
    when = When(every="4h", jitter="10min")
    assert change("smoke", file=None, when=when) == 0
    assert operator[0][1] == '[drift]\nevery = "9min"\n\n' + FOUR_HOURS
    said = capsys.readouterr().out
    assert re.search(r"suite smoke +00/4:00, up to 10 min later +schedule\.toml", said), said
    assert re.search(r"drift +every 9 min +schedule\.toml", said)
    change("smoke", file=None, when=When(state="default"), as_json=True)
    rows = {row["what"]: row["from"] for row in json.loads(capsys.readouterr().out)["schedule"]}
    assert (rows["suite smoke"], rows["drift"]) == ("built in", "schedule.toml")


def test_what_a_screen_shows_and_asks_for(
    places: Places,
    operator: list[tuple[str, str]],
    told: list[tuple[journal.Event, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    declare(places, FOUR_HOURS)
    found = schedule_requests.schedule_now(file=places.file, state=places.state)
    assert found.text == FOUR_HOURS
    assert Row("suite smoke", "00/4:00, up to 10 min later", "schedule.toml") in found.rows
    # No systemd, no next time.
    assert (found.next_at, found.problem) == ({}, "")
    wanted = schedule_requests.with_times(found.text, "full", When(state="off"))
    schedule_requests.ask_schedule(wanted, spool=places.spool)
    assert operator[0][1] == wanted == places.file.read_text()
    monkeypatch.setattr(services, "systemd_is_running", lambda: True)
    monkeypatch.setattr(services, "next_elapse", lambda timer: 5.0 if "smoke" in timer else None)
    found = schedule_requests.schedule_now(file=places.file, state=places.state)
    assert Row("suite full", "never", "schedule.toml") in found.rows
    assert found.next_at["stripewright-bench@smoke.timer"] == 5.0
    assert found.next_at["stripewright-bench@full.timer"] is None
    default = schedule_requests.with_times(found.text, "full", When(state="default"))
    assert default == FOUR_HOURS
    # Nobody but the command of root installs anything in its own process.
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    schedule_requests.ask_schedule(default, spool=places.spool)
    assert [one for _, one in operator] == [wanted, default]


def test_a_slip_of_the_pen_goes_nowhere(
    places: Places, operator: list[tuple[str, str]], tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[suite.smoke]\nevery = 'x'\n")
    with pytest.raises(UsageError):
        change("", file=file, when=When())
    for suite, named, when in (
        ("", None, When()),
        ("smoke", None, When()),
        ("smoke", file, When()),
        ("", file, When(every="4h")),
        ("smoke", None, When(jitter="1min", state="default")),
        ("smoke", None, When(every='4h"\nx = "')),
        ("no-suite", None, When(every="4h")),
    ):
        with pytest.raises(UsageError):
            change(suite, file=named, when=when)
    assert operator == []


def test_without_the_appliance_there_is_nothing_to_set(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "is_installed", lambda _: False)
    with pytest.raises(OperatorError, match="nothing to be scheduled here"):
        change("smoke", file=None, when=When("4h"))


def test_the_words_of_the_command() -> None:
    def asked(*words: str) -> dict[str, object]:
        options = parse(["schedule", *words], commands("schedule")).options
        return {name: value for name, value in options.items() if value}

    assert asked("show", "--json") == {"as_json": True}
    assert asked("set", "smoke", "--at", "Sun 02:00", "--jitter", "1h") == {
        "suite": "smoke",
        "at": "Sun 02:00",
        "jitter": "1h",
    }
    assert asked("set", "--file", "x.toml") == {"file": Path("x.toml")}
    assert asked("set", "full", "--off") == {"suite": "full", "state": "off"}
    assert main(["schedule"]) == 2


def test_no_reader_can_hold_the_lock(places: Places) -> None:
    places.lock.parent.mkdir()
    places.lock.touch(0o644)  # as versions before this one left it
    with schedule_effect._locked(places.lock):
        assert places.lock.stat().st_mode & 0o777 == 0o600


def test_what_was_stopped_by_the_way_is_started_again_and_told(
    places: Places, told: list[tuple[journal.Event, str]]
) -> None:
    manager = Manager(active={SMOKE, DRIFT, *services.LISTENERS})
    schedule_effect.start_stopped(places, manager)
    assert manager.heard() == [f"start {FULL}"]
    assert told == [(journal.Event.STARTED_AGAIN, f"{FULL} was stopped; it has been started again")]
    manager.active -= set(services.LISTENERS)
    schedule_effect.start_stopped(places, manager)
    assert manager.heard() == [f"start {name}" for name in services.LISTENERS]


def test_what_is_off_or_on_its_way_is_not_started_again(
    places: Places, told: list[tuple[journal.Event, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(places, "[suite.full]\nenabled = false\n")
    manager = Manager(active={SMOKE, DRIFT, *services.LISTENERS})
    schedule_effect.start_stopped(places, manager)
    # At boot its job may wait, and at shutdown it is being stopped.
    queued = UnitState(SMOKE, "inactive", "", "", queued=True)
    monkeypatch.setattr(manager, "unit_state", lambda _: queued)
    schedule_effect.start_stopped(places, manager)
    assert manager.heard() == []
    assert told == []
