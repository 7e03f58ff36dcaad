from dataclasses import replace

import pytest

from appliance.bench.job_order import schedule
from appliance.bench.run_progress import StepState, plan_of, progress, steps, suite_seconds
from tests.tui.fakes import SMOKE, WALL, result, run_record


def running(**changes):
    return run_record(started_at=WALL - 100, ended_at=None, **changes)


def test_time_left_is_this_job_and_those_after_it():
    run = running(phase="rand-read-4k", job_index=2, phase_started_at=WALL - 10)
    done = progress(run, SMOKE, WALL)
    assert done.seconds_left == pytest.approx(20 + 3 * 30)
    assert done.fraction == pytest.approx(100 / 210)


def test_preparation_comes_before_all_jobs():
    run = running(phase="prepare", job_index=0, phase_started_at=WALL - 10, phase_seconds=40.0)
    assert progress(run, SMOKE, WALL).seconds_left == pytest.approx(30 + 150)


def test_a_shortened_run_is_shorter_in_what_is_left_too():
    run = running(
        phase="rand-read-4k",
        job_index=2,
        phase_started_at=WALL - 1,
        phase_seconds=3.0,
        time_factor=0.1,
    )
    assert progress(run, SMOKE, WALL).seconds_left == pytest.approx(2 + 9)


def test_a_phase_that_takes_longer_than_planned_is_not_negative():
    run = running(phase="rand-write-4k", job_index=5, phase_started_at=WALL - 50)
    done = progress(run, SMOKE, WALL)
    assert done.seconds_left == 0
    assert done.fraction == 1.0


def test_nothing_is_made_up_when_nothing_is_known():
    done = progress(running(phase_seconds=0.0), SMOKE, WALL)
    assert done.seconds_left is None
    assert done.fraction == 0.0
    known = running(phase="odd", job_index=1, phase_started_at=WALL)
    assert progress(known, None, WALL).seconds_left == pytest.approx(30)


def test_passes_and_members_that_wait_count_as_jobs_do_on_average():
    run = running(phase="x", job_index=6, job_count=15, phase_started_at=WALL - 30)
    assert progress(run, SMOKE, WALL).seconds_left == pytest.approx(9 * 30)


def test_suite_seconds_is_the_measuring_time():
    assert suite_seconds(SMOKE) == 150
    assert suite_seconds(replace(SMOKE, passes=3)) == 450


def test_the_order_of_shuffled_passes_is_the_runner_s_own():
    suite = replace(SMOKE, passes=3)
    run = running(id=42, job_count=15)
    planned = plan_of(run, suite)
    assert planned == schedule(SMOKE.jobs, passes=3, seed=42)
    assert planned != plan_of(replace(run, id=43), suite)
    # What is left is that of the jobs that come, not the mean of all.
    uneven = replace(suite, jobs=(replace(SMOKE.jobs[0], runtime_seconds=100), *SMOKE.jobs[1:]))
    order = plan_of(run, uneven)
    last = replace(run, job_index=14, phase=order[13].job.name, phase_started_at=WALL - 30)
    assert progress(last, uneven, WALL).seconds_left == order[14].job.runtime_seconds


def test_members_beside_the_stripe_and_raw_devices_are_in_the_plan():
    run = running(members=("nvme1n1", "nvme2n1"), job_count=11)
    assert [one.member for one in plan_of(run, SMOKE)][:4] == ["", "nvme1n1", "nvme2n1", ""]
    raw = running(target_kind="raw-read", job_count=3)
    assert [one.job.name for one in plan_of(raw, SMOKE)] == [job.name for job in SMOKE.jobs[:3]]


def test_a_plan_that_does_not_fit_the_run_is_not_made_up():
    assert plan_of(running(job_count=4), SMOKE) == ()
    assert plan_of(running(), None) == ()


def test_steps_are_done_measured_or_waiting_by_their_pass_and_member():
    suite = replace(SMOKE, passes=3)
    run = running(id=42, job_count=15)
    planned = plan_of(run, suite)
    now = planned[6]
    run = replace(run, job_index=7, phase=now.job.name)
    done = [replace(result(one.job, 1, 1), pass_index=one.pass_index) for one in planned[:6]]
    made = steps(run, suite, done)
    states = [step.state for step in made]
    assert states == [StepState.DONE] * 6 + [StepState.MEASURING] + [StepState.WAITING] * 8
    assert all(len(step.results) == 1 for step in made[:6])
    # Its result has come, and the row of the run has not gone on yet.
    done.append(replace(result(now.job, 1, 1), pass_index=now.pass_index))
    assert steps(run, suite, done)[6].state is StepState.DONE


def test_results_that_are_in_no_plan_are_not_lost():
    stranger = result(SMOKE.jobs[0], 1, 1)
    (step,) = steps(running(), None, [stranger])
    assert (step.job.name, step.results) == ("seq-read-1m", (stranger,))


@pytest.mark.parametrize("field", ["started_at", "phase_started_at", "phase_seconds"])
@pytest.mark.parametrize("odd", [float("inf"), float("-inf"), float("nan")])
def test_of_a_damaged_row_nothing_is_told(field, odd):
    told = progress(replace(running(), **{field: odd}), SMOKE, WALL)
    assert (told.seconds_left, told.fraction, told.elapsed_seconds) == (None, 0.0, 0.0)
