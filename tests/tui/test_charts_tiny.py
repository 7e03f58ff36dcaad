"""Every chart at every size, with whatever values and labels: exactly that size, no error."""

import math
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tui.charts.axes import Axis, Unit
from tui.charts.bars import MemberBar, balance
from tui.charts.histogram import Percentile, histogram
from tui.charts.line import Band, Chart, Mark, Series
from tui.charts.markers import Marker
from tui.charts.plot import VRule
from tui.charts.table import table_of

HOSTILE = (
    "[red]x[/red]",
    "\x1b[31mred",
    "日本語のディスク",
    "e\u0301te\u0301",
    "\u202eevil",
    "👍🏽🇩🇪❤️",
    "a\tb\nc",
    "\u0301",
    "",
)
numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(10**12), 10**12).map(float),
)
texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12))
axes = st.builds(
    Axis,
    st.sampled_from(Unit),
    st.one_of(st.none(), numbers),
    st.one_of(st.none(), numbers),
    st.booleans(),
    st.booleans(),
)
lines = st.lists(
    st.builds(
        Series,
        texts,
        st.lists(st.tuples(numbers, st.one_of(st.none(), numbers)), max_size=8),
        st.just("$primary"),
        st.sampled_from((math.inf, 1.0)),
        st.booleans(),
    ),
    max_size=3,
)
sizes = st.tuples(st.integers(0, 40), st.integers(0, 14))
calmly = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def widths(chart):
    """Cells of each line, as Textual counts them and not as the chart says."""
    return [type(line)(line.plain).cell_length for line in chart]


@calmly
@given(
    sizes,
    st.sampled_from(Marker),
    lines,
    st.fixed_dictionaries(
        {
            "x": axes,
            "y": axes,
            "bands": st.lists(
                st.builds(Band, numbers, numbers, texts, numbers, numbers), max_size=2
            ),
            "rules": st.lists(st.builds(VRule, numbers, texts), max_size=3),
            "marks": st.lists(
                st.builds(Mark, numbers, st.none() | numbers, texts, st.just("")), max_size=3
            ),
        }
    ),
)
def test_line_charts_of_anything_have_their_size(size, marker, series, around):
    width, height = size
    of = Chart(series, **around)
    chart = of.lines(width=width, height=height, marker=marker)
    assert widths(chart) == [width] * height
    named = of.legend(width=width, marker=marker)
    assert widths([named]) == [width]
    shown = "".join(line.plain for line in [*chart, named])
    assert not [char for char in shown if unicodedata.category(char).startswith("C")]
    table = table_of(of)
    assert {len(row) for row in table.rows} <= {len(table.header)}


@calmly
@given(
    sizes,
    st.sampled_from(Marker),
    st.dictionaries(st.integers(-5, 10**12), st.integers(-1, 10**9), max_size=12),
    st.lists(st.builds(Percentile, texts, numbers), max_size=4),
)
def test_histograms_of_anything_have_their_size(size, marker, bins, percentiles):
    width, height = size
    chart = histogram(bins, width=width, height=height, marker=marker, percentiles=percentiles)
    assert widths(chart) == [width] * height


@calmly
@given(
    sizes,
    st.sampled_from(Marker),
    st.lists(
        st.builds(
            MemberBar, texts, st.floats(0, 1e15), st.one_of(st.none(), st.floats(0, 1e12)),
            st.just(""), texts,
        ),
        max_size=9,
    ),
)  # fmt: skip
def test_bars_of_anything_have_their_width_and_are_not_too_many(size, marker, members):
    width, height = size
    chart = balance(members, width=width, height=height, marker=marker)
    assert set(widths(chart)) <= {width}
    assert len(chart) <= height


@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_labels_move_nothing(label):
    """What is right of a label stands where it would without it."""
    points = [(float(at), float(at)) for at in range(50)]
    charts = [
        Chart(
            [Series("a", points)],
            Axis(Unit.ELAPSED),
            Axis(Unit.COUNT),
            rules=[VRule(20.0, words)],
        ).lines(width=60, height=12, marker=Marker.BRAILLE)
        for words in (label or "x", "x")
    ]
    assert [line.plain for line in charts[0][1:]] == [line.plain for line in charts[1][1:]]


def test_a_wide_label_does_not_move_the_label_after_it():
    lines = [
        Chart(
            [Series("a", [(0.0, 0.0), (50.0, 1.0)])],
            Axis(Unit.NUMBER),
            Axis(Unit.COUNT),
            rules=[VRule(5.0, words), VRule(30.0, "after")],
        ).lines(width=60, height=12, marker=Marker.BLOCK)[0]
        for words in ("日本語", "abcdef")
    ]
    assert [line.plain.index("after") for line in lines] == [37 - 3, 37]
