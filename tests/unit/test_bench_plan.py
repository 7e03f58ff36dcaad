"""What is measured in which order, where, and what the samples of it come to."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.bench import fio, job_order
from appliance.bench.block_devices import Devices
from appliance.bench.prepare import settles
from appliance.bench.raw_device import RawDevice
from appliance.bench.suite import load_suite
from appliance.bench.target import RAW_READ, RAW_WRITE, Raw, jobs_for
from appliance.errors import Refused
from appliance.figures import sampling, stripe_delivery
from appliance.figures.stripe_delivery import efficiencies
from appliance.model.measurement import Finding, JobResult, Severity
from appliance.model.runs import Sample

SMOKE = load_suite("smoke")
SECOND = 10**9


# ------------------------------------------------------------------------------- schedule


def test_one_pass_keeps_the_order_of_the_suite():
    planned = job_order.schedule(SMOKE.jobs, seed=7)
    assert [one.job for one in planned] == list(SMOKE.jobs)
    assert {(one.pass_index, one.member) for one in planned} == {(1, "")}
    assert job_order.seconds(planned) == 150


def test_several_passes_each_have_every_job_once_and_an_order_of_their_own():
    planned = job_order.schedule(SMOKE.jobs, passes=4, seed=7)
    passes = [[one.job.name for one in planned if one.pass_index == at] for at in (1, 2, 3, 4)]
    assert [sorted(names) for names in passes] == [sorted(job.name for job in SMOKE.jobs)] * 4
    assert len({tuple(names) for names in passes}) > 1
    # Interleaved: a pass ends before the next begins.
    assert [one.pass_index for one in planned] == sorted(one.pass_index for one in planned)
    assert planned == job_order.schedule(SMOKE.jobs, passes=4, seed=7)
    assert planned != job_order.schedule(SMOKE.jobs, passes=4, seed=8)


def test_members_are_measured_beside_the_stripe_and_only_read():
    planned = job_order.schedule(SMOKE.jobs, members=("sda", "sdb"))
    assert [(one.job.name, one.member) for one in planned[:3]] == [
        ("seq-read-1m", ""),
        ("seq-read-1m", "sda"),
        ("seq-read-1m", "sdb"),
    ]
    assert all(one.job.rw.endswith("read") for one in planned if one.member)
    assert len(planned) == 5 + 3 * 2


# --------------------------------------------------------------------------------- place


def raw(size_bytes: int = 1 << 30, *, writable: bool = False, parts=()) -> Raw:
    device = RawDevice(99, "/dev/x", "x", size_bytes, writable)
    return Raw(device, Devices("x", ("x",)), tuple(parts))


def test_a_device_that_is_only_read_gets_the_jobs_that_read():
    jobs, note = jobs_for(raw(), load_suite("full"))
    assert {job.rw for job in jobs} == {"read", "randread"}
    assert "rand-mix-4k" in note
    assert "rand-write-4k" in note
    assert jobs_for(raw(), load_suite("latency-probe"))[1] == ""
    with pytest.raises(Refused, match="writes"):
        jobs_for(raw(), load_suite("ebs-log-write"))
    assert jobs_for(raw(writable=True), SMOKE) == (SMOKE.jobs, "")
    assert (raw().kind, raw(writable=True).kind) == (RAW_READ, RAW_WRITE)


def test_workers_of_a_device_and_of_parts_of_one():
    job = SMOKE.jobs[0]
    assert len({one.offset_bytes for one in raw().workers(job)}) == job.jobs
    with pytest.raises(Refused, match="too small"):
        raw(4 << 20).workers(job)
    parts = ((0, 8 << 20), (64 << 20, 8 << 20))
    found = raw(parts=parts).workers(job)
    assert len(found) == job.jobs
    assert {(one.offset_bytes, one.size_bytes) for one in found} == set(parts)


def test_only_what_writes_to_a_device_that_may_be_destroyed_is_settled_first():
    full = load_suite("full")
    by_rw = {job.rw: job for job in full.jobs}
    assert settles(by_rw["randwrite"], raw(writable=True), full)
    assert settles(by_rw["randrw"], raw(writable=True), full)
    assert not settles(by_rw["randread"], raw(writable=True), full)
    assert not settles(by_rw["randwrite"], raw(), full)
    assert not settles(SMOKE.jobs[-1], raw(writable=True), SMOKE)


# ------------------------------------------------------------------------------- stripes

MIB = 1 << 20
TWO = stripe_delivery.Stripe(("a", "b"), 64 << 10, (MIB, 3 * MIB))


def test_a_file_on_a_stripe_lies_on_each_member_at_half_its_place():
    # Bytes 0 to 2 MiB of the array are 0 to 1 MiB of each member, behind its superblock.
    found = stripe_delivery.on_member([(0, 2 * MIB)], TWO, "a", align_bytes=4096)
    assert found == ((MIB, MIB),)
    assert stripe_delivery.on_member([(0, 2 * MIB)], TWO, "b", align_bytes=4096) == (
        (3 * MIB, MIB),
    )


def test_only_whole_stripes_count_and_the_largest_part_comes_first():
    extents = [(4096, 256 << 10), (10 * MIB, 4 * MIB)]
    found = stripe_delivery.on_member(extents, TWO, "a", align_bytes=4096)
    assert found == ((MIB + 5 * MIB, 2 * MIB), (MIB + (64 << 10), 64 << 10))
    assert stripe_delivery.on_member([(0, 100 << 10)], TWO, "a", align_bytes=4096) == ()
    assert stripe_delivery.on_member([(0, 2 * MIB)], TWO, "a", align_bytes=4 * MIB) == ()


@given(
    extents=st.lists(st.tuples(st.integers(0, 1 << 24), st.integers(1, 1 << 22)), max_size=5),
    count=st.integers(2, 5),
    chunk=st.sampled_from([4096, 65536, 12288]),
    data=st.data(),
)
def test_every_byte_of_a_part_is_a_byte_of_the_extents(extents, count, chunk, data):
    names = tuple(f"d{number}" for number in range(count))
    stripe = stripe_delivery.Stripe(names, chunk, tuple(MIB * (1 + at) for at in range(count)))
    at = data.draw(st.integers(0, count - 1))
    for offset, size in stripe_delivery.on_member(extents, stripe, names[at], align_bytes=4096):
        assert offset % 4096 == size % 4096 == 0
        for byte in (offset, offset + size - 1):
            row, inside = divmod(byte - stripe.data_offsets[at], chunk)
            on_array = (row * count + at) * chunk + inside
            assert any(begin <= on_array < begin + length for begin, length in extents)


# ----------------------------------------------------------------------- samples of a job


def sample(at_seconds: float, device: str = "a", read: float = 100.0, write: float = 0.0) -> Sample:
    return Sample(
        int(at_seconds * SECOND), device, read, write, read * 4096, write * 4096, 1.0, 1.0
    )


def cut(samples, *, members=("a",), direction="read", began=0.0, ended=30.0):
    return sampling.slices_of(
        samples,
        members=members,
        direction=direction,
        began_ns=int(began * SECOND),
        ended_ns=int(ended * SECOND),
    )


def test_slices_are_equal_and_leave_the_edges_out():
    found = cut([sample(at, read=at) for at in range(31)])
    assert {one.seconds for one in found} == {3.0}
    assert len(found) == 9
    # Seconds 2 to 28 are whole, three of them a slice.
    assert found[-1].iops == 27
    assert found[0].iops == 3
    assert found[0].bytes_per_s == 3 * 4096


def test_slices_add_up_the_members_in_one_direction_and_pass_over_half_a_second():
    both = [sample(at, name, read=10, write=1) for at in range(8) for name in ("a", "b")]
    found = cut(both, members=("a", "b"), ended=7.5)
    assert {one.iops for one in found} == {20}
    assert {one.iops for one in cut(both, members=("a", "b"), direction="write")} == {2}
    without = [one for one in both if (one.at_ns, one.device) != (4 * SECOND, "b")]
    assert len(cut(without, members=("a", "b"), ended=7.5)) == len(found) - 1


def test_a_short_job_has_few_slices_or_none():
    assert cut([sample(at) for at in range(4)], ended=2.5) == ()
    assert len(cut([sample(at) for at in range(6)], ended=5.0)) == 2


# ------------------------------------------------------------------------------- minutes


def test_minutes_are_those_of_the_wall_clock():
    seen = sampling.Minutes("md0")
    for at in range(31, 181):
        seen.add(sampling.second(sample(at, "md0", read=100, write=50)))
        seen.add(sampling.second(sample(at, "nvme0n1", read=9999)))
        if at == 59:
            assert seen.last is None
    assert seen.last == sampling.Minute(120, "md0", 60, 6000.0, 3000.0, 6000 * 4096, 3000 * 4096)


@given(st.lists(st.integers(1, 4 * 60 * 1000), min_size=1, max_size=300, unique=True).map(sorted))
def test_a_minute_is_told_while_it_runs_as_history_has_it_later(moments_ms):
    points = [sampling.second(sample(at / 1000, "md0", read=at)) for at in moments_ms]
    seen, told = sampling.Minutes("md0"), []
    for point in points:
        seen.add(point)
        if seen.last is not None and seen.last not in told:
            told.append(seen.last)
    assert tuple(told) == sampling.minute_sums(points)[:-1]


# ---------------------------------------------------------------------------- efficiency


def result(iops: float, member: str = "", *, valid: bool = True, **changes) -> JobResult:
    bad = () if valid else (Finding("SHORT", Severity.BLOCK, "short"),)
    plain = JobResult(
        job="j",
        direction="read",
        engine="libaio",
        block_size_bytes=4096,
        iops=iops,
        bandwidth_bytes=iops * 4096,
        io_bytes=0,
        total_ios=0,
        latency_mean_ns=0.0,
        percentiles_ns={},
        bins={},
        runtime_ms=0,
        runtime_asked_ms=0,
        jobs=1,
        iodepth=1,
        errors=0,
        cpu_percent=0.0,
        device_bytes=None,
        device_io=(),
        findings=bad,
        member=member,
    )
    return dataclasses.replace(plain, **changes)


def test_a_stripe_beside_the_sum_of_its_members():
    results = [result(190), result(100, "a"), result(100, "b"), result(50, job="other")]
    (found,) = efficiencies(results, ("a", "b"))
    assert (found.job, found.stripe_iops, found.member_iops) == ("j", 190, {"a": 100, "b": 100})
    assert found.share == 0.95


def test_passes_are_brought_together_by_their_median():
    results = [result(iops) for iops in (180, 200, 10)]
    results += [result(100, "a"), result(100, "b"), result(100, "b"), result(900, "b")]
    (found,) = efficiencies(results, ("a", "b"))
    assert found.stripe_iops == 180
    assert found.member_iops == {"a": 100, "b": 100}


@pytest.mark.parametrize(
    "results",
    [
        [result(190), result(100, "a")],  # a member is missing
        [result(190), result(100, "a"), result(100, "b", valid=False)],
        [result(190, valid=False), result(100, "a"), result(100, "b")],
        [result(190), result(100, "a"), result(0, "b")],
    ],
)
def test_no_efficiency_out_of_half_of_it(results):
    assert efficiencies(results, ("a", "b")) == ()
    assert efficiencies([result(1)], ()) == ()


def test_a_worker_in_the_arguments_keeps_to_its_part():
    arguments = fio.job_arguments(SMOKE.jobs[0], raw().workers(SMOKE.jobs[0]), engine="psync")
    assert sum(argument.startswith("--offset=") for argument in arguments) == 8
