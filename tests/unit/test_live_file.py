"""The figures so far of a running job: written, read, and read where others wrote."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from appliance.bench.live_file import FILE_NAME, LiveFile, LiveJob, decode, read_live

JOB = LiveJob(
    run_id=7,
    suite="smoke",
    job="rand-read-4k",
    direction="read",
    pass_index=1,
    member="",
    at=1_795_273_083.5,
    elapsed_seconds=9.003,
    ios=1_139_113,
    iops=113_900.0,
    latency_mean_ns=561_000.25,
    percentiles_ns={"50.000000": 532_480, "99.000000": 2_375_680},
)


def unit(folder: Path, name: str) -> Path:
    made = folder / f"stripewright-bench@{name}"
    made.mkdir()
    return made


def text(**changes: object) -> str:
    return json.dumps({"jobs": [asdict(JOB) | changes]})


def test_what_a_run_tells_is_read_as_it_was(tmp_path: Path) -> None:
    both = [JOB, replace(JOB, direction="write", member="nvme1n1")]
    LiveFile(unit(tmp_path, "smoke:data")).tell(both)
    LiveFile(unit(tmp_path, "full")).tell([replace(JOB, run_id=6)])
    assert read_live(tmp_path) == (replace(JOB, run_id=6), *both)


def test_operators_may_read_it(tmp_path: Path) -> None:
    folder = unit(tmp_path, "smoke")
    LiveFile(folder).tell([JOB])
    assert (folder / FILE_NAME).stat().st_mode & 0o777 == 0o644


def test_what_is_over_is_gone(tmp_path: Path) -> None:
    file = LiveFile(unit(tmp_path, "smoke"))
    file.remove()
    file.tell([JOB])
    file.remove()
    assert read_live(tmp_path) == ()


def test_nobody_writes_outside_of_a_unit(tmp_path: Path) -> None:
    assert LiveFile.of_unit({}) is None
    assert LiveFile.of_unit({"RUNTIME_DIRECTORY": ""}) is None
    inside = LiveFile.of_unit({"RUNTIME_DIRECTORY": str(unit(tmp_path, "smoke"))})
    assert inside is not None
    inside.tell([JOB])
    assert read_live(tmp_path) == (JOB,)


def test_a_run_goes_on_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    file = LiveFile(tmp_path / "file" / "gone")
    file.tell([JOB])
    file.remove()


def test_without_a_run_there_is_nothing(tmp_path: Path) -> None:
    assert read_live(tmp_path / "none") == ()
    unit(tmp_path, "smoke")
    (tmp_path / "a-file").write_text(text())
    assert read_live(tmp_path) == ()


def test_a_link_a_pipe_and_a_folder_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text(text())
    for index, make in enumerate(
        (
            lambda path: path.symlink_to(tmp_path / "elsewhere"),
            os.mkfifo,
            lambda path: path.mkdir(),
        )
    ):
        make(unit(tmp_path, str(index)) / FILE_NAME)
    assert read_live(tmp_path) == ()


def test_one_odd_file_hides_no_other(tmp_path: Path) -> None:
    LiveFile(unit(tmp_path, "smoke")).tell([JOB])
    (unit(tmp_path, "full") / FILE_NAME).write_bytes(b"\xff{")
    (unit(tmp_path, "large") / FILE_NAME).write_text(text() + " " * 65_536)
    assert read_live(tmp_path) == (JOB,)


@pytest.mark.parametrize(
    "found",
    [
        "",
        "[]",
        "3",
        "{}",
        "[" * 60_000,
        '{"jobs": 3}',
        '{"jobs": [3]}',
        '{"jobs": [[]]}',
        '{"jobs": [{}]}',
        json.dumps({"jobs": [asdict(JOB)] * 5}),
        text(run_id=-1),
        text(run_id=True),
        text(run_id="7"),
        text(ios=1.5),
        text(ios=10**30),
        text(at=float("nan")),
        text(iops=float("inf")),
        text(iops=10**400),
        text(latency_mean_ns="fast"),
        text(suite=None),
        text(job="x" * 81),
        text(percentiles_ns=[]),
        text(percentiles_ns={"p99": 1}),
        text(percentiles_ns={"101.000000": 1}),
        text(percentiles_ns={"99.000000": -1}),
        text(percentiles_ns={"99.000000": None}),
        text(percentiles_ns={f"{n}.000000": 1 for n in range(65)}),
    ],
)
def test_what_is_not_of_this_form_is_nothing(found: str) -> None:
    assert decode(found) == ()


def test_text_of_others_stays_text() -> None:
    """It is shown through the widgets' own cleaning; here it is only bounded."""
    (job,) = decode(text(suite="[@click=app.quit]X", member="\x1b[2J"))
    assert (job.suite, job.member) == ("[@click=app.quit]X", "\x1b[2J")
