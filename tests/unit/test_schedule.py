"""schedule.toml: what it may say, what it becomes, and how it comes into effect."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from appliance import cli, paths, schedule
from appliance.bench.suite import suite_names
from appliance.commands import planning, scheduling
from appliance.commands.scheduling import Places, When
from appliance.drift import silence
from appliance.errors import OperatorError, UsageError
from appliance.model import SeriesKey, Slot, Span
from appliance.schedule import Schedule, SuiteTimes, parse_schedule
from appliance.status import schedule_problem
from appliance.storage.act import requests
from appliance.system import journal, services
from appliance.system.services import UnitState

SYSTEMD = Path(__file__).parents[2] / "units/systemd"
SMOKE = "stripewright-bench@smoke.timer"
FULL = "stripewright-bench@full.timer"
OTHER = "stripewright-bench@random-1m.timer"
DRIFT = "stripewright-drift.timer"
FOUR_HOURS = '[suite.smoke]\nevery = "4h"\njitter = "10min"\n'


def parsed(text: str) -> Schedule:
    return parse_schedule(text, "schedule.toml", suite_names())


# ---------------------------------------------------------------------------------- the text


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ('every = "6h"', SuiteTimes("00/6:00", 30)),
        ('every = "1h"', SuiteTimes("00/1:00", 30)),
        ('every = "30min"', SuiteTimes("*:00/30", 15)),
        ('every = "24h"', SuiteTimes("00:00", 30)),
        ('every = "4h"\njitter = "2h"', SuiteTimes("00/4:00", 120)),
        ('at = "Sun 02:00"', SuiteTimes("Sun 02:00", 30)),
        ('at = "Mon..Fri 01,13:30"', SuiteTimes("Mon..Fri 01,13:30", 30)),
        ('at = "*-*-01 04:00 UTC"\njitter = "0min"', SuiteTimes("*-*-01 04:00 UTC", 0)),
        ("enabled = false", SuiteTimes("00/6:00", 30, enabled=False)),
        ('jitter = "5min"', SuiteTimes("00/6:00", 5)),
        ("", SuiteTimes("00/6:00", 30)),
    ],
)
def test_the_times_of_a_suite(text: str, times: SuiteTimes) -> None:
    assert parsed(f"[suite.smoke]\n{text}\n").suites == {"smoke": times}


def test_a_whole_schedule() -> None:
    text = (
        '[suite.full]\nenabled = false\n[drift]\nevery = "10min"\n[acceptance]\nrequired = true\n'
    )
    assert parsed(text) == Schedule({"full": SuiteTimes("Sun 02:00", 90, False)}, 10, True)
    assert parsed("") == Schedule()


@pytest.mark.parametrize(
    ("text", "place", "line", "said"),
    [
        ('[suite.smoke]\nevery = "5h"', "suite.smoke.every", 2, "'5h' is not allowed"),
        ('[suite.smoke]\nevery = "6 h"', "suite.smoke.every", 2, "not allowed"),
        ('[suite.smoke]\nevery = "0h"', "suite.smoke.every", 2, "not allowed"),
        ("[suite.smoke]\nevery = 6", "suite.smoke.every", 2, "not text"),
        ('[suite.smoke]\nat = "*:*:00"', "suite.smoke.at", 2, "not allowed"),
        ('[suite.smoke]\nat = "*-*-* *:*"', "suite.smoke.at", 2, "not allowed"),
        ('[suite.smoke]\nat = "Sun 25:00"', "suite.smoke.at", 2, "not allowed"),
        ('[suite.smoke]\nat = "*-*-31 04:00"', "suite.smoke.at", 2, "not allowed"),
        ('[suite.smoke]\nat = "02:00\\nOnCalendar=*:*:*"', "suite.smoke.at", 2, "not allowed"),
        ('[suite.smoke]\nat = "02:00\\n"', "suite.smoke.at", 2, "not allowed"),
        ('[suite.smoke]\nat = "%i 02:00"', "suite.smoke.at", 2, "not allowed"),
        ('[suite.smoke]\nat = "02:00"\nevery = "6h"', "suite.smoke.at", 2, "every, too"),
        ('[suite.smoke]\nevery = "1h"\njitter = "31min"', "suite.smoke.jitter", 3, "not allowed"),
        ('[suite.smoke]\njitter = "13h"', "suite.smoke.jitter", 2, "not allowed"),
        ('[suite.smoke]\nenabled = "no"', "suite.smoke.enabled", 2, "neither true nor false"),
        ('[suite.smoke]\nevry = "6h"', "suite.smoke.evry", 2, "unknown key"),
        ("[suite.random-1m]\n", "suite.random-1m", 1, "says not when"),
        ("[suite.random-1m]\nenabled = false", "suite.random-1m.enabled", 2, "has no timer"),
        ('\n[suite.mine]\nevery = "6h"', "suite.mine", 2, "no such suite"),
        ('[suite."../x"]\nevery = "6h"', "suite.../x", 1, "no such suite"),
        ("suite = 3", "suite", None, "not a table"),
        ("[suite]\nsmoke = 3", "smoke", None, "not a table"),
        ('[drift]\nevery = "0min"', "drift.every", 2, "not allowed"),
        ('[drift]\nevery = "25h"', "drift.every", 2, "not allowed"),
        ("[drift]\nat = 1", "drift.at", 2, "unknown key"),
        ("[acceptance]\nrequired = 1", "acceptance.required", 2, "neither true nor false"),
        ("[tuning]\n", "tuning", 1, "unknown key"),
    ],
)
def test_what_is_refused_says_where(text: str, place: str, line: int | None, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parsed(text)
    where = f"{place} (line {line})" if line else place
    assert caught.value.message.startswith(f"schedule.toml: {where}: "), caught.value.message
    assert said in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("text", ["[", "a = b", "x" * 70_000, "[" * 5000, "a = '\0'"])
def test_what_is_no_schedule(text: str) -> None:
    with pytest.raises(UsageError, match=r"^schedule\.toml: "):
        parsed(text)


def test_a_suites_table_is_replaced_and_the_rest_stays() -> None:
    text = '# mine\n[suite.smoke]\nevery = "6h"\n# of smoke\n[drift]\nevery = "9min"\n'
    changed = schedule.with_suite(text, "smoke", {"every": '"4h"'})
    assert changed == '# mine\n[drift]\nevery = "9min"\n\n[suite.smoke]\nevery = "4h"\n'
    assert schedule.with_suite(changed, "smoke", {}) == '# mine\n[drift]\nevery = "9min"\n'
    assert schedule.with_suite("", "smoke", {"every": '"4h"'}) == '[suite.smoke]\nevery = "4h"\n'


# ------------------------------------------------------------------------------ what it becomes


def test_what_is_built_in_is_what_the_units_say() -> None:
    for suite, times in schedule.DEFAULTS.items():
        lines = (SYSTEMD / f"stripewright-bench@{suite}.timer").read_text().splitlines()
        assert f"OnCalendar={times.calendar}" in lines
        assert f"RandomizedDelaySec={times.jitter_minutes}min" in lines
    drift = (SYSTEMD / DRIFT).read_text()
    assert f"OnUnitActiveSec={schedule.DEFAULT_DRIFT_MINUTES}min\n" in drift
    # The file beside it takes back every time, and says this one again.
    assert "OnBootSec=2min\n" in drift


def test_the_files_beside_the_units() -> None:
    text = (
        FOUR_HOURS + '[suite.full]\nenabled = false\n[suite.random-1m]\nat = "Mon 05:00"\n'
        '[drift]\nevery = "20min"\n[acceptance]\nrequired = true\n'
    )
    made = schedule.drop_ins(parsed(text), "/etc/s.toml")
    lines = {name: content.splitlines()[1:] for name, content in made.items()}
    assert lines == {
        f"{SMOKE}.d/50-schedule.conf": [
            "[Timer]", "OnCalendar=", "OnCalendar=00/4:00", "RandomizedDelaySec=10min",
        ],
        f"{FULL}.d/50-schedule.conf": [
            "[Unit]", "ConditionPathExists=!/etc/s.toml",
            "[Timer]", "OnCalendar=", "OnCalendar=Sun 02:00", "RandomizedDelaySec=90min",
        ],
        f"{OTHER}.d/50-schedule.conf": [
            "[Timer]", "OnCalendar=", "OnCalendar=Mon 05:00", "RandomizedDelaySec=30min",
        ],
        f"{DRIFT}.d/50-schedule.conf": [
            "[Timer]", "OnBootSec=", "OnBootSec=2min", "OnUnitActiveSec=20min",
            "RandomizedDelaySec=120s",
        ],
        "stripewright.target.d/50-schedule.conf": [
            "[Unit]", "Requires=stripewright-acceptance.service",
            "After=stripewright-acceptance.service",
        ],
    }  # fmt: skip
    assert schedule.timers(parsed(text)) == {SMOKE: True, FULL: False, OTHER: True, DRIFT: True}


def test_nothing_declared_changes_nothing() -> None:
    assert schedule.drop_ins(Schedule(), "/etc/s.toml") == {}
    assert schedule.timers(Schedule()) == {SMOKE: True, FULL: True, DRIFT: True}


def test_every_timer_keeps_what_makes_up_for_a_missed_run() -> None:
    """Files beside a timer take back its times only: these two stay, of the template, too."""
    for path in SYSTEMD.glob("stripewright-bench@*.timer"):
        assert {"Persistent=yes", "FixedRandomDelay=yes"} <= set(path.read_text().splitlines())
    made = schedule.drop_ins(parsed(FOUR_HOURS + '[drift]\nevery = "9min"\n'), "/x")
    assert not re.search("Persistent|FixedRandomDelay", "".join(made.values()))


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ('every = "30min"', 30),
        ('every = "6h"', 360),
        ('every = "24h"', 1440),
        ('at = "02:00"', 1440),
        ('at = "02,14:30 UTC"', 720),
        ('at = "02,04:30"', 1320),
        ('at = "Sun 02:00"', 10080),
        ('at = "Mon..Fri 02:00"', 3 * 1440),
        ('at = "Fri..Mon 02:00"', 4 * 1440),
        ('at = "Mon,Thu 02:00"', 4 * 1440),
        ('at = "*-*-01 02:00"', 31 * 1440),
        ('at = "Mon *-*-01 02:00"', 366 * 1440),
    ],
)
def test_how_long_nothing_may_come(text: str, minutes: int) -> None:
    declared = parsed(f'[suite.smoke]\n{text}\njitter = "15min"\n[suite.full]\nenabled = false\n')
    assert schedule.gaps_seconds(declared) == {"smoke": (minutes + 15) * 60.0, "full": None}
    assert schedule.gaps_seconds(Schedule()) == {"smoke": 390 * 60.0, "full": 7 * 86400 + 90 * 60}


@pytest.mark.parametrize(
    ("gaps", "hours", "missing"),
    [
        ({}, 17, False),
        ({}, 19, True),
        ({"smoke": 6 * 3600.0}, 19, True),
        ({"smoke": 24 * 3600.0}, 19, False),
        ({"smoke": 24 * 3600.0}, 73, True),
        ({"smoke": None}, 1000, False),
        ({"full": None}, 19, True),
    ],
)
def test_runs_that_the_schedule_does_not_have_are_not_missing(
    gaps: dict[str, float | None], hours: int, missing: bool
) -> None:
    key = SeriesKey("smoke", "/mnt/scratch", "seq-read-1m", "read")
    slots = tuple(Slot(run, run * 6 * 3600.0, 100.0, True) for run in range(1, 13))
    span = Span(1, 0.0, {}, {key: slots})
    now = slots[-1].started_at + hours * 3600.0
    facts = silence.judge(span, {}, now=now, up_since=0.0, gaps=gaps)
    assert [fact.code for fact in facts] == ["RUNS-MISSING"] * missing


# ------------------------------------------------------------------------------------ effect


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
def places(tmp_path: Path) -> Places:
    units, spool = tmp_path / "units", tmp_path / "spool"
    units.mkdir()
    spool.mkdir()
    return Places(
        file=tmp_path / "etc/schedule.toml",
        units=units,
        state=tmp_path / "run/schedule.json",
        lock=tmp_path / "run/lock",
        spool=spool,
    )


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[tuple[journal.Event, str]]:
    found: list[tuple[journal.Event, str]] = []
    monkeypatch.setattr(journal, "event", lambda what, said, **_: found.append((what, said)))
    return found


def declare(places: Places, text: str) -> None:
    places.file.parent.mkdir(exist_ok=True)
    places.file.write_text(text)


def test_only_what_changed_is_restarted(
    places: Places, told: list[tuple[journal.Event, str]]
) -> None:
    manager = Manager()
    scheduling.bring_into_effect(places, manager)
    assert manager.heard() == []
    assert told == []
    declare(places, FOUR_HOURS)
    scheduling.bring_into_effect(places, manager)
    assert manager.heard() == ["reload", f"restart {SMOKE}"]
    assert [what for what, _ in told] == [journal.Event.SCHEDULE_SET]
    assert "suite smoke: 00/4:00, up to 10 min later" in told[0][1]
    drop_in = places.units / f"{SMOKE}.d/50-schedule.conf"
    written = drop_in.stat().st_mtime_ns
    scheduling.bring_into_effect(places, manager)
    assert (manager.heard(), len(told)) == ([], 1)
    assert drop_in.stat().st_mtime_ns == written
    # A timer that somebody stopped runs again.
    manager.active.remove(DRIFT)
    scheduling.bring_into_effect(places, manager)
    assert manager.heard() == [f"start {DRIFT}"]


def test_what_is_no_longer_declared_is_taken_back(
    places: Places, told: list[tuple[journal.Event, str]]
) -> None:
    manager = Manager()
    strangers = places.units / f"{SMOKE}.d" / "10-mine.conf"
    strangers.parent.mkdir()
    strangers.write_text("[Timer]\n")
    declare(places, FOUR_HOURS + '[suite.random-1m]\nat = "Mon 05:00"\n')
    scheduling.bring_into_effect(places, manager)
    assert manager.heard() == ["reload", f"restart {SMOKE}", f"restart {OTHER}"]
    places.file.unlink()
    scheduling.bring_into_effect(places, manager)
    # The timer of a suite that has none of its own goes before the file without which it is none.
    assert manager.heard() == [f"stop {OTHER}", "reload", f"restart {SMOKE}"]
    assert [path for path in places.units.rglob("*") if path.is_file()] == [strangers]
    assert not (places.units / f"{OTHER}.d").exists()


def test_a_suite_that_is_off_is_stopped_and_comes_back(
    places: Places, told: list[tuple[journal.Event, str]]
) -> None:
    manager = Manager()
    declare(places, "[suite.full]\nenabled = false\n")
    scheduling.bring_into_effect(places, manager)
    assert manager.heard() == ["reload", f"stop {FULL}"]
    declare(places, "[suite.full]\n")
    scheduling.bring_into_effect(places, manager)
    assert manager.heard() == ["reload", f"restart {FULL}"]


def test_acceptance_that_becomes_required_begins_at_once(
    places: Places, told: list[tuple[journal.Event, str]]
) -> None:
    manager = Manager()
    declare(places, "[acceptance]\nrequired = true\n")
    scheduling.bring_into_effect(places, manager)
    assert manager.heard() == ["reload", "start stripewright-acceptance.service"]
    scheduling.bring_into_effect(places, manager)
    assert manager.heard() == []


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Manager:
    """Root's side of it, in folders of the test."""
    manager = Manager()
    for name in ("start_unit", "stop_unit", "restart_unit", "reload_manager", "unit_state"):
        monkeypatch.setattr(services, name, getattr(manager, name))
    monkeypatch.setattr(scheduling, "_need_root", lambda: None)
    monkeypatch.setattr(paths, "PLANS_DIR", tmp_path / "run/plans")
    return manager


def test_a_bad_file_leaves_all_as_it_was(
    places: Places, root: Manager, told: list[tuple[journal.Event, str]]
) -> None:
    declare(places, FOUR_HOURS)
    scheduling.apply(places)
    root.heard()
    before = (places.units / f"{SMOKE}.d/50-schedule.conf").read_text()
    declare(places, '[suite.smoke]\nevery = "5h"\n')
    with pytest.raises(UsageError, match=r"suite\.smoke\.every \(line 2\)"):
        scheduling.apply(places)
    assert root.heard() == []
    assert (places.units / f"{SMOKE}.d/50-schedule.conf").read_text() == before
    assert told[-1][0] is journal.Event.SCHEDULE_REFUSED
    assert "'5h' is not allowed" in schedule_problem(places.state)
    declare(places, FOUR_HOURS)
    scheduling.apply(places)
    assert schedule_problem(places.state) == ""


def test_an_operators_request_is_installed(
    places: Places, root: Manager, told: list[tuple[journal.Event, str]]
) -> None:
    name = requests.leave_bytes(places.spool, FOUR_HOURS.encode())
    scheduling.schedule_request(name, places)
    assert places.file.read_text() == FOUR_HOURS
    assert root.heard() == ["reload", f"restart {SMOKE}"]
    assert list(places.spool.iterdir()) == []
    answer = planning.store().plan(name)
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
    name = requests.leave_bytes(places.spool, raw)
    scheduling.schedule_request(name, places)
    assert places.file.read_text() == FOUR_HOURS
    assert root.heard() == []
    assert told[-1][0] is journal.Event.SCHEDULE_REFUSED
    answer = planning.store().plan(name)
    assert answer is not None
    assert said in answer["error"]["message"]
    # What is installed is still in effect: the refusal is for who asked.
    assert schedule_problem(places.state) == ""


def test_only_root_brings_it_into_effect(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling.os, "geteuid", lambda: 1000)
    for work in (scheduling.apply, lambda places: scheduling.schedule_request("0" * 64, places)):
        with pytest.raises(OperatorError, match="only root"):
            work(places)
    assert not places.state.exists()


def test_a_request_that_is_not_there(
    places: Places, root: Manager, told: list[tuple[journal.Event, str]]
) -> None:
    scheduling.schedule_request("0" * 64, places)
    scheduling.schedule_request("../../etc/passwd", places)
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
        scheduling.schedule_request(name, places)

    monkeypatch.setattr(services, "start_and_wait", start)
    monkeypatch.setattr(services, "is_installed", lambda _: True)
    monkeypatch.setattr(services, "systemd_is_running", lambda: False)
    monkeypatch.setattr(scheduling.os, "geteuid", lambda: 1000)
    return asked


def test_an_operator_changes_a_suite(
    places: Places,
    operator: list[tuple[str, str]],
    told: list[tuple[journal.Event, str]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    declare(places, '[drift]\nevery = "9min"\n')
    when = When(every="4h", jitter="10min")
    assert scheduling.change("smoke", file=None, when=when, as_json=False, places=places) == 0
    assert operator[0][1] == '[drift]\nevery = "9min"\n\n' + FOUR_HOURS
    said = capsys.readouterr().out
    assert re.search(r"suite smoke +00/4:00, up to 10 min later +schedule\.toml", said), said
    assert re.search(r"drift +every 9 min +schedule\.toml", said)
    scheduling.change("smoke", file=None, when=When(state="default"), as_json=True, places=places)
    rows = {row["what"]: row["from"] for row in json.loads(capsys.readouterr().out)["schedule"]}
    assert (rows["suite smoke"], rows["drift"]) == ("built in", "schedule.toml")


def test_a_slip_of_the_pen_goes_nowhere(
    places: Places, operator: list[tuple[str, str]], tmp_path: Path
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[suite.smoke]\nevery = 'x'\n")
    with pytest.raises(UsageError):
        scheduling.change("", file=file, when=When(), as_json=False, places=places)
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
            scheduling.change(suite, file=named, when=when, as_json=False, places=places)
    assert operator == []


def test_without_the_appliance_there_is_nothing_to_set(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "is_installed", lambda _: False)
    with pytest.raises(OperatorError, match="nothing to be scheduled here"):
        scheduling.change("smoke", file=None, when=When("4h"), as_json=False, places=places)


def test_the_words_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(scheduling, "show", lambda **given: asked.append(given) or 0)
    monkeypatch.setattr(
        scheduling, "change", lambda suite, **given: asked.append((suite, given)) or 0
    )
    assert cli.main(["schedule", "show", "--json"]) == 0
    assert cli.main(["schedule", "set", "smoke", "--at", "Sun 02:00", "--jitter", "1h"]) == 0
    assert cli.main(["schedule", "set", "--file", "x.toml"]) == 0
    assert cli.main(["schedule", "set", "full", "--off"]) == 0
    assert asked == [
        {"as_json": True},
        ("smoke", {"file": None, "when": When("", "Sun 02:00", "1h"), "as_json": False}),
        ("", {"file": Path("x.toml"), "when": When(), "as_json": False}),
        ("full", {"file": None, "when": When(state="off"), "as_json": False}),
    ]
    assert cli.main(["schedule"]) == 2
