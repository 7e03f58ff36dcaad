from dataclasses import replace

import pytest

from tests.tui.fakes import SUITE, WALL, run_record
from tui.progress import progress, suite_seconds


def running(**changes):
    return run_record(started_at=WALL - 100, ended_at=None, **changes)


def test_time_left_is_this_job_and_those_after_it():
    run = running(phase="rand-read-4k", job_index=2, phase_started_at=WALL - 10)
    done = progress(run, SUITE, WALL)
    assert done.seconds_left == pytest.approx(20 + 3 * 30)
    assert done.fraction == pytest.approx(100 / 210)


def test_preparation_comes_before_all_jobs():
    run = running(phase="prepare", job_index=0, phase_started_at=WALL - 10, phase_seconds=40.0)
    assert progress(run, SUITE, WALL).seconds_left == pytest.approx(30 + 150)


def test_a_shortened_run_is_shorter_in_what_is_left_too():
    run = running(
        phase="rand-read-4k",
        job_index=2,
        phase_started_at=WALL - 1,
        phase_seconds=3.0,
        time_factor=0.1,
    )
    assert progress(run, SUITE, WALL).seconds_left == pytest.approx(2 + 9)


def test_a_phase_that_takes_longer_than_planned_is_not_negative():
    run = running(phase="rand-write-4k", job_index=5, phase_started_at=WALL - 50)
    done = progress(run, SUITE, WALL)
    assert done.seconds_left == 0
    assert done.fraction == 1.0


def test_nothing_is_made_up_when_nothing_is_known():
    done = progress(running(phase_seconds=0.0), SUITE, WALL)
    assert done.seconds_left is None
    assert done.fraction == 0.0
    known = running(phase="odd", job_index=1, phase_started_at=WALL)
    assert progress(known, None, WALL).seconds_left == pytest.approx(30)


def test_passes_and_members_that_wait_count_as_jobs_do_on_average():
    run = running(phase="x", job_index=6, job_count=15, phase_started_at=WALL - 30)
    assert progress(run, SUITE, WALL).seconds_left == pytest.approx(9 * 30)


def test_suite_seconds_is_the_measuring_time():
    assert suite_seconds(SUITE) == 150
    assert suite_seconds(replace(SUITE, passes=3)) == 450
