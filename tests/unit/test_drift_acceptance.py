"""The first run on new disks: what is published for them, and whether they are alike."""

import dataclasses
import json

import pytest

from appliance.drift.codes import CODES
from appliance.drift.series import acceptance, siblings
from appliance.model.findings import DriftState, SeriesKey
from appliance.model.measurement import Capability, Finding, Severity
from tests.unit.spans import FINGERPRINT, KEY, MEMBERS, QD1, detail, result

PUBLISHED = 1_650_000.0
EVEN = (0.4, 0.5, 0.4, 0.6)
SLOW = (0.12, 0.12, 2.4, 0.12)
IDLE = (0.09, 0.09, 0.09, 0.09)
WRITE = dataclasses.replace(KEY, job="rand-write-4k", direction="write")


def job(key: SeriesKey = KEY, *, share: float | None = 1.0, awaits_ms=EVEN, **known):
    """A result at ``share`` of what is published, if anything is."""
    published = None if share is None else PUBLISHED
    asked = {
        "rw": "randread" if key.direction == "read" else "randwrite",
        "iops": PUBLISHED * (1.0 if share is None else share),
        "capability": Capability(iops=published, basis="4 × 412,500 (i3.8xlarge)"),
        **known,
    }
    return result(key, awaits_ms=awaits_ms, **asked)


def judge(*results, **known):
    return acceptance.judge(detail(5, *results, **known), 7, FINGERPRINT)


def codes(found):
    return [(fact.code, fact.subject) for fact in found.facts]


def test_a_stripe_that_does_what_is_published_is_healthy():
    found = judge(job(), job(WRITE, share=0.97), job(QD1, awaits_ms=IDLE))
    assert (found.healthy, found.facts, found.run_id) == (True, (), 5)
    assert found.notes == (
        "of what is published: rand-read-4k read 100 %, rand-write-4k write 97 %",
    )


def test_a_disk_that_was_throttled_to_half_is_named_first():
    found = judge(job(share=0.5, awaits_ms=SLOW), job(QD1, awaits_ms=IDLE))
    assert found.healthy is False
    assert codes(found) == [("PERF-MEMBER", "AWS33"), ("PERF-BELOW-PUBLISHED", KEY.target)]
    member, below = found.facts
    assert (member.member, member.evidence["member_name"]) == ("AWS33", "nvme3n1")
    assert member.evidence["confidence"] == "high"
    assert member.identity == "acceptance, epoch 7"
    assert member.state is DriftState.OPEN
    assert below.member == "AWS33"
    assert below.evidence["percent_of_published"] == pytest.approx(50.0)
    assert "50 % of what is published (4 × 412,500 (i3.8xlarge))" in below.summary
    assert "AWS33" in below.next_step
    assert all(CODES[fact.code].severity is fact.severity for fact in found.facts)


def test_it_is_named_though_every_result_is_valid():
    valid = job(share=None, awaits_ms=SLOW)
    assert valid.valid
    assert codes(judge(valid)) == [("PERF-MEMBER", "AWS33")]


def test_an_unknown_machine_is_judged_by_its_members_alone_and_says_so():
    found = judge(job(share=None), machine_type="x9.large")
    assert found.healthy is True
    assert "no published figure is known for these disks (machine type x9.large)" in found.notes[0]
    found = judge(job(share=None), machine_type="", members=MEMBERS[:1])
    assert found.healthy is None
    assert "machine type not known" in found.notes[0]
    assert "no members were compared" in found.notes[1]


def test_a_queue_at_one_member_of_a_stripe_that_does_what_it_should():
    found = judge(job(share=0.95, awaits_ms=SLOW), job(QD1, awaits_ms=IDLE))
    assert (found.healthy, found.facts) == (True, ())


def test_a_small_difference_counts_only_where_something_is_missing():
    # The others have a queue as well, so that the slow one is slower by a little.
    small = (0.6, 0.6, 3.0, 0.6)
    assert judge(job(share=None, awaits_ms=small), job(QD1, awaits_ms=IDLE)).facts == ()
    found = judge(job(share=0.6, awaits_ms=small), job(QD1, awaits_ms=IDLE))
    assert codes(found)[0] == ("PERF-MEMBER", "AWS33")


def test_all_disks_slow_are_below_what_is_published_and_none_is_blamed():
    found = judge(job(share=0.55), job(WRITE, share=0.7))
    assert codes(found) == [("PERF-BELOW-PUBLISHED", KEY.target)]
    assert found.facts[0].evidence["jobs"] == "rand-read-4k read 55 %, rand-write-4k write 70 %"
    assert "rand-read-4k read does 907.5k IOPS" in found.facts[0].summary
    assert judge(job(share=0.81)).facts == ()


def test_a_slow_disk_without_any_queue():
    found = judge(job(), job(QD1, share=None, awaits_ms=(1.0, 1.0, 2.5, 1.0)))
    assert codes(found) == [("PERF-MEMBER", "AWS33")]


def test_what_others_disturbed_is_left_out():
    foreign = (Finding("FOREIGN", Severity.BLOCK, "somebody else"),)
    found = judge(job(share=0.5, awaits_ms=SLOW, findings=foreign))
    assert (found.healthy, found.facts) == (None, ())
    assert "left out, because others used the disks: rand-read-4k" in found.notes
    busy = (Finding("CPU", Severity.WARN, "busy"),)
    assert judge(job(share=0.5, findings=busy)).facts == ()
    cached = (Finding("COVERAGE", Severity.BLOCK, "cached"),)
    assert judge(job(share=0.5, findings=cached)).facts == ()


def test_counters_that_are_missing_are_no_proof_of_health():
    assert judge(job(share=None, awaits_ms=())).healthy is None
    assert judge(job(awaits_ms=())).healthy is True


def test_two_members():
    found = judge(job(share=None, awaits_ms=(0.3, 0.35)), members=MEMBERS[:2])
    assert found.healthy is True
    assert "with two members the difference shows, but not which of them is normal" in found.notes


# ------------------------------------------------------------------------------- siblings

SAME = "the same suite, stripe, kernel and fio"
SERIES = ("i3.8xlarge", SAME, KEY.suite, KEY.job, KEY.direction)
OTHERS = siblings.Siblings({SERIES: siblings.Usual(40, 780_000.0, 800_000.0)}, "fleet@example.com")


def beside(*results, others=OTHERS, conditions=SAME, **known):
    return acceptance.judge(
        detail(5, *results, machine_type="i3.8xlarge", **known), 7, FINGERPRINT, others, conditions
    )


def test_a_stripe_that_does_what_its_siblings_do_is_healthy_and_says_so():
    found = beside(job(share=None, iops=790_000.0))
    assert (found.healthy, found.facts) == (True, ())
    said = "of what other machines do (signed by fleet@example.com): rand-read-4k read 99 %"
    assert said in found.notes


def test_a_stripe_below_its_siblings_is_named_though_nothing_is_published():
    found = beside(job(share=None, iops=640_000.0))
    assert found.healthy is False
    assert codes(found) == [("PERF-BELOW-SIBLINGS", KEY.target)]
    (behind,) = found.facts
    assert (
        "640.0k IOPS, 80 % of the 800.0k that 40 other machines of this type do" in behind.summary
    )
    assert behind.evidence["siblings"] == 40


@pytest.mark.parametrize(
    "doubt",
    [
        {"conditions": "another kernel"},
        {"time_factor": 0.5},
        {"others": siblings.Siblings(problem="normal.json does not count: no signature")},
    ],
)
def test_what_is_not_alike_or_not_signed_judges_nothing(doubt):
    found = beside(job(iops=640_000.0, share=1.0), **doubt)
    assert "PERF-BELOW-SIBLINGS" not in [fact.code for fact in found.facts]
    assert len(found.notes) == 2


def test_a_type_that_is_not_known_has_no_siblings():
    unknown = siblings.Siblings({("", *SERIES[1:]): siblings.Usual(40, 780_000.0, 800_000.0)})
    found = acceptance.judge(
        detail(5, job(iops=640_000.0, share=None), machine_type=""), 7, FINGERPRINT, unknown, SAME
    )
    assert found.facts == ()


def test_one_in_ten_that_are_slower_anyway_is_none():
    wide = siblings.Usual(40, 600_000.0, 800_000.0)
    others = siblings.Siblings({SERIES: wide})
    assert beside(job(share=None, iops=640_000.0), others=others).facts == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "stripewright_normal"),
        ('{"stripewright_normal": 2}', "stripewright_normal is not 1"),
        ('{"stripewright_normal": 1}', "normal is not a list"),
        ('{"stripewright_normal": 1, "normal": [1]}', "not an object"),
        (
            '{"stripewright_normal": 1, "normal": [{"machine_type": 3}]}',
            "machine_type is not a text",
        ),
        ("{", "Expecting"),
    ],
)
def test_a_file_that_is_no_normal_is_said_in_words(text, said):
    with pytest.raises(ValueError, match=said):
        siblings.parse(text)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-1", "0", '"x"', "true"])
def test_a_level_is_a_number_above_zero(value):
    row = {"machine_type": "", "conditions": "", "suite": "", "job": "", "direction": ""}
    listed = json.dumps({**row, "machines": 1, "low_iops": 1})[:-1] + f', "iops": {value}}}'
    with pytest.raises(ValueError, match="iops is not a number"):
        siblings.parse(f'{{"stripewright_normal": 1, "normal": [{listed}]}}')
