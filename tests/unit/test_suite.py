"""Suites are decoded strictly, and say what is allowed."""

import pytest

from appliance.bench.suite import load_suite, parse_suite, scaled, suite_names
from appliance.errors import UsageError

JOB = """
summary = "A test"
[[job]]
name = "rand-read-4k"
rw = "randread"
block_size = "4KiB"
iodepth = 32
jobs = 4
runtime_seconds = 30
"""


def test_smoke_takes_about_three_minutes_and_has_its_five_jobs():
    smoke = load_suite("smoke")
    assert 120 <= sum(job.runtime_seconds for job in smoke.jobs) <= 200
    assert [(job.rw, job.block_size_bytes) for job in smoke.jobs] == [
        ("read", 1 << 20),
        ("randread", 4096),
        ("randread", 4096),
        ("write", 1 << 20),
        ("randwrite", 4096),
    ]
    assert [job.iodepth * job.jobs for job in smoke.jobs].count(1) == 1


def test_every_suite_that_is_listed_can_be_loaded():
    assert "smoke" in suite_names()
    for name in suite_names():
        assert load_suite(name).name == name


@pytest.mark.parametrize("name", ["", "nope", "../smoke", "smoke.toml", "a\x1b[31m", "SMOKE"])
def test_an_unknown_suite_names_the_known_ones(name):
    with pytest.raises(UsageError) as caught:
        load_suite(name)
    assert "smoke" in caught.value.hint
    assert "\x1b" not in caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('name = "rand-read-4k"', 'name = "a;reboot"', "name"),
        ('name = "rand-read-4k"', 'name = "prepare"', "name"),
        ('name = "rand-read-4k"', "name = 4", "name"),
        ('rw = "randread"', 'rw = "trim"', "rw"),
        ('rw = "randread"', 'rw = ["randread"]', "rw"),
        ('rw = "randread"', "", "rw"),
        ('"4KiB"', '"4k"', "block_size"),
        ('"4KiB"', '"5KiB"', "block_size"),
        ('"4KiB"', '"32MiB"', "block_size"),
        ('"4KiB"', "4096", "block_size"),
        ("iodepth = 32", "iodepth = 0", "iodepth"),
        ("iodepth = 32", "iodepth = true", "iodepth"),
        ("iodepth = 32", "iodepth = 1025", "iodepth"),
        ("jobs = 4", "jobs = 65", "jobs"),
        ("jobs = 4", 'jobs = "4"', "jobs"),
        ("runtime_seconds = 30", "runtime_seconds = 0", "runtime_seconds"),
        ("runtime_seconds = 30", "runtime_seconds = 1.5", "runtime_seconds"),
        ("jobs = 4", 'jobs = 4\nexec_prerun = "reboot"', "exec_prerun"),
        ("jobs = 4", 'jobs = 4\nioengine = "external:/tmp/x.so"', "ioengine"),
        ("jobs = 4", 'jobs = 4\nfilename = "/dev/vda"', "filename"),
        ('summary = "A test"', 'summary = "a\\nb"', "summary"),
        ('summary = "A test"', 'summary = "A test"\ntarget = "/dev/vda"', "target"),
    ],
)
def test_a_bad_field_is_refused_by_name(old, new, field):
    assert old in JOB
    with pytest.raises(UsageError) as caught:
        parse_suite("mine", JOB.replace(old, new))
    assert repr(field) in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("text", ["[[job]", 'summary = "x"', 'summary = "x"\njob = 3', "job = [1]"])
def test_a_file_that_is_no_suite_is_a_usage_error(text):
    with pytest.raises(UsageError):
        parse_suite("mine", text)


def test_two_jobs_of_one_name_are_refused():
    with pytest.raises(UsageError, match="name"):
        parse_suite("mine", JOB + JOB.split("\n", 2)[2])


def test_the_hash_is_of_what_is_measured_and_not_of_the_words():
    suite = parse_suite("mine", JOB)
    assert parse_suite("mine", JOB.replace("A test", "Other words")).content_hash == (
        suite.content_hash
    )
    assert parse_suite("mine", JOB.replace("32", "31")).content_hash != suite.content_hash
    assert len(suite.content_hash) == 64


def test_a_time_factor_scales_but_leaves_at_least_one_second():
    job = parse_suite("mine", JOB).jobs[0]
    assert scaled(job, 0.5).runtime_seconds == 15
    assert scaled(job, 0.0001).runtime_seconds == 1
    assert scaled(job, 0.5).iodepth == job.iodepth
