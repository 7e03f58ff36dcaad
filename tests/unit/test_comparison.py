"""Which results are set side by side, and which never are."""

from __future__ import annotations

import dataclasses

import pytest

from appliance.errors import UsageError
from appliance.figures import comparison, selection
from appliance.figures.comparison import Key, Observation
from appliance.model.measurement import Finding, Severity
from tests.unit.histories import report

_KEY = Key("randread", "read", 4096, 16, 32, "libaio")
_ONE = Observation(
    key=_KEY,
    unit=1,
    label="run 1",
    job="rand-read-4k",
    layout="md0",
    disks=2,
    member="",
    value=100.0,
    valid=True,
)


def _obs(*iops: float, **other: object) -> list[Observation]:
    """One observation a value, each of its own run unless told otherwise."""
    return [
        dataclasses.replace(_ONE, **{"value": value, "unit": number, **other})
        for number, value in enumerate(iops)
    ]


def _only(a, b) -> comparison.Row:
    (row,) = comparison.compare(a, b)
    return row


def test_two_single_runs_have_one_value_each_and_no_interval():
    row = _only(_obs(100.0), _obs(250.0))
    assert (row.ratio.value, row.ratio.low, row.basis) == (2.5, None, comparison.ONE_EACH)


def test_many_runs_of_both_have_an_interval():
    row = _only(_obs(98, 99, 100, 101, 102), _obs(196, 198, 200, 202, 204))
    assert row.ratio.value == pytest.approx(2.0, rel=0.01)
    assert row.ratio.low < 2 < row.ratio.high
    assert row.basis == "between values of both"


@pytest.mark.parametrize("many", ["A", "B"])
def test_a_diary_beside_many_runs_has_the_interval_of_the_runs_alone(many):
    one, runs = _obs(100.0), _obs(95, 97, 99, 101, 103, 105)
    row = _only(runs, one) if many == "A" else _only(one, runs)
    assert row.basis == f"between values of {many} alone"
    assert row.ratio.low < 1 < row.ratio.high


def test_two_and_three_values_are_too_few():
    row = _only(_obs(1.0, 2.0), _obs(2.0, 3.0, 4.0))
    assert row.ratio.low is None
    assert row.basis == "too few values, no interval"


def test_single_runs_with_their_seconds_have_the_interval_within_them():
    a = _obs(100.0, blocks=(9.0, 10.0, 11.0, 10.0, 9.5, 10.5))
    b = _obs(300.0, blocks=(2.0, 1.9, 2.1, 2.0, 2.05, 1.95))
    row = _only(a, b)
    assert row.basis == "within the two runs"
    assert row.ratio.value == pytest.approx(3.0, rel=0.02)
    assert 2.5 < row.ratio.low < row.ratio.value < row.ratio.high < 3.6


@pytest.mark.parametrize("blocks", [(), (1.0, 1.0, 1.0), (1.0, 0.0, 1.0, 1.0, 1.0)])
def test_too_few_or_empty_seconds_are_no_interval(blocks):
    row = _only(_obs(100.0, blocks=blocks), _obs(100.0, blocks=(1.0,) * 9))
    assert row.basis == comparison.ONE_EACH


def test_blocks_are_means_of_five_seconds_or_more():
    assert comparison.block_means([1.0] * 4) == ()
    assert comparison.block_means([float(n) for n in range(12)]) == (2.0, 7.0)
    assert len(comparison.block_means([1.0] * 3600)) == 20


def test_passes_of_one_run_are_values_and_beside_other_runs_they_are_one():
    passes = _obs(1.0, 2.0, 9.0, unit=7)
    assert _only(passes, passes).a.values == (1.0, 2.0, 9.0)
    assert _only(passes + _obs(5.0), passes).a.values == (2.0, 5.0)


@pytest.mark.parametrize(
    "other",
    [
        {"rw": "randwrite"},
        {"direction": "write"},
        {"block_size_bytes": 16384},
        {"jobs": 8},
        {"iodepth": 1},
        {"engine": "io_uring"},
    ],
)
def test_another_workload_is_another_row(other):
    key = dataclasses.replace(_KEY, **other)
    rows = comparison.compare(_obs(100.0), _obs(100.0, key=key))
    assert [row.ratio for row in rows] == [None, None]
    assert {row.basis for row in rows} == {"only on one side"}
    assert {(row.a is None, row.b is None) for row in rows} == {(True, False), (False, True)}


def test_an_iodepth_that_is_ignored_does_not_part_two_results():
    asked = {"rw": "rw", "direction": "read", "block_size_bytes": 4096, "jobs": 4}
    psync = [Key.of(**asked, iodepth=depth, engine="psync") for depth in (1, 8, None)]
    assert len(set(psync)) == 1
    libaio = {Key.of(**asked, iodepth=depth, engine="libaio") for depth in (1, 8, None)}
    assert len(libaio) == 3
    assert Key.of(**{**asked, "rw": "readwrite"}, iodepth=1, engine="psync") == psync[0]


def test_jobs_of_the_same_workload_are_paired_by_name_and_the_rest_is_left_alone():
    control = {"job": "control"}
    rows = comparison.compare(
        _obs(100.0) + _obs(10.0, **control), _obs(200.0) + _obs(30.0, **control)
    )
    assert sorted(row.ratio.value for row in rows) == [2.0, 3.0]
    row = _only(_obs(100.0), _obs(200.0, job="another-name"))
    assert row.ratio.value == 2.0, "a name alone parts nothing"
    rows = comparison.compare(_obs(100.0), _obs(1.0, job="x") + _obs(2.0, job="y"))
    assert [row.ratio for row in rows] == [None] * 3, "which of the two it is nobody knows"


def test_layouts_are_never_mixed():
    single = {"layout": "nvme0n1", "disks": 1}
    rows = comparison.compare(_obs(100.0) + _obs(50.0, **single), _obs(110.0))
    assert [(row.a is None, row.b is None) for row in rows] == [(False, False), (False, True)]
    assert rows[0].ratio.value == pytest.approx(1.1)
    assert _only(_obs(50.0, **single), _obs(100.0)).ratio.value == 2.0, "two layouts, one each"
    rows = comparison.compare(_obs(1.0, **single) + _obs(2.0), _obs(4.0, disks=4, layout="md9"))
    assert all(row.ratio is None for row in rows)


def test_two_jobs_of_two_layouts_are_paired_by_name():
    single = {"layout": "nvme0n1", "disks": 1}
    a = _obs(10.0, **single) + _obs(20.0, **single, job="control")
    b = _obs(20.0) + _obs(60.0, job="control")
    assert sorted(row.ratio.value for row in comparison.compare(a, b)) == [2.0, 3.0]


def test_members_are_paired_with_the_same_member():
    a = _obs(100.0) + _obs(10.0, member="nvme0n1", disks=1) + _obs(11.0, member="nvme1n1", disks=1)
    b = _obs(200.0) + _obs(20.0, member="nvme0n1", disks=1) + _obs(33.0, member="nvme1n1", disks=1)
    assert [row.ratio.value for row in comparison.compare(a, b)] == [2.0, 2.0, 3.0]


def test_what_is_not_valid_is_shown_and_takes_no_part():
    bad = _obs(581.0, valid=False, codes=("COVERAGE",), corrected=412.0)
    row = _only(_obs(400.0) + bad, _obs(824.0))
    assert row.a.values == (400.0,)
    assert row.a.invalid == tuple(bad)
    assert row.ratio.value == pytest.approx(2.06)


def test_where_only_corrected_figures_are_known_the_ratio_says_so():
    bad = _obs(581.0, valid=False, codes=("COVERAGE",), corrected=412.0)
    row = _only(bad, _obs(824.0))
    assert row.a.by_correction
    assert row.ratio == comparison.Ratio(2.0)
    assert row.basis == "corrected figures, no interval"


def test_without_a_correction_there_is_no_ratio():
    bad = _obs(581.0, valid=False, codes=("DEPTH",))
    row = _only(bad, _obs(824.0))
    assert (row.ratio, row.a.median, row.basis) == (None, None, "nothing valid in A")
    nothing = _obs(0.0)
    assert _only(nothing, _obs(824.0)).ratio is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12", selection.Selector("run", 12)),
        ("epoch:3", selection.Selector("epoch", 3)),
        ("import:1", selection.Selector("import", 1)),
        ("import:1:md0", selection.Selector("import", 1, "md0")),
        ("import:1:/dev/md/x", selection.Selector("import", 1, "/dev/md/x")),
    ],
)
def test_a_side_is_a_run_an_epoch_or_an_import(text, expected):
    assert selection.parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "-1", "1.5", "epoch", "epoch:", "epoch:x", "epoch:1:md0", "12:md0", "run:1"),
        *("１", "import:1:", "import:1:a b", "import:1:\x1b", "1" * 19, " 1"),
    ],
)
def test_anything_else_is_a_mistake_with_a_hint(text):
    with pytest.raises(UsageError, match="cannot be compared") as caught:
        selection.parse(text)
    assert "import:N" in caught.value.hint


def test_an_import_can_be_narrowed_to_the_device_that_was_measured():
    reports = [report(1, device="nvme1n1", members=()), report(2), report(3, device="", members=())]
    assert [one.disks for one in selection.of_import(reports, "")] == [1, 2, 0]
    assert [one.label for one in selection.of_import(reports, "md0")] == ["line 2"]
    assert [one.label for one in selection.of_import(reports, "nvme1n1")] == ["line 1"]


def test_an_imported_report_takes_part_with_its_verdict_and_correction():
    finding = Finding("COVERAGE", Severity.BLOCK, "71 %", corrected=412_279.0, unit="iops")
    (one,) = selection.of_import([report(9, findings=[finding])], "")
    assert (one.valid, one.codes, one.corrected) == (False, ("COVERAGE",), 412_279.0)
    assert one.key == _KEY
