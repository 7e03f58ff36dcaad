from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from appliance.errors import OperatorError
from appliance.model.disks import Disk
from appliance.storage.execute import read_through
from appliance.storage.execute.read_through import BLOCK_BYTES, Reader, members_of, resume

MIB = 2**20


class Clock:
    now = 0.0
    slept = 0.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept += seconds
        self.now += seconds


@pytest.fixture
def members(tmp_path: Path) -> list[Disk]:
    made = []
    for serial, size in (("A1", 20 * MIB + 4096), ("A2", 3 * MIB)):
        path = tmp_path / serial
        with path.open("wb") as file:
            file.truncate(size)
        made.append(Disk(str(path), f"id-{serial}", "m", serial, size))
    return made


def reader(tmp_path: Path, members: list[Disk], **more: Any) -> Reader:
    progress = resume("data", "uuid", members, tmp_path / "kept.json")
    return Reader(
        members,
        progress,
        tmp_path / "kept.json",
        tmp_path / "shown.json",
        flags=os.O_RDONLY,
        **more,
    )


def test_every_block_of_every_member_is_read(
    tmp_path: Path, members: list[Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    real = read_through._read

    def noted(descriptor: int, offset: int) -> str:
        read.append(offset)
        return real(descriptor, offset)

    monkeypatch.setattr(read_through, "_read", noted)
    ended = reader(tmp_path, members).run()
    assert (ended.state, ended.error_count) == ("done", 0)
    assert ended.done_bytes == ended.total_bytes == 23 * MIB + 4096
    assert sorted(read) == sorted([*range(0, 21 * MIB, MIB), *range(0, 3 * MIB, MIB)])
    assert json.loads((tmp_path / "shown.json").read_text())["state"] == "done"


def test_it_stops_and_goes_on_where_it_was(tmp_path: Path, members: list[Disk]) -> None:
    first = reader(tmp_path, members)
    first.sleep = lambda _: first.stop()
    first.rate_bytes = 1
    assert first.run().state == "stopped"
    assert 0 < first.progress.done_bytes < first.progress.total_bytes
    again = reader(tmp_path, members)
    assert again.progress.done_bytes == first.progress.done_bytes
    assert again.run().state == "done"


def test_another_volume_of_the_same_name_begins_anew(tmp_path: Path, members: list[Disk]) -> None:
    reader(tmp_path, members).run()
    assert resume("data", "uuid", members, tmp_path / "kept.json").done_bytes == 0, "asked again"
    kept = tmp_path / "kept.json"
    kept.write_text(
        json.dumps({"uuid": "uuid", "done": {"id-A1": MIB + 5, "id-A2": 99 * MIB, "x": 1}})
    )
    assert resume("data", "uuid", members, kept).done == {"id-A1": MIB}
    assert resume("data", "other", members, kept).done == {}
    for text in ("", "[]", '{"uuid": "uuid", "done": 7}'):
        kept.write_text(text)
        assert resume("data", "uuid", members, kept).done == {}


def test_read_errors_are_counted_and_named(
    tmp_path: Path, members: list[Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        read_through, "_read", lambda _, offset: "Input/output error" if offset == 5 * MIB else ""
    )
    ended = reader(tmp_path, members).run()
    assert (ended.state, ended.error_count) == ("done", 1)
    assert ended.errors[0]["serial"] == "A1"
    assert ended.errors[0]["offset_bytes"] == 5 * MIB


def test_the_rate_is_kept(tmp_path: Path, members: list[Disk]) -> None:
    clock = Clock()
    made = reader(tmp_path, members, rate_bytes=4 * MIB, clock=clock, sleep=clock.sleep)
    made.run()
    assert clock.now == pytest.approx(made.progress.total_bytes / (4 * MIB), rel=0.2)
    assert made.progress.rate_bytes <= 4 * MIB * 1.01


def test_the_members_come_from_the_executors_state(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    entry = {
        "name": "data", "outcome": "mounted", "uuid": "u",
        "members": [{"path": "/dev/x", "id": "i", "serial": "S"}],
    }  # fmt: skip
    disk = {"path": "/dev/x", "id": "i", "model": "m", "serial": "S", "size_bytes": BLOCK_BYTES}
    state = {"volumes": [entry], "inventory": {"machine": {}, "disks": [disk]}}
    file.write_text(json.dumps(state))
    assert members_of("data", file) == ("u", [Disk("/dev/x", "i", "m", "S", BLOCK_BYTES)])
    with pytest.raises(OperatorError, match="not known"):
        members_of("logs", file)
    entry["outcome"] = "refused"
    file.write_text(json.dumps(state))
    with pytest.raises(OperatorError, match="not up"):
        members_of("data", file)
