"""What else was different before and after a change."""

import dataclasses

import pytest

from appliance.drift.series import attribution
from appliance.model.measurement import DeviceLatency, Finding, Provisioned, Severity
from appliance.model.runs import RunState
from appliance.model.slots import Attempt, Happening
from tests.unit.spans import FINGERPRINT, KEY, detail, result


def around(before=None, after=None, *, then=None, now=None, **known):
    """Three runs before and three since, alike but for what is given of them."""
    return attribution.Around(
        KEY,
        [detail(run, before or result(), **(then or {})) for run in (1, 2, 3)],
        [detail(run, after or result(), **(now or {})) for run in (4, 5, 6)],
        FINGERPRINT,
        **known,
    )


def kinds(*given, slower=True, **known):
    return [one.kind for one in attribution.causes(around(*given, **known), slower=slower)]


def test_nothing_that_differs_is_said_to_be_not_known():
    assert kinds() == []
    assert attribution.in_words(()) == attribution.NOT_KNOWN
    assert attribution.causes(attribution.Around(KEY, [], [], {}), slower=True) == ()


def test_its_own_limit():
    # 30 s of a run: its limit was exceeded for 12 s of it.
    after = result(provisioned=Provisioned(volume_iops_us=12_000_000))
    before = result(provisioned=Provisioned())
    (found,) = attribution.causes(around(before, after), slower=True)
    assert found.kind == "limit"
    assert "exceeded for 40% of the run time, 0% before" in found.words
    assert kinds(after, after) == []
    assert kinds(before, after, slower=False) == []


def test_one_member_that_moved_away_from_the_others():
    before = result(awaits_ms=(0.3, 0.3, 0.4, 0.3))
    after = result(awaits_ms=(0.12, 0.12, 2.4, 0.12))
    (found,) = attribution.causes(around(before, after), slower=True)
    assert (found.kind, found.member) == ("member", "AWS33")
    assert "20.0 times that of the others, and 1.3 times before" in found.words
    # It was so before: no cause of this change.
    assert kinds(after, after) == []
    assert kinds(result(awaits_ms=(0.12, 0.12, 1.8, 0.12)), after) == []
    assert kinds(before, result(awaits_ms=(0.3, 0.3, 0.7, 0.3))) == []


@pytest.mark.parametrize(
    ("before_us", "after_us", "says"),
    [(90, 1900, "the disk itself is slower"), (90, 95, "its I/Os wait before they reach it")],
)
def test_a_member_that_counts_how_long_it_takes(before_us, after_us, says):
    then = result(
        awaits_ms=(0.3, 0.3, 0.4, 0.3),
        device_latencies=(DeviceLatency("nvme2n1", 10, 10 * before_us),),
    )
    now = result(
        awaits_ms=(0.12, 0.12, 2.4, 0.12),
        device_latencies=(DeviceLatency("nvme3n1", 10, 10 * after_us),),
    )
    # Under another kernel name before.
    names = ("nvme1n1", "nvme3n1", "nvme2n1", "nvme4n1")
    then = dataclasses.replace(then, device_io=result(awaits_ms=(0.3, 0.4, 0.3, 0.3)).device_io)
    (found,) = attribution.causes(around(then, now, then={"members": names}), slower=True)
    assert found.words.endswith(
        f"{says}: by its own count {after_us:,} µs an I/O, {before_us} µs before"
    )


def test_the_same_disk_under_another_name():
    before = result(awaits_ms=(0.3, 0.3, 3.9, 0.3))
    after = result(awaits_ms=(0.3, 3.9, 0.3, 0.3))
    names = ("nvme1n1", "nvme3n1", "nvme2n1", "nvme4n1")
    # The slow one is AWS33 both times.
    assert kinds(before, after, now={"members": names}) == []
    assert kinds(before, after) == ["member"]


def test_processors_that_are_busy_or_slower():
    (found,) = attribution.causes(
        around(result(host_cpu_percent=30.0), result(host_cpu_percent=85.0)), slower=True
    )
    assert found.kind == "cpu"
    assert "85 % busy during the job, 30 % before" in found.words
    assert kinds(result(host_cpu_percent=5.0), result(host_cpu_percent=30.0)) == []
    # 8 workers: 0.9 of a core each for 800,000 IOPS are 9 µs an I/O.
    slow = result(cpu_percent=95.0, iops=600_000.0)
    (found,) = attribution.causes(around(result(cpu_percent=90.0), slow), slower=True)
    assert "12.67 µs of processor time, 9.00 µs before" in found.words
    assert "and that is the limit" in found.words
    # The figure is the one for which it is said: another program's load fills the processors.
    (found,) = attribution.causes(
        around(
            result(cpu_percent=4.0, host_cpu_percent=90.0),
            result(cpu_percent=5.0, host_cpu_percent=95.0),
        ),
        slower=True,
    )
    assert found.words.endswith("before; the machine's processors are 95 % busy during the job")
    idle = result(cpu_percent=23.0, iops=600_000.0)
    assert kinds(result(cpu_percent=20.0), idle) == []


def test_surroundings_that_changed():
    then = {"conditions": {"scheduler": "none", "cpu_governor": "performance", "nr_requests": "1"}}
    now = {"conditions": {"scheduler": "mq-deadline", "cpu_governor": "performance"}}
    (found,) = attribution.causes(around(then=then, now=now), slower=False)
    assert found.kind == "environment"
    assert "scheduler none → mq-deadline, nr_requests was 1" in found.words
    assert kinds(now={"engine": "libaio"}) == ["environment"]
    # Of an older version nothing was recorded.
    assert kinds(now=now) == []
    files = {"conditions": {"file_size_bytes": "1", "steady_state x": "yes"}}
    assert kinds(then=files, now={"conditions": {"file_size_bytes": "2"}}) == []


def test_other_load_and_what_happened_before():
    attempts = [
        Attempt(2, "smoke", KEY.target, RunState.SKIPPED, 0.0, "foreign load"),
        Attempt(5, "smoke", KEY.target, RunState.SKIPPED, 0.0, "foreign load"),
        Attempt(6, "smoke", KEY.target, RunState.COMPLETE, 0.0),
        Attempt(7, "smoke", KEY.target, RunState.RUNNING, 0.0),
        Attempt(8, "full", KEY.target, RunState.SKIPPED, 0.0, "foreign load"),
    ]  # fmt: skip
    (found,) = attribution.causes(around(attempts=attempts), slower=True)
    assert found.words == "other load on the disks: 1 of 2 runs since were skipped for it"
    foreign = result(findings=(Finding("FOREIGN", Severity.BLOCK, ""),))
    assert kinds(None, foreign) == ["foreign"]
    happenings = [Happening(1.0, "TUNING_SET", f"set {number}") for number in range(5)]
    (found,) = attribution.causes(around(happenings=happenings), slower=False)
    assert found.words == "between the runs: set 0; set 1; set 2; and 2 more"


def test_the_most_certain_comes_first():
    after = result(
        awaits_ms=(0.12, 0.12, 2.4, 0.12), provisioned=Provisioned(volume_iops_us=12_000_000)
    )
    before = result(awaits_ms=(0.3, 0.3, 0.4, 0.3), provisioned=Provisioned())
    known = {"now": {"engine": "libaio"}, "happenings": [Happening(1.0, "TUNING_SET", "set")]}
    assert kinds(before, after, **known) == ["limit", "member", "environment", "event"]
    assert kinds(before, after, slower=False, **known) == ["environment", "event"]


@pytest.mark.parametrize("unknown", ["host_cpu_percent", "provisioned"])
def test_what_was_not_measured_is_no_cause(unknown):
    assert kinds(dataclasses.replace(result(), **{unknown: None}), result()) == []
