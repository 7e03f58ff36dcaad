"""Steps of plans that root keeps while the history cannot take them."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from appliance.storage.execute import record
from appliance.system import journal


def row(number: int) -> dict[str, object]:
    return {
        "at": float(number), "boot_id": "b", "plan_digest": "d", "step_index": number,
        "argv": ["mkfs.xfs", "/dev/md/ä\n"], "state": "done", "detail": "",
    }  # fmt: skip


def kept(*folders: Path) -> list[record.Row]:
    found: list[record.Row] = []
    record.merge(folders, lambda rows: not found.extend(rows))
    return found


def test_what_was_kept_is_handed_over_once_and_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    for number in range(50):
        record.keep([folder], row(number), "locked")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]
    assert kept(folder) == [row(number) for number in range(50)]
    assert kept(folder) == []


def test_what_is_not_taken_stays(tmp_path: Path) -> None:
    for number in range(50):
        record.keep([tmp_path], row(number), "locked")
    answers = iter([True, False])
    record.merge([tmp_path], lambda _: next(answers))
    assert len(kept(tmp_path)) == 50


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    record.keep([tmp_path], row(1), "")
    file = tmp_path / "steps.jsonl"
    for torn in (b'{"at": 2.0, "ar', b"[1]", b"\xff\0\0"):
        with file.open("ab") as spool:
            spool.write(torn)
        record.keep([tmp_path], row(3), "")
    assert kept(tmp_path) == [row(1), row(3), row(3), row(3)]


def test_the_second_place_takes_what_the_first_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(journal, "event", lambda _, text, **__: told.append(text))
    broken, second = tmp_path / "none/audit", tmp_path / "audit"
    record.keep([broken, second], row(1), "locked")
    assert kept(broken, second) == [row(1)]
    assert f"recorded only in {second} and the journal (locked; {broken}" in told[0]
    record.keep([broken], row(2), "locked")
    assert "mkfs.xfs" in told[1], "the journal has it at last"
    assert "locked" in told[1]


def test_a_history_that_never_opens_does_not_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(journal, "event", lambda _, text, **__: told.append(text))
    monkeypatch.setattr(record, "_MAX_BYTES", 1000)
    for number in range(20):
        record.keep([tmp_path], row(number), "too new")
    assert (tmp_path / "steps.jsonl").stat().st_size < 2000
    assert "File too large" in told[-1]
    assert [one["step_index"] for one in kept(tmp_path)] == list(range(20 - len(told)))


def test_no_link_is_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "event", lambda *_, **__: None)
    victim = tmp_path / "victim"
    victim.write_text("as it was")
    folder = tmp_path / "spool"
    folder.mkdir()
    (folder / "steps.jsonl").symlink_to(victim)
    record.keep([folder], row(1), "")
    assert kept(folder) == []
    assert victim.read_text() == "as it was"


def test_half_a_line_on_a_full_disk_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, second = tmp_path / "full", tmp_path / "second"
    record.keep([full], row(1), "")
    before = (full / "steps.jsonl").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr(journal, "event", lambda *_, **__: None)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
    try:
        record.keep([full], row(2), "")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (full / "steps.jsonl").read_bytes() == before
    record.keep([full, second], row(3), "")
    assert kept(full, second) == [row(1), row(3)]


def test_a_row_of_another_version_keeps_no_other_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(journal, "event", lambda _, text, **__: told.append(text))
    record.keep([tmp_path], row(1) | {"host": "h"}, "")
    record.keep([tmp_path], row(2) | {"argv": "mkfs"}, "")
    record.keep([tmp_path], row(3), "")
    assert kept(tmp_path) == [row(3)]
    assert ["not that of this version" in one for one in told] == [True, True]
