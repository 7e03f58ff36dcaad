"""Seconds, means of ten, sums of sixty: nothing is lost on the way but the seconds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.figures import sampling
from appliance.model.runs import Sample

_RATE = st.floats(0, 1e7, allow_nan=False)
_SAMPLES = st.lists(
    st.builds(
        Sample,
        at_ns=st.integers(0, 400).map(lambda at: at * 1_000_000_000 + 5),
        device=st.sampled_from(("md0", "nvme0n1")),
        read_iops=_RATE,
        write_iops=_RATE,
        read_bytes_per_s=_RATE,
        write_bytes_per_s=_RATE,
        await_ms=st.floats(0, 1000),
        util=st.floats(0, 1),
    ),
    max_size=60,
)


@given(_SAMPLES)
def test_means_keep_the_sums_and_are_packed_and_unpacked(samples):
    means = sampling.means(samples)
    assert sampling.unpack(sampling.pack(means)) == means
    assert sum(mean.seconds for mean in means) == len(samples)
    for name, allowed in (("read_iops", 0.01), ("write_bytes_per_s", 1.0), ("util", 1e-4)):
        kept = sum(getattr(mean, name) * mean.seconds for mean in means)
        told = sum(getattr(sample, name) for sample in samples)
        assert kept == pytest.approx(told, abs=allowed * (len(samples) + 1))


@given(_SAMPLES)
def test_a_minute_is_the_same_from_seconds_and_from_means(samples):
    from_seconds = sampling.minute_sums(sampling.second(sample) for sample in samples)
    from_means = sampling.minute_sums(sampling.means(samples))
    assert [(one.at, one.device) for one in from_seconds] == [
        (one.at, one.device) for one in from_means
    ]
    for one, other in zip(from_seconds, from_means, strict=True):
        assert one.read_ios == pytest.approx(other.read_ios, abs=2)
        assert one.write_bytes == pytest.approx(other.write_bytes, abs=60)


def test_the_await_of_a_mean_is_that_of_an_io_and_not_of_a_second():
    busy = Sample(0, "md0", 990.0, 0.0, 0.0, 0.0, 1.0, 1.0)
    idle = Sample(1_000_000_000, "md0", 10.0, 0.0, 0.0, 0.0, 101.0, 1.0)
    (mean,) = sampling.means([busy, idle])
    assert mean.await_ms == pytest.approx(2.0)
    assert (mean.at, mean.seconds, mean.read_iops) == (0, 2, 500.0)


def test_the_rates_of_a_job_are_its_whole_seconds_on_its_device():
    points = [
        sampling.second(Sample(at * 1_000_000_000, device, 0, 0, at, -at, 0, 0))
        for at in range(100, 120)
        for device in ("md0", "nvme0n1")
    ]
    found = sampling.of_job(points, device="md0", direction="read", ended_at=115.5, seconds=10)
    assert found == tuple(float(at) for at in range(107, 115))
    written = sampling.of_job(points, device="md0", direction="write", ended_at=115.5, seconds=10)
    assert written == tuple(-rate for rate in found)
    means = sampling.means(
        Sample(at * 1_000_000_000, "md0", 0, 0, at, 0, 0, 0) for at in range(100, 120)
    )
    assert sampling.of_job(means, device="md0", direction="read", ended_at=120, seconds=20) == ()
