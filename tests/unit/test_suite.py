"""Suites are decoded strictly, and say what is allowed."""

import os
import re
from pathlib import Path

import pytest

from appliance.bench.suite import (
    file_count,
    find_suite,
    load_suite,
    only_reads,
    parse_suite,
    scaled,
    suite_names,
)
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
        ('name = "rand-read-4k"', 'name = "$(reboot)"', "name"),
        ('name = "rand-read-4k"', 'name = "a b"', "name"),
        ('name = "rand-read-4k"', 'name = "../../etc/passwd"', "name"),
        ('name = "rand-read-4k"', 'name = "a\\nexec_prerun=reboot"', "name"),
        ("jobs = 4", 'jobs = 4\nengine = "external:/tmp/x.so"', "engine"),
        ("jobs = 4", 'jobs = 4\nengine = "exec"', "engine"),
        ("jobs = 4", "jobs = 4\nengine = 1", "engine"),
        ("jobs = 4", 'jobs = 4\nengine = "psync"', "iodepth"),
        ("jobs = 4", "jobs = 4\nread_percent = 50", "read_percent"),
        ('rw = "randread"', 'rw = "randrw"', "read_percent"),
        ('rw = "randread"', 'rw = "randrw"\nread_percent = 100', "read_percent"),
        ('rw = "randread"', 'rw = "rw"\nread_percent = "50"', "read_percent"),
        ("jobs = 4", "jobs = 4\nthink_time_ms = -1", "think_time_ms"),
        ("jobs = 4", 'jobs = 4\ndirectory = "../../etc"', "directory"),
        ("jobs = 4", 'jobs = 4\nexec_postrun = "reboot"', "exec_postrun"),
        ('summary = "A test"', 'summary = "A test"\nfile_size = "1GB"', "file_size"),
        ('summary = "A test"', 'summary = "A test"\nfile_size = "1025GiB"', "file_size"),
        ('summary = "A test"', 'summary = "A test"\nfile_size = "1025KiB"', "file_size"),
        ('summary = "A test"', 'summary = "A test"\nfiles = -1', "files"),
        ('summary = "A test"', 'summary = "A test"\nfiles = 65', "files"),
        ('summary = "A test"', 'summary = "A test"\npasses = 0', "passes"),
        ('summary = "A test"', 'summary = "A test"\npasses = true', "passes"),
        ('summary = "A test"', 'summary = "A test"\nsteady = 1', "steady"),
        ('summary = "A test"', 'summary = "A test"\nprecondition = "yes"', "precondition"),
    ],
)
def test_a_bad_field_is_refused_by_name(old, new, field):
    assert old in JOB
    with pytest.raises(UsageError) as caught:
        parse_suite("mine", JOB.replace(old, new))
    assert re.search(rf"[ .]{field}[ :]", caught.value.message)
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


def test_the_hash_of_a_suite_that_uses_no_later_field_stays_what_it_was():
    # As released in version 0.1: its results are compared over the years.
    assert load_suite("smoke").content_hash == (
        "522d047b8c0dfcd12da001c23a88ee01da3a357296e9cd6594cfef2748f005d8"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("iodepth = 32", 'iodepth = 32\nengine = "libaio"'),
        ("iodepth = 32", "iodepth = 32\nthink_time_ms = 1"),
        ('rw = "randread"', 'rw = "randrw"\nread_percent = 50'),
        ('summary = "A test"', 'summary = "A test"\npasses = 2'),
        ('summary = "A test"', 'summary = "A test"\nfiles = 3'),
        ('summary = "A test"', 'summary = "A test"\nfile_size = "1GiB"'),
        ('summary = "A test"', 'summary = "A test"\nsteady = true'),
        ('summary = "A test"', 'summary = "A test"\nprecondition = true'),
    ],
)
def test_every_field_that_changes_what_is_measured_changes_the_hash(old, new):
    plain, other = parse_suite("mine", JOB), parse_suite("mine", JOB.replace(old, new))
    assert other.content_hash != plain.content_hash


def test_files_are_one_a_worker_unless_the_suite_says_otherwise():
    assert file_count(parse_suite("mine", JOB)) == 4
    asked = JOB.replace('"A test"', '"A test"\nfiles = 2\nfile_size = "10GiB"')
    suite = parse_suite("mine", asked)
    assert (file_count(suite), suite.file_size_bytes) == (2, 10 << 30)


@pytest.mark.parametrize(
    ("name", "jobs"),
    [
        (
            "i3-stripe",
            [
                ("randwrite", 4, 32, 16, "libaio", 180),
                ("randread", 4, 32, 16, "libaio", 180),
                ("read", 4, 32, 16, "libaio", 180),
                ("randrw", 4, 32, 16, "libaio", 180),
                ("randwrite", 16, 32, 16, "libaio", 180),
                ("randread", 16, 32, 16, "libaio", 180),
            ],
        ),
        (
            "psync-stripe",
            [
                ("randwrite", 64, 1, 16, "psync", 180),
                ("randwrite", 64, 1, 32, "psync", 180),
                ("randwrite", 4096, 1, 16, "psync", 60),
                ("randwrite", 4096, 1, 32, "psync", 60),
            ],
        ),
        (
            "four-jobs-8k",
            [(rw, 8, 32, 1, "libaio", 60) for rw in ("read", "randread", "write", "randwrite")],
        ),
        ("latency-probe", [("randread", 8, 1, 1, "psync", 60)] * 2),
        ("ebs-log-write", [("write", 1024, 1, 1, "psync", 180)]),
        ("ebs-data-write", [("randwrite", 16, 1, 1, "psync", 120)]),
        ("ebs-data-read", [("randread", 4, 1, 6, "psync", 90)]),
        ("ebs-stripe-read", [("randread", 4, 1, 6, "psync", 60)]),
    ],
)
def test_known_experiments_are_repeated_as_they_were(name, jobs):
    found = [
        (
            job.rw,
            job.block_size_bytes // 1024,
            job.iodepth,
            job.jobs,
            job.engine,
            job.runtime_seconds,
        )
        for job in load_suite(name).jobs
    ]
    assert sorted(found) == sorted(jobs)


def test_full_covers_sizes_patterns_depths_and_latency_and_fits_its_unit():
    full = load_suite("full")
    asked = {(job.rw, job.block_size_bytes) for job in full.jobs if job.jobs > 1}
    sizes = (4096, 16384, 65536, 1 << 20)
    assert {(rw, size) for rw in ("randread", "randwrite", "randrw") for size in sizes} <= asked
    assert {("read", 1 << 20), ("write", 1 << 20)} <= asked
    assert [job.iodepth for job in full.jobs if job.jobs == 1 and only_reads(job)] == [1, 4, 16, 64]
    assert full.passes > 1
    assert full.steady
    assert full.precondition
    # Half of RuntimeMaxSec of its unit: writing the files and a slow machine have the rest.
    assert full.passes * sum(job.runtime_seconds for job in full.jobs) <= 3600


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_a_suite_out_of_a_file_of_ones_own(tmp_path):
    suite = find_suite(write(tmp_path / "mine.toml", JOB))
    assert (suite.name, suite.content_hash) == ("mine", parse_suite("mine", JOB).content_hash)
    assert find_suite("smoke") == load_suite("smoke")


@pytest.mark.parametrize(
    "name", ["smoke.toml", "confirm.toml", "Mine.toml", "a b.toml", ".toml", "-x.toml"]
)
def test_a_suite_file_with_a_name_that_is_taken_or_none(tmp_path, name):
    with pytest.raises(UsageError) as caught:
        find_suite(write(tmp_path / name, JOB))
    assert caught.value.hint


def test_suite_files_that_are_none(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "large.toml").write_text(f"# {'x' * 65536}\n{JOB}")
    (tmp_path / "latin.toml").write_bytes(b'summary = "\xe4"')
    for name in ("pipe", "folder", "large", "latin", "missing", "nul\0"):
        with pytest.raises(UsageError) as caught:
            find_suite(str(tmp_path / f"{name}.toml"))
        assert "\n" not in caught.value.message


def test_a_time_factor_scales_but_leaves_at_least_one_second():
    job = parse_suite("mine", JOB).jobs[0]
    assert scaled(job, 0.5).runtime_seconds == 15
    assert scaled(job, 0.0001).runtime_seconds == 1
    assert scaled(job, 0.5).iodepth == job.iodepth
