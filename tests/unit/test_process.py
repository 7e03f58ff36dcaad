"""The gateway's promises that need no program; tests/fio runs real ones through it."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from appliance.errors import EXIT_FAILED, CommandFailed, ProgramMissing
from appliance.system import process


def test_starting_a_program_in_a_unit_test_is_an_error() -> None:
    with pytest.raises(AssertionError, match="tried to start a program"):
        process.run(["true"], timeout_seconds=1)


def test_a_missing_program_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "run", missing)
    with pytest.raises(ProgramMissing, match="fio: program not found") as caught:
        process.run(["fio"], timeout_seconds=1)
    assert "install" in caught.value.hint
    assert caught.value.exit_code == EXIT_FAILED


def test_a_failure_carries_the_argv_and_the_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.CompletedProcess([], 5, b"", b"first\nno \xff space\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    with pytest.raises(CommandFailed) as caught:
        process.run(["mdadm", "--detail"], timeout_seconds=1)
    assert caught.value.message == "mdadm: exit status 5: no \ufffd space"
    assert caught.value.hint == "it was run as: mdadm --detail"


def test_a_program_that_hangs_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: Any, **__: Any) -> None:
        raise subprocess.TimeoutExpired(["x"], 1, stderr=b"still waiting")

    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(CommandFailed, match="did not end in time: still waiting"):
        process.run(["x"], timeout_seconds=1)


def test_a_program_sees_a_fixed_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def record(*_: Any, **options: Any) -> subprocess.CompletedProcess[bytes]:
        seen.update(options)
        return subprocess.CompletedProcess([], 0, b"", b"")

    monkeypatch.setenv("MDADM_CONF_AUTO", "+all")
    monkeypatch.setattr(subprocess, "run", record)
    process.run(["mdadm"], timeout_seconds=1)
    assert set(seen["env"]) == {"LC_ALL", "PATH"}
    assert seen["stdin"] == subprocess.DEVNULL


@pytest.mark.parametrize(
    ("status", "sent"),
    [
        # As /proc has them (proc(5)): fio, which handles SIGUSR1, and what is to be fio.
        ("SigIgn:\t0000000000000000\nSigCgt:\t0000000100004a03\nCapInh:\t0\n", True),
        ("SigIgn:\t0000000000000200\nSigCgt:\t0000000100004003\nCapInh:\t0\n", False),
        ("SigCgt:\t0000000000000000\n", False),
        ("SigCgt:\tword\n", False),
        ("", False),
        (None, False),
    ],
)
def test_a_program_without_a_handler_is_not_ended_by_a_question(
    monkeypatch: pytest.MonkeyPatch, status: str | None, sent: bool
) -> None:
    def read_text(path: Path, **_: Any) -> str:
        assert path == Path("/proc/4711/status")
        if status is None:
            raise FileNotFoundError
        return status

    signals: list[int] = []
    monkeypatch.setattr(Path, "read_text", read_text)
    running = SimpleNamespace(pid=4711, send_signal=signals.append)
    assert process.tell(running, signal.SIGUSR1) is sent  # type: ignore[arg-type]
    assert signals == ([signal.SIGUSR1] if sent else [])
