"""All rules together: what each report of two published diaries is worth."""

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.bench import validity
from appliance.figures import quantities
from appliance.model.measurement import DeviceIo, Finding, Measurement, Severity
from tests.unit import diary


def codes(evidence: Measurement) -> dict[str, Severity]:
    return {finding.code: finding.severity for finding in validity.judge(evidence)}


def blocked(evidence: Measurement) -> set[str]:
    return {code for code, severity in codes(evidence).items() if severity is Severity.BLOCK}


@pytest.mark.parametrize("evidence", [*diary.I3_STRIPE, *diary.I3_SINGLE_WRITES])
def test_a_true_report_of_the_first_diary_is_silent(evidence):
    assert codes(evidence) == {}


@pytest.mark.parametrize("evidence", diary.I3_SINGLE_READS)
def test_the_reads_that_never_reached_the_disk_are_blocked(evidence):
    assert blocked(evidence) == {"COVERAGE", "IMPOSSIBLE"}


def test_the_second_diary():
    expected = {
        "EBS_SIX_64K": {"CAP"},
        "EBS_ROOT_64K": {"CAP"},
        "EBS_ROOT_64K_ASKED_FOR_8": {"DEPTH", "CAP"},
        "EBS_SIX_INTERRUPTED": {"SHORT", "DEPTH"},
        "M5D_8X_SINGLE_4M": {"CAP"},
        "M5D_4X_SINGLE_64K_ASKED_FOR_8": {"DEPTH", "CAP"},
        "EBS_IO1_4M": set(),
        "M5D_4X_STRIPE_4M": {"MEMBER", "CAP"},
        "M5D_8X_STRIPE_4M": {"MEMBER"},
        "EBS_SIX_4M": {"CAP"},
    }
    found = {name: set(codes(getattr(diary, name))) for name in expected}
    assert found == expected
    for name in expected:
        assert blocked(getattr(diary, name)) <= {"DEPTH", "SHORT"}


def test_blocking_findings_come_first_and_labels_last():
    evidence = dataclasses.replace(diary.M5D_4X_STRIPE_4M, errors=5)
    found = [finding.severity for finding in validity.judge(evidence)]
    assert found == [Severity.BLOCK, Severity.WARN, Severity.LABEL]


def test_corrected_is_only_taken_from_a_figure_in_iops():
    other = Finding("BURST", Severity.BLOCK, "", corrected=5.0, unit="bytes/s")
    iops = Finding("COVERAGE", Severity.BLOCK, "", corrected=7.0, unit="iops")
    for findings, corrected in (((other,), None), ((other, iops), 7.0), ((), None)):
        one = dataclasses.replace(diary.STRIPE_READ_4K, findings=findings)
        assert quantities.corrected_iops(one) == corrected


def test_percentiles_are_found_by_number():
    evidence = dataclasses.replace(
        diary.STRIPE_READ_4K, percentiles_ns={"no number": 1, "99": 7, "99.900000": 8}
    )
    assert quantities.percentile_ns(evidence, 99.0) == 7
    assert quantities.percentile_ns(evidence, 99.9) == 8
    assert quantities.percentile_ns(evidence, 50.0) is None
    assert (
        quantities.percentile_ns(dataclasses.replace(evidence, percentiles_ns=None), 99.0) is None
    )


UNKNOWN = {
    "block_size_bytes": None,
    "jobs": None,
    "iodepth": None,
    "iops": None,
    "bandwidth_bytes": None,
    "io_bytes": None,
    "total_ios": None,
    "runtime_ms": None,
    "runtime_asked_ms": None,
    "latency_mean_ns": None,
    "percentiles_ns": None,
    "printed_iops": None,
    "printed_bandwidth_bytes": None,
    "cpu_percent": None,
    "capability": None,
    "engine": "",
    "rw": "",
    "direct": None,
    "device": "",
    "members": (),
    "device_io": (),
    "ended": "",
}


@pytest.mark.parametrize("evidence", diary.ALL)
def test_nothing_is_held_against_what_is_not_known(evidence):
    assert codes(dataclasses.replace(evidence, **UNKNOWN)) == {}


@pytest.mark.parametrize("evidence", [*diary.I3_STRIPE, *diary.I3_SINGLE_WRITES])
@pytest.mark.parametrize("name", UNKNOWN)
def test_one_unknown_figure_makes_no_true_report_suspect(evidence, name):
    assert codes(dataclasses.replace(evidence, **{name: UNKNOWN[name]})) == {}


_INTEGER = st.one_of(st.none(), st.sampled_from([0, 1]), st.integers(-1, 10**30))
_COUNT = st.one_of(st.sampled_from([0, 10**400]), st.integers(-1, 10**12))
_FLOAT = st.one_of(st.none(), st.floats(), st.sampled_from([0.0, 1e300]))


@given(
    st.sampled_from(diary.ALL),
    st.fixed_dictionaries(
        {},
        optional={
            "direction": st.sampled_from(["read", "write", "trim", ""]),
            "block_size_bytes": _INTEGER,
            "jobs": _INTEGER,
            "iodepth": _INTEGER,
            "iops": _FLOAT,
            "bandwidth_bytes": _FLOAT,
            "io_bytes": _INTEGER,
            "total_ios": _INTEGER,
            "runtime_ms": _INTEGER,
            "runtime_asked_ms": _INTEGER,
            "latency_mean_ns": _FLOAT,
            "printed_iops": _FLOAT,
            "printed_bandwidth_bytes": _FLOAT,
            "cpu_percent": _FLOAT,
            "other_direction_iops": _FLOAT,
            "other_direction_latency_mean_ns": _FLOAT,
            "percentiles_ns": st.dictionaries(
                st.sampled_from(["1", "10.000000", "50", "90", "99", "nan", "x"]),
                st.integers(0, 10**30),
            ),
            "device": st.sampled_from(["", "md0", "nvme0n1"]),
            "members": st.sampled_from([(), ("nvme0n1",), ("nvme0n1", "nvme1n1"), ("gone",)]),
            "device_io": st.lists(
                st.builds(
                    DeviceIo,
                    device=st.sampled_from(["md0", "nvme0n1", "nvme1n1"]),
                    read_ios=_COUNT,
                    write_ios=_COUNT,
                    read_ticks_ms=_INTEGER,
                    write_ticks_ms=_INTEGER,
                    read_bytes=_INTEGER,
                    write_bytes=_INTEGER,
                ),
                max_size=3,
            ).map(tuple),
            "expected": st.sampled_from([(), ("nvme1n1",), ("md0", "nvme0n1p1")]),
            "ramp_ms": st.integers(0, 10**6),
        },
    ),
)
def test_no_figure_makes_a_rule_fail(evidence, changes):
    for finding in validity.judge(dataclasses.replace(evidence, **changes)):
        assert finding.message
        for figure in (finding.measured, finding.limit, finding.corrected):
            assert figure is None or isinstance(figure, float)
            assert figure is None or not math.isnan(figure)
