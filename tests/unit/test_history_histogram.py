"""Merged histograms, and their percentiles beside fio's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.figures import histogram

_DATA = Path(__file__).parent / "data"
_BINS = st.dictionaries(st.integers(1, 10**10), st.integers(1, 10**9), max_size=40)
_PERCENTS = (1.0, 5.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0)


def _fio_latencies() -> list[tuple[dict[str, float], dict[int, int]]]:
    """Percentiles and bins that fio 3.33 printed for the same I/Os, on a temporary file."""
    reports = json.loads((_DATA / "fio-3.33-latencies.json").read_text())
    assert len(reports) == 4
    return [
        (report["percentile"], {int(ns): count for ns, count in report["bins"].items()})
        for report in reports
    ]


@pytest.mark.parametrize(("told", "bins"), _fio_latencies())
def test_the_percentiles_of_one_report_are_the_very_ones_that_fio_printed(told, bins):
    for percent, printed_ns in told.items():
        assert histogram.percentile_ns(bins, float(percent)) == printed_ns, percent


@given(st.lists(_BINS, max_size=5), st.randoms())
def test_merging_adds_up_in_any_order(histograms, chance):
    merged = histogram.merge(histograms)
    assert sum(merged.values()) == sum(sum(bins.values()) for bins in histograms)
    shuffled = list(histograms)
    chance.shuffle(shuffled)
    assert histogram.merge(shuffled) == merged
    halves = [histogram.merge(histograms[:2]), histogram.merge(histograms[2:])]
    assert histogram.merge(halves) == merged
    assert list(merged) == sorted(merged)


@given(_BINS.filter(bool))
def test_a_percentile_is_the_first_bin_at_which_that_share_is_reached(bins):
    every = sorted(ns for ns, count in bins.items() for _ in range(min(count, 1)))
    total = sum(bins.values())
    for percent in _PERCENTS:
        found = histogram.percentile_ns(bins, percent)
        assert found in every
        up_to = sum(count for ns, count in bins.items() if ns <= found)
        below = sum(count for ns, count in bins.items() if ns < found)
        assert up_to >= percent / 100 * total * (1 - 1e-12)
        assert below < percent / 100 * total * (1 + 1e-12)


def test_a_merged_percentile_lies_between_those_of_its_parts():
    reports = _fio_latencies()
    for percent in _PERCENTS:
        each = [histogram.percentile_ns(bins, percent) or 0 for _, bins in reports]
        merged = histogram.percentile_ns(histogram.merge(bins for _, bins in reports), percent)
        assert merged is not None
        assert min(each) <= merged <= max(each)


def test_nothing_has_no_percentile():
    assert histogram.percentile_ns({}, 50.0) is None
    assert histogram.merge([]) == {}
