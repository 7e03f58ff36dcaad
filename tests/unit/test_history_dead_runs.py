"""Runs whose process is gone: told from living ones, and never shown as running."""

import pytest

from appliance.history import queries
from appliance.history.store import History
from appliance.model.runs import RunState
from appliance.system import liveness
from tests.unit.histories import begin, select

pytestmark = pytest.mark.usefixtures("journalled")


def test_a_run_of_a_living_process_is_left_alone(db):
    with History.open_writable(db) as history:
        run_id = begin(history)
    with History.open_writable(db) as again, queries.open_readonly(db) as reader:
        assert again.reaped == ()
        assert reader.run(run_id).state is RunState.RUNNING


@pytest.mark.parametrize(
    "changed",
    [
        "UPDATE run SET pid_start_ticks = 1",
        "UPDATE run SET boot_id = 'an earlier boot'",
        "UPDATE run SET pid = 4194305",
    ],
)
def test_a_run_without_its_process_is_aborted_at_its_last_sign_of_life(db, changed, journalled):
    with History.open_writable(db) as history:
        run_id = begin(history)
    select(db, "UPDATE run SET seen_at = 1234.5")
    select(db, changed)
    with queries.open_readonly(db) as reader:
        seen = reader.run(run_id)
        assert reader.runs(limit=1) == (seen,)
    assert seen.state is RunState.ABORTED, "a reader cannot record it, and must not say running"
    assert seen.ended_at == 1234.5
    assert ("restarted" in seen.reason) == ("boot_id" in changed)
    assert ("the next run records it" in seen.reason) == ("boot_id" not in changed)
    assert select(db, "SELECT state FROM run") == [("running",)]
    with History.open_writable(db) as history:
        assert [run.id for run in history.reaped] == [run_id]
        assert history.left_behind() == ("/mnt/scratch/.stripewright-bench",)
        history.mark_cleaned("/mnt/scratch/.stripewright-bench")
        assert history.left_behind() == ()
    with queries.open_readonly(db) as reader:
        run = reader.run(run_id)
    assert run.state is RunState.ABORTED
    assert run.ended_at == 1234.5
    assert "killed" in run.reason
    assert [name for name, _ in journalled] == ["RUN_ABORTED"]


def test_a_run_that_ends_while_it_is_read_has_not_been_killed(db, monkeypatch):
    with History.open_writable(db) as history:
        run_id = begin(history)

        def ends(*_: object) -> bool:
            history.finish_run(run_id, RunState.COMPLETE)
            return False

        monkeypatch.setattr(liveness, "is_alive", ends)
        with queries.open_readonly(db) as reader:
            assert reader.run(run_id).state is RunState.COMPLETE


def test_start_ticks_survive_a_hostile_process_name(tmp_path):
    (tmp_path / "7").mkdir()
    fields = ["S", *("0" for _ in range(18)), "4711", "0"]
    (tmp_path / "7" / "stat").write_text(f"7 (a) b (c) {' '.join(fields)}\n")
    assert liveness.start_ticks(7, tmp_path) == 4711
    fields[0] = "Z"
    (tmp_path / "7" / "stat").write_text(f"7 (a) {' '.join(fields)}\n")
    assert liveness.start_ticks(7, tmp_path) is None
    assert liveness.start_ticks(8, tmp_path) is None
