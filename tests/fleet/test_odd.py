"""Which machine is not like its siblings: on a fleet with planted oddities, and the arithmetic."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from appliance.cli import main
from appliance.drift.series import siblings
from appliance.fleet import beside_sql, odd, places, student, words
from appliance.fleet.odd import Statistic, Tests, Unit
from tests.fleet.judging import tally
from tests.fleet.synthetic import EFFECTS, make, plant

MACHINES, PLANTED = 200, 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet with each of the twelve kinds twice, at 20 % and at 50 %."""
    made = tmp_path_factory.mktemp("fleet")
    make(made, MACHINES, PLANTED, 7, effects=EFFECTS[-2:])
    return made


def test_what_is_planted_is_named_and_nothing_else(folder: Path) -> None:
    with places.open_fleet(str(folder)) as fleet:
        found = odd.find(fleet)
    planted = plant(MACHINES, PLANTED, 7, effects=EFFECTS[-2:])
    judged = tally(planted, {(one.unit.machine, one.unit.member) for one in found})
    assert judged.recall() >= 0.9, "\n".join(judged.lines())
    assert len(judged.false) <= 1, judged.false
    # Its days, as dated, are on the side that is said.
    for one in found:
        days = [day for day, _ in one.days]
        assert days == sorted(set(days))
        assert 80 <= len(days) <= beside_sql.LOOK_BACK_DAYS
        if one.how is odd.How.LEVEL:
            assert any((odd.effect_of(one.figure, x) > 0) == (one.effect > 0)
                       for _, x in one.days[-3:])  # fmt: skip
    # The day on which it began.
    begun = {one.machine: one.since for one in planted if one.since}
    dated = [one for one in found if one.unit.machine in begun and one.since]
    assert len(dated) >= 0.7 * len(begun)
    for one in dated:
        planted_day = places.day_before("2026-06-01", -begun[one.unit.machine])
        assert places.day_before(planted_day, 3) <= one.since <= places.day_before(planted_day, -3)


def test_the_command_says_it_in_one_document(folder: Path, capsys) -> None:
    assert main.main(["fleet", str(folder), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["machines"] == MACHINES
    of_disk = next(one for one in document["odd"] if one["member"])
    assert of_disk.keys() >= {
        "machine", "member", "suite", "job", "effect_pct", "since", "q_value",
    }  # fmt: skip
    assert main.main(["fleet", str(folder)]) == 0
    out = capsys.readouterr().out
    assert of_disk["member"] in out
    assert "UNLIKE THEIR SIBLINGS" in out


def test_a_fleet_without_faults_has_no_odd_one(tmp_path: Path, capsys) -> None:
    make(tmp_path, 40, 0, 3)
    with places.open_fleet(str(tmp_path)) as fleet:
        assert odd.find(fleet) == []
    assert main.main(["fleet", str(tmp_path)]) == 0
    assert "no machine and no disk is unlike its siblings" in capsys.readouterr().out


def test_three_machines_are_too_few_to_say_which_is_odd(tmp_path: Path) -> None:
    make(tmp_path, 3, 0, 3)
    with places.open_fleet(str(tmp_path)) as fleet:
        assert odd.find(fleet) == []


# ------------------------------------------------------------------------------ arithmetic


@pytest.mark.parametrize(
    ("t", "freedom", "expected"),
    [  # Abramowitz and Stegun, table 26.10
        (0.0, 4, 1.0), (2.776, 4, 0.05), (4.604, 4, 0.01), (8.610, 4, 0.001),
        (2.228, 10, 0.05), (4.587, 10, 0.001), (3.291, 1e6, 0.001), (12.924, 3, 0.001),
    ],
)  # fmt: skip
def test_student_s_tail_is_that_of_the_tables(t, freedom, expected):
    assert student.two_sided(t, freedom) == pytest.approx(expected, rel=5e-3)


def test_student_s_tail_falls_and_never_leaves_its_bounds():
    for freedom in (2.0, 4.4, 30.0):
        tails = [student.two_sided(at / 4, freedom) for at in range(400)]
        assert tails == sorted(tails, reverse=True)
        assert 0 < tails[-1] < tails[0] <= 1


@pytest.mark.parametrize(("tail", "freedom"), [(1.0, 100), (2.031, 5), (2.0505, 4.5), (9.0, 2)])
def test_heavier_tails_are_fewer_degrees_of_freedom(tail, freedom):
    assert student.freedom_of(tail) == pytest.approx(freedom, abs=0.02)


def test_false_discoveries_are_counted_over_all_units():
    units = [Unit(f"node-{number}") for number in range(4)]
    found = odd.q_values(dict(zip(units, (0.001, 0.02, 0.03, 0.9), strict=True)), 10)
    assert list(found.values()) == pytest.approx([1.0, 0.1, 0.1, 0.01])


def statistic(member: str = "", job: str = "rand-read-4k", **changes: object) -> Statistic:
    known: dict[str, object] = {
        "unit": Unit("node-1", member), "series": ("i4i", "c", "smoke", job, "read"),
        "figure": "await" if member else "iops", "name": "l28", "slower_log": 0.3, "score": 20.0,
        "tail": 1.9, "siblings": 60,
    }  # fmt: skip
    return Statistic(**(known | changes))  # type: ignore[arg-type]


def of_units(far: list[Statistic], members: int = 4) -> list[odd.Odd]:
    tests = {one.unit: Tests(30, 5) for one in far}
    tests |= {Unit("node-1", f"AWS{number}"): Tests(30, 5) for number in range(members)}
    tests |= {Unit(f"other-{number}"): Tests(30, 5) for number in range(500)}
    return odd.judge(far, tests)


def test_one_series_alone_names_no_unit():
    assert of_units([statistic()]) == []
    assert of_units([statistic(job=""), statistic()]) != []
    (found,) = of_units([statistic(), statistic(job="seq-write-1m", slower_log=0.2)])
    assert (found.job, found.effect, found.worse) == (
        "rand-read-4k",
        pytest.approx(-0.259, abs=1e-3),
        True,
    )


def test_a_disk_that_is_quicker_than_its_neighbours_is_not_named_and_a_machine_is():
    quick = {"slower_log": -0.3, "score": -20.0}
    assert of_units([statistic("AWS1", **quick), statistic("AWS1", "seq-read-1m", **quick)]) == []
    (found,) = of_units([statistic(**quick), statistic(job="seq-read-1m", **quick)])
    assert not found.worse
    assert found.effect == pytest.approx(0.35, abs=1e-2)


def test_of_two_members_one_is_named():
    both = [
        statistic(member, job, score=score)
        for member, score in (("AWS0", 20.0), ("AWS1", 15.0))
        for job in ("rand-read-4k", "seq-read-1m")
    ]
    assert [one.unit.member for one in of_units(both, members=2)] == ["AWS0"]
    assert [one.unit.member for one in of_units(both, members=4)] == ["AWS0", "AWS1"]


def test_of_two_members_the_one_that_is_slower_at_times_because_the_other_was_quick_is_not_named():
    both = [
        statistic(member, job, name=name, score=score)
        for member, name, score in (("AWS0", "l28", 10.0), ("AWS1", "t28", 30.0))
        for job in ("rand-read-4k", "seq-read-1m")
    ]
    assert [one.unit.member for one in of_units(both, members=2)] == ["AWS0"]


def test_what_is_near_its_siblings_is_nobody_s_trouble():
    near = {"slower_log": math.log(1.02), "score": 20.0}
    assert of_units([statistic(**near), statistic(job="seq-read-1m", **near)]) == []


def test_a_change_has_its_day_and_what_was_always_so_has_none():
    days = [f"2026-06-{day:02d}" for day in range(1, 31)]
    wobble = [0.004 * (-1) ** day for day in range(30)]
    stepped = [0.2 * (day >= 20) + wobble[day] for day in range(30)]
    assert odd.since_when(list(zip(days, stepped, strict=True))) == "2026-06-21"
    level = [0.2 + one for one in wobble]
    assert odd.since_when(list(zip(days, level, strict=True))) == ""
    assert odd.since_when([("2026-06-01", 0.2)]) == ""


def test_what_new_machines_are_to_expect_is_written_without_the_odd_ones(folder, tmp_path, capsys):
    file = tmp_path / "normal.json"
    assert main.main(["fleet", str(folder), "--normal", str(file)]) == 0
    assert f"sign it: ssh-keygen -Y sign -n stripewright-normal -f KEY {file}" in " ".join(
        capsys.readouterr().out.split()
    )
    usual = siblings.parse(file.read_text())
    assert len(usual) == 100  # ten types, two kernels, five jobs
    assert all(0.9 * one.iops < one.low_iops < one.iops for one in usual.values())
    # Of twenty machines of a type two or three are odd.
    assert sum(one.machines for one in usual.values()) == 5 * (MACHINES - PLANTED)


@pytest.mark.parametrize(
    ("figure", "effect", "said"),
    [
        ("iops", -0.08, "IOPS -8 %"), ("iops", -0.997, "IOPS -99.7 %"), ("p99", 1.5, "p99 +150 %"),
        ("await", 264.0, "await 265 ×"), ("await", 1e300, "await 1001 ×"),
    ],
)  # fmt: skip
def test_an_effect_is_said_as_it_can_be_read(figure, effect, said):
    one = odd.Odd(
        Unit("node-1"), "i4i", "smoke", "j", "read", figure, odd.How.LEVEL, effect, "", 0.0, 1, 9
    )
    assert words.effect(one) == said
