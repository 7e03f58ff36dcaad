"""Which member of a stripe is slower than the others."""

import dataclasses

import pytest

from appliance.drift.series import member_rules
from tests.unit import spans
from tests.unit.spans import FINGERPRINT, KEY, MEMBERS, QD1, counters, detail, result, run


def outlier(*awaits_ms, qd1=(), names=MEMBERS):
    found = [result(awaits_ms=awaits_ms)]
    if qd1:
        found.append(result(QD1, awaits_ms=qd1))
    fingerprint = {"serials": ",".join(spans.SERIALS[: len(names)])}
    return member_rules.outliers(detail(1, *found, members=names), fingerprint)


@pytest.mark.parametrize("awaits_ms", [(0.3, 0.3, 0.3, 0.3), (0.3, 0.35, 0.6, 1.1), (9, 9, 9, 9)])
def test_an_ordinary_stripe_has_none(awaits_ms):
    assert outlier(*awaits_ms) == ()


def test_a_queue_that_stands_at_one_member_while_the_others_are_idle():
    (found,) = outlier(0.12, 0.11, 2.3, 0.12, qd1=(0.09, 0.09, 0.09, 0.09))
    assert (found.member, found.serial) == ("nvme3n1", "AWS33")
    assert found.confidence == "high"
    assert "0.12 ms, and 0.09 ms without any queue" in found.why
    assert found.words == (
        "nvme3n1 (serial AWS33) took 2.30 ms an I/O and the others 0.12 ms in rand-read-4k read"
    )


def test_others_that_have_a_queue_as_well_make_it_a_small_difference():
    (found,) = outlier(0.5, 0.5, 2.3, 0.5, qd1=(0.09, 0.09, 0.09, 0.09))
    assert found.confidence == "low"
    (found,) = outlier(0.5, 0.5, 5.3, 0.5, qd1=(0.09, 0.09, 0.09, 0.09))
    assert found.confidence == "medium"
    (found,) = outlier(0.12, 0.11, 2.3, 0.12)
    assert found.confidence == "medium"


def test_what_an_io_takes_without_a_queue_is_that_of_the_others():
    found = outlier(0.35, 0.35, 3.0, names=MEMBERS[:3], qd1=(0.1, 0.2, 2.0))[0]
    assert found.confidence == "low"
    assert "0.35 ms, and 0.15 ms without any" in found.why


def test_what_large_ios_take_without_a_queue_is_another_matter():
    large = dataclasses.replace(result(QD1, awaits_ms=(0.1,) * 4), block_size_bytes=2**20)
    deep = result(awaits_ms=(0.12, 0.11, 2.3, 0.12))
    found = member_rules.outliers(detail(1, deep, large), FINGERPRINT)[0]
    assert found.why == "the queue builds up at this member; a small difference is enough for that"


def test_without_a_queue_twice_as_long_is_enough():
    found = member_rules.outliers(
        detail(1, result(QD1, awaits_ms=(1.0, 1.0, 1.0, 2.2))), FINGERPRINT
    )
    assert [(one.serial, one.confidence) for one in found] == [("AWS44", "high")]
    assert found[0].why.startswith("no I/O waited in a queue")
    assert outlier(1.0, 1.0, 1.0, 2.2) == ()


def test_of_two_members_only_the_difference_is_known():
    (found,) = outlier(0.2, 1.4, names=MEMBERS[:2])
    assert (found.serial, found.confidence) == ("AWS22", "low")
    assert "which of them is normal is not known" in found.why
    (found,) = outlier(0.1, 1.4, names=MEMBERS[:2])
    assert found.confidence == "medium"


def test_twenty_four_members_with_three_slow_ones_name_the_slowest():
    names = tuple(f"nvme{number}n1" for number in range(24))
    deltas = tuple(
        dataclasses.replace(
            counters((1.0,))[0], device=name, read_ticks_ms=1_000_000 * (9 if at > 20 else 1) + at
        )
        for at, name in enumerate(names)
    )
    one = result(total_ios=24_000_000, device_io=deltas)
    (found,) = member_rules.outliers(detail(1, one, members=names), {})
    assert found.member == found.serial == "nvme23n1"


def test_serials_go_with_the_run_in_which_the_kernel_gave_the_names():
    assert member_rules.serials(run(1), FINGERPRINT)["nvme2n1"] == "AWS22"
    other_boot = run(2, members=("nvme4n1", "nvme3n1", "nvme2n1", "nvme1n1"))
    assert member_rules.serials(other_boot, FINGERPRINT)["nvme2n1"] == "AWS33"
    two_volumes = {"serials": "AWS1,AWS2; AWS3,AWS4,AWS5,AWS6"}
    assert member_rules.serials(run(1), two_volumes)["nvme1n1"] == "AWS3"
    assert member_rules.serials(run(1), {"serials": "A,B,C,D; E,F,G,H"}) == {}
    assert member_rules.serials(run(1), {}) == {}
    assert member_rules.serials(run(1, members=()), {"serials": ""}) == {}


def test_members_measured_alone_and_unequal_work_are_left_out():
    alone = result(dataclasses.replace(KEY, member="nvme3n1"), awaits_ms=(0.1, 0.1, 9.0, 0.1))
    assert member_rules.outliers(detail(1, alone), FINGERPRINT) == ()
    deltas = list(counters((0.1, 0.1, 9.0, 0.1)))
    deltas[2] = dataclasses.replace(deltas[2], read_ios=500_000)
    uneven = result(total_ios=3_500_000, device_io=tuple(deltas))
    assert member_rules.outliers(detail(1, uneven), FINGERPRINT) == ()
    assert member_rules.ratios(uneven, detail(1, uneven), FINGERPRINT) == {}


def test_ratios_of_each_member_to_the_median_of_the_others():
    one = result(awaits_ms=(1.0, 1.0, 3.0, 2.0))
    found = member_rules.ratios(one, detail(1, one), FINGERPRINT)
    assert found == pytest.approx({"AWS11": 0.5, "AWS22": 0.5, "AWS33": 3.0, "AWS44": 2.0})


def test_of_several_passes_most_must_show_it():
    slow = result(awaits_ms=(0.1, 0.1, 9.0, 0.1))
    even = result(awaits_ms=(0.1, 0.1, 0.1, 0.1))
    found = member_rules.of_job(detail(1, slow, slow, even), "rand-read-4k", "read", FINGERPRINT)
    assert found is not None
    assert found.serial == "AWS33"
    assert member_rules.of_job(detail(1, slow, even), "rand-read-4k", "read", FINGERPRINT) is None
    assert member_rules.of_job(detail(1, slow), "rand-read-4k", "write", FINGERPRINT) is None


def test_beside_others_that_took_no_time_nothing_is_compared():
    one = result(awaits_ms=(0.0, 0.0, 0.0, 1.0))
    found = member_rules.ratios(one, detail(1, one), FINGERPRINT)
    assert set(found.values()) <= {0.0}
