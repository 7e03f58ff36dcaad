"""The history's clerk: root never opens the file, and waits for nobody who does."""

from __future__ import annotations

import importlib
import json
import os
import pwd
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from appliance.history import pages, queries
from appliance.history.store import History
from appliance.storage.execute import history_proxy, record
from appliance.storage.execute.record import Record, parse_epoch, write_state
from appliance.system import journal

_NOBODY = 65534
_as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up being root")
EPOCH = {"id": 3, "opened_at": 1.0, "fingerprint": {"fio": "3"}, "changed": {"fio": ["2", "3"]}}


@pytest.fixture(autouse=True)
def _no_service_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(name: str) -> None:
        raise KeyError(name)

    monkeypatch.setattr(pwd, "getpwnam", nobody)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []
    monkeypatch.setattr(journal, "event", lambda what, *_, **__: seen.append(what.name))
    return seen


@pytest.fixture
def service_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that belongs to the service user, here ``nobody``."""
    user = SimpleNamespace(pw_uid=_NOBODY, pw_gid=_NOBODY)
    monkeypatch.setattr(pwd, "getpwnam", lambda _: user)
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    os.chown(folder, _NOBODY, _NOBODY)
    yield folder
    shutil.rmtree(folder)


@_as_root
def test_a_link_in_the_historys_place_leads_to_nothing(
    service_folder: Path, tmp_path: Path, events: list[str]
) -> None:
    target, new = service_folder.parent / f"{service_folder.name}.target", service_folder / "h2.db"
    target.write_bytes(b"")
    target.chmod(0o644)
    before = target.stat()
    (service_folder / "history.db").symlink_to(target)
    # A dangling link: root would make a file wherever it points.
    made = tmp_path / "made"
    new.symlink_to(made)
    try:
        for name in ("history.db", "h2.db"):
            with Record(service_folder / name) as rec:
                assert rec.ensure_epoch({"fio": "3"}) is None
                assert "history is not written" in rec.problem
        after = target.stat()
    finally:
        target.unlink()
    assert (after.st_uid, after.st_size, after.st_mtime_ns) == (0, 0, before.st_mtime_ns)
    assert not made.exists()
    assert events == ["HISTORY_UNAVAILABLE"] * 2


@_as_root
def test_whatever_opens_the_history_is_not_root(
    service_folder: Path, monkeypatch: pytest.MonkeyPatch, events: list[str]
) -> None:
    """The least careful of all writers, on a link to a file of root's."""
    target = service_folder.parent / f"{service_folder.name}.target"
    target.write_text("root's")
    target.chmod(0o644)
    (service_folder / "history.db").symlink_to(target)

    def careless(path: Path, **_: object) -> None:
        who = f"{os.getresuid()} {os.getresgid()} {os.getgroups()}"
        try:
            path.write_text("overwritten")
        except PermissionError as error:
            raise RuntimeError(who) from error

    monkeypatch.setattr(History, "open_writable", careless)
    try:
        with Record(service_folder / "history.db") as rec:
            ids = (_NOBODY,) * 3
            assert rec.current_epoch() is None
            assert rec.problem == f"history is not written: {ids} {ids} []"
        assert target.read_text() == "root's"
    finally:
        target.unlink()
    assert events == ["HISTORY_UNAVAILABLE"]


@_as_root
def test_the_clerk_writes_as_the_service_user(service_folder: Path, events: list[str]) -> None:
    # A child of this process has it then: the service user cannot read root's test environment.
    importlib.import_module("appliance.history.schema")
    with Record(service_folder / "history.db") as rec:
        first = rec.ensure_epoch({"fio": "3"})
        rec.audit("digest", 0, ["mount"], "done", "")
        assert first is not None
        assert rec.current_epoch() == first
    status = (service_folder / "history.db").stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o7777) == (_NOBODY, _NOBODY, 0o644)
    assert events == []
    assert os.geteuid() == 0


def test_a_clerk_that_hangs_is_killed_and_boot_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: list[str]
) -> None:
    monkeypatch.setattr(history_proxy, "_serve", lambda *_: time.sleep(600))
    made: list[history_proxy.HistoryProxy] = []

    def impatient(db: Path) -> history_proxy.HistoryProxy:
        made.append(history_proxy.HistoryProxy(db, timeout_seconds=0.2))
        return made[-1]

    monkeypatch.setattr(record, "HistoryProxy", impatient)
    began = time.monotonic()
    with Record(tmp_path / "history.db") as rec:
        rec.audit("digest", 0, ["mount"], "started", "")
        assert rec.ensure_epoch({}) is None
        assert "no answer to 'open' within 0.2 seconds" in rec.problem
    assert time.monotonic() - began < 5
    assert events == ["HISTORY_UNAVAILABLE"]
    with pytest.raises(ProcessLookupError):
        os.kill(made[0]._pid, 0)


def test_a_clerk_that_dies_is_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, events: list[str]
) -> None:
    monkeypatch.setattr(History, "audit", lambda *_, **__: os._exit(9))
    with Record(tmp_path / "history.db") as rec:
        assert not rec.problem
        for state in ("started", "done"):
            rec.audit("digest", 0, ["mount"], state, "")
        assert "it ended" in rec.problem
    assert events == ["HISTORY_UNAVAILABLE"]


def test_the_clerk_holds_no_file_of_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(*_: object, **__: object) -> None:
        raise RuntimeError(" ".join(one.name for one in Path("/proc/self/fd").iterdir()))

    monkeypatch.setattr(History, "open_writable", look)
    with (tmp_path / "lock").open("w"), Record(tmp_path / "history.db") as rec:
        rec.current_epoch()
        held = rec.problem.rpartition(": ")[2].split()
    # Standard streams, the channel, and the listing itself.
    assert len(held) <= 5, held


def test_a_damaged_history_is_set_aside_and_told(tmp_path: Path) -> None:
    db = tmp_path / "history.db"
    with Record(db) as rec:
        rec.ensure_epoch({"fio": "3"})
    with db.open("r+b") as file:
        file.seek(100)  # behind SQLite's header
        file.write(b"\xff" * 8000)
    with Record(db) as rec:
        rec.current_epoch()
        assert f"set aside as {db}.damaged-" in rec.problem
        assert rec.ensure_epoch({"fio": "3"}) is not None


@pytest.mark.parametrize(
    "wrong",
    [
        *({"id": True}, {"id": "3"}, {"id": 2**63}, {"id": 0}, {"opened_at": float("nan")}),
        *({"opened_at": "now"}, {"fingerprint": {"fio": 3}}, {"fingerprint": [1]}),
        *({"fingerprint": {"fio": "x" * 10_000}}, {"fingerprint": {str(n): "" for n in range(99)}}),
        *({"changed": {"fio": ["2"]}}, {"changed": {"fio": ["2", None]}}, {"changed": None}),
    ],
)
def test_answers_are_not_believed(wrong: dict[str, object]) -> None:
    assert parse_epoch(EPOCH).changed == {"fio": ("2", "3")}
    with pytest.raises(ValueError, match="an epoch"):
        parse_epoch({**EPOCH, **wrong})


@pytest.mark.parametrize(
    "said", [b"[]\n", b"{}\n", b"nonsense\n", b"[" * 99_999 + b"\n", b'{"ok":']
)
def test_an_answer_that_is_none_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: bytes
) -> None:
    monkeypatch.setattr(history_proxy, "_serve", lambda _, channel: channel.sendall(said))
    asked = history_proxy.HistoryProxy(tmp_path / "history.db")
    with pytest.raises(history_proxy.ProxyError):
        asked.ask("current_epoch")
    asked.dismiss(kill=True)


def test_a_state_that_cannot_be_written_stops_nothing(tmp_path: Path, events: list[str]) -> None:
    file = tmp_path / "file"
    file.touch()
    write_state(file / "state.json", {})
    assert events == ["HISTORY_UNAVAILABLE"]
    write_state(tmp_path / "state.json", {"at": 1})
    assert json.loads((tmp_path / "state.json").read_text()) == {"at": 1}


def test_the_boot_unit_may_give_up_root_and_kill_who_did() -> None:
    unit = Path(__file__).parents[2] / "units/systemd/stripewright-assemble.service"
    (line,) = (
        one for one in unit.read_text().splitlines() if one.startswith("CapabilityBoundingSet=")
    )
    assert {"CAP_SETUID", "CAP_SETGID", "CAP_KILL"} <= set(line.partition("=")[2].split())


def test_a_row_that_sqlite_would_not_take_stands_in_no_ones_way(
    tmp_path: Path, events: list[str]
) -> None:
    with Record(tmp_path / "history.db", [tmp_path / "spool"]) as rec:
        rec.audit("digest", 0, ["mkfs", "\udcff"], "failed", "it said \udcff")
        rec.audit("digest", 1, ["mount"], "started", "")
    with queries.open_readonly(tmp_path / "history.db") as reader:
        assert [row["detail"] for row in pages.log(reader, "audit_step")] == ["it said \\udcff", ""]
    assert events == []
