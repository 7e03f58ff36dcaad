"""What the Drift screen writes and draws, without a screen."""

from dataclasses import replace

import pytest

from appliance.model.confirmations import Repeated
from appliance.model.findings import DriftState, FindingRecord
from tests.tui.fake_drift import (
    CLOSED,
    KERNEL,
    MISSING,
    OF_SLOWER,
    RECORDS,
    REPEATS,
    SAID,
    SLOWER,
    WALL,
)
from tui import marks
from tui.charts.markers import Marker
from tui.sources.drift import Evidence, Repeat
from tui.widgets import drift, drift_chart
from tui.widgets import drift_finding as finding
from tui.widgets import drift_questions as questions
from tui.widgets.drift_finding import Step


def test_gravest_first_then_seen_then_closed_latest_first():
    earlier = replace(CLOSED, id=2, closed_at=1.0)
    ordered = drift.in_order((*RECORDS, earlier), closed=True)
    assert [one.id for one in ordered] == [MISSING.id, SLOWER.id, KERNEL.id, CLOSED.id, 2]
    assert [one.id for one in drift.in_order(RECORDS, closed=False)] == [14, 12, 9]


def test_results_that_are_not_valid_and_what_is_long_ago_are_not_drawn():
    slots = OF_SLOWER.stretch.slots
    bad = (*slots[:65], slots[65]._replace(valid=False), *slots[66:])
    evidence = replace(OF_SLOWER, stretch=replace(OF_SLOWER.stretch, slots=bad))
    drawn = drift_chart.chart_of(SLOWER, evidence, marks.UNICODE)
    assert [at for at, _ in drawn.series[0].points] == [
        slot.started_at for slot in slots if slot.run_id != 66
    ]
    many = tuple(
        slots[0]._replace(run_id=-number, started_at=slots[0].started_at - number)
        for number in range(900, 0, -1)
    )
    evidence = replace(OF_SLOWER, stretch=replace(OF_SLOWER.stretch, slots=(*many, *slots)))
    drawn = drift_chart.chart_of(SLOWER, evidence, marks.UNICODE)
    assert len(drawn.series[0].points) == 70
    assert [rule.label for rule in drawn.rules] == ["changed", "alarm"]
    assert [one.value for one in drawn.marks] == list(SAID.repeats)
    assert (drawn.bands[0].low, drawn.bands[0].high) == (403_700.0, 420_200.0)


def test_what_was_normal_is_of_the_series_where_the_finding_does_not_say():
    fact = replace(SLOWER.fact, evidence={"change_run": "no number"})
    drawn = drift_chart.chart_of(replace(SLOWER, fact=fact), OF_SLOWER, marks.UNICODE)
    assert drawn.bands[0].low == OF_SLOWER.stretch.normal.low
    assert drawn.rules == ()


@pytest.mark.parametrize("glyphs", [marks.UNICODE, marks.ASCII])
@pytest.mark.parametrize(("width", "rows"), [(0, 0), (1, 1), (20, 6), (78, 9), (198, 50)])
def test_never_more_lines_than_there_is_room_for(glyphs, width, rows):
    marker = Marker.usual(glyphs)
    for record in RECORDS:
        opening = finding.opening(record, OF_SLOWER, Step("do it"), wall=WALL)
        text = drift.finding_lines(record, opening, width, glyphs)
        text += drift.further_lines(record, OF_SLOWER, width)
    chart = drift_chart.chart_lines(SLOWER, OF_SLOWER, width, rows, marker=marker, glyphs=glyphs)
    assert len(chart) <= rows
    if glyphs is marks.ASCII:
        assert all(line.plain.isascii() for line in chart)
        assert all(line.plain.isascii() for line in text)


def test_what_came_of_repeats_is_said_of_each():
    end = Repeated((SAID,), ((SLOWER.fact, "foreign load"),), failed=False)
    assert questions.ended_words(end) == (
        "smoke/rand-read-4k read: unclear; smoke/rand-read-4k read not repeated: foreign load"
    )
    stopped = questions.ended_words(Repeated((), (), failed=True))
    assert stopped == "the repeats were stopped or failed"
    assert questions.ended_words(Repeated((), (), failed=False)) == "nothing was left to repeat"


def test_the_question_counts_what_is_repeated_in_one_go_and_names_what_writes():
    more = [Repeat(f"s{n}", f"w{n}", "randwrite", "/mnt/x", 60.0 * n) for n in range(1, 5)]
    text = questions.confirm_text([*REPEATS, *more], running="").plain
    assert "3 at a time" in text
    # The longest three: 240, 180 and 160 s.
    assert "9 min 40 s" in text
    assert "its own files, also in w1, w2, w3, w4" in " ".join(text.split())
    assert "only its own files" in questions.confirm_text(REPEATS, running="").plain


def test_why_something_cannot_be_done():
    assert questions.why_not_acknowledge(None) == "no finding is under the cursor"
    assert "only a changed speed" in questions.why_not_approve(MISSING)
    vague = replace(SLOWER, fact=replace(SLOWER.fact, evidence={}))
    assert "with which run its change began" in questions.why_not_approve(vague)
    assert questions.why_not_approve(SLOWER) == ""
    assert questions.why_not_confirm(None, ()) == "the findings have not been read yet"
    assert "nothing is suspect" in questions.why_not_confirm([MISSING], ())
    by_hand: FindingRecord = replace(SLOWER, fact=replace(SLOWER.fact, evidence={"by_hand": 1}))
    assert "measured by hand" in questions.why_not_confirm([by_hand], ())
    assert questions.why_not_confirm([SLOWER], REPEATS) == ""


def sheet(*args):
    return "\n".join(line.plain for line in drift.finding_sheet(*args, 200, marks.UNICODE))


def test_the_sheet_has_everything_that_is_known():
    rows = finding.opening(SLOWER, OF_SLOWER, Step("do it"), wall=WALL)
    text = sheet(SLOWER, OF_SLOWER, rows)
    parts = ("do it", "evidence", "403.7k to 420.2k", "what happened", "opened", "more: ")
    assert [text.count(part) > 0 for part in parts] == [True] * len(parts)
    # What to do first, and raw figures last.
    assert sorted(parts, key=text.index) == list(parts)
    noted = sheet(KERNEL, Evidence(), finding.opening(KERNEL, None, Step(""), wall=WALL))
    assert "acknowledged by operator: planned upgrade" in noted
    assert DriftState.ACKNOWLEDGED.value in noted
