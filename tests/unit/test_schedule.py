"""schedule.toml: what it may say, and what it becomes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from appliance.bench import timetable
from appliance.bench.suite import suite_names
from appliance.bench.timetable import Schedule, SuiteTimes, parse_schedule
from appliance.drift.series import missing_runs
from appliance.errors import UsageError
from appliance.model.findings import SeriesKey
from appliance.model.slots import Slot, Span

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
        (f'[suite.smoke]\nat = "02{",02" * 40}:00"', "suite.smoke.at", 2, "longer than"),
        ('[suite.smoke]\nat = "%i 02:00"', "suite.smoke.at", 2, "not allowed"),
        ('[suite.smoke]\nat = "02:00"\nevery = "6h"', "suite.smoke.at", 2, "every, too"),
        ('[suite.smoke]\nevery = "1h"\njitter = "31min"', "suite.smoke.jitter", 3, "not allowed"),
        ('[suite.smoke]\njitter = "13h"', "suite.smoke.jitter", 2, "not allowed"),
        ('[suite.smoke]\nenabled = "no"', "suite.smoke.enabled", 2, "neither true nor false"),
        ('[suite.smoke]\nevry = "6h"', "suite.smoke.evry", 2, "unknown key"),
        ("[suite.random-1m]\n", "suite.random-1m", 1, "no time given"),
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
    changed = timetable.with_suite(text, "smoke", {"every": '"4h"'})
    assert changed == '# mine\n[drift]\nevery = "9min"\n\n[suite.smoke]\nevery = "4h"\n'
    assert timetable.with_suite(changed, "smoke", {}) == '# mine\n[drift]\nevery = "9min"\n'
    assert timetable.with_suite("", "smoke", {"every": '"4h"'}) == '[suite.smoke]\nevery = "4h"\n'


# ------------------------------------------------------------------------------ what it becomes


def test_what_is_built_in_is_what_the_units_say() -> None:
    for suite, times in timetable.DEFAULTS.items():
        lines = (SYSTEMD / f"stripewright-bench@{suite}.timer").read_text().splitlines()
        assert f"OnCalendar={times.calendar}" in lines
        assert f"RandomizedDelaySec={times.jitter_minutes}min" in lines
    drift = (SYSTEMD / DRIFT).read_text()
    assert f"OnUnitActiveSec={timetable.DEFAULT_DRIFT_MINUTES}min\n" in drift
    # The file beside it takes back every time, and says this one again.
    assert "OnBootSec=2min\n" in drift


def test_the_files_beside_the_units() -> None:
    text = (
        FOUR_HOURS + '[suite.full]\nenabled = false\n[suite.random-1m]\nat = "Mon 05:00"\n'
        '[drift]\nevery = "20min"\n[acceptance]\nrequired = true\n'
    )
    made = timetable.drop_ins(parsed(text), "/etc/s.toml")
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
            "[Unit]", "Wants=stripewright-acceptance.service",
            "After=stripewright-acceptance.service",
            "AssertPathIsDirectory=/run/stripewright-bench/stripewright-acceptance",
        ],
    }  # fmt: skip
    assert timetable.timers(parsed(text)) == {SMOKE: True, FULL: False, OTHER: True, DRIFT: True}


def test_nothing_declared_changes_nothing() -> None:
    assert timetable.drop_ins(Schedule(), "/etc/s.toml") == {}
    assert timetable.timers(Schedule()) == {SMOKE: True, FULL: True, DRIFT: True}


def test_every_timer_keeps_what_makes_up_for_a_missed_run() -> None:
    """Files beside a timer take back its times only: these two stay, of the template, too."""
    for path in SYSTEMD.glob("stripewright-bench@*.timer"):
        assert {"Persistent=yes", "FixedRandomDelay=yes"} <= set(path.read_text().splitlines())
    made = timetable.drop_ins(parsed(FOUR_HOURS + '[drift]\nevery = "9min"\n'), "/x")
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
    assert timetable.gaps_seconds(declared) == {"smoke": (minutes + 15) * 60.0, "full": None}
    assert timetable.gaps_seconds(Schedule()) == {"smoke": 390 * 60.0, "full": 7 * 86400 + 90 * 60}


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
    facts = missing_runs.judge(span, {}, now=now, up_since=0.0, gaps=gaps)
    assert [fact.code for fact in facts] == ["RUNS-MISSING"] * missing
