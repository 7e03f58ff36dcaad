"""Bad input on the command line: one line that names it, a hint, the right status, no traceback."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from appliance.cli import doctor, main
from appliance.errors import EXIT_FAILED, EXIT_OK, EXIT_REFUSED, EXIT_USAGE
from appliance.history.format import APPLICATION_ID
from appliance.history.store import History

CASES = Path(__file__).parents[1] / "cases"


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    try:
        status = main.main(argv)
    except SystemExit as ended:
        status = int(ended.code or 0)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def complaint(err: str) -> str:
    """The error line; there is one, and a hint after it at most."""
    lines = err.splitlines()
    assert lines[0].startswith("error: ")
    assert all(line.startswith("hint: ") for line in lines[1:])
    assert len(lines) <= 2
    return lines[0]


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["frobnicate"], "frobnicate"),
        (["status", "--nonsense"], "--nonsense"),
        (["bench", "run"], "SUITE"),
        (["bench", "run", "smoke", "--time-factor", "0"], "--time-factor"),
        (["bench", "run", "smoke", "--time-factor", "nan"], "--time-factor"),
        (["bench", "run", "no-such-suite"], "no-such-suite"),
        (["bench", "run", "../../etc/passwd"], "../../etc/passwd"),
        (["bench", "run", "/no/such.toml"], "/no/such.toml"),
        (["bench", "run", "smoke", "--raw-write", "/dev/x"], "--serial"),
        (["bench", "run", "smoke", "--serial", "x"], "--raw-write"),
        (["bench", "run", "smoke", "--target", "/", "--raw-read", "/dev/x"], "--raw-read"),
        (["bench", "run", "smoke", "--raw-read", "/dev/x", "--members"], "--members"),
        (["bench", "run", "smoke", "--progress", "bar"], "--progress"),
        (["bench"], "no action"),
        (["bench", "run", "smoke", "--target", ""], "target"),
        (["results", "--run", "x"], "--run"),
        (["results", "--run", "9" * 30], "--run"),
    ],
)
def test_wrong_words_are_named(
    argv: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = call(capsys, *argv)
    assert status == EXIT_USAGE
    assert named in complaint(err)
    assert out == ""


def test_an_unknown_suite_names_the_ones_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = call(capsys, "bench", "run", "smoek")
    assert "smoke" in err


def test_a_history_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = call(capsys, "results", "--db", str(tmp_path / "none.db"))
    assert status == EXIT_FAILED
    assert "none.db" in complaint(err)
    assert out == ""
    assert not (tmp_path / "none.db").exists()


def test_a_history_that_is_damaged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = tmp_path / "bad.db"
    ours = b"SQLite format 3\0" + b"\0" * 52 + APPLICATION_ID.to_bytes(4, "big")
    db.write_bytes(ours + b"\xff" * 4096)
    status, _, err = call(capsys, "results", "--db", str(db))
    assert status == EXIT_FAILED
    assert "bad.db" in complaint(err)
    assert db.read_bytes() == ours + b"\xff" * 4096, "looking must not change the file"


@pytest.mark.parametrize("action", [("results",), ("bench", "reap")])
def test_a_file_that_is_no_history_is_left_alone(
    action: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "passwd"
    other.write_text("root:x:0:0::/root:/bin/sh\n")
    status, _, err = call(capsys, *action, "--db", str(other))
    assert status == EXIT_USAGE
    assert "passwd" in complaint(err)
    assert other.read_text() == "root:x:0:0::/root:/bin/sh\n"
    assert [path.name for path in tmp_path.iterdir()] == ["passwd"]


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"[[volume]\n", "layout.toml"),
        (b"\xff\xfe", "layout.toml"),
        (b'[[volume]]\nname = "a"\nmount = "/mnt/a"\ncolour = "red"\n', "colour"),
        (b'[[volume]]\nname = "a"\nmount = "/mnt/a"\nchunk = 7\n', "chunk"),
    ],
)
def test_a_malformed_layout(
    content: bytes, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layout = tmp_path / "layout.toml"
    layout.write_bytes(content)
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps({"machine": {}, "disks": []}))
    status, out, err = call(
        capsys, "plan", "--inventory", str(inventory), "--layout", str(layout), "--json"
    )
    assert status == EXIT_USAGE
    assert named in complaint(err)
    assert out == ""


@pytest.mark.parametrize("option", ["--layout", "--inventory"])
def test_a_named_file_that_cannot_be_read(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps({"machine": {}, "disks": []}))
    options = ["--inventory", str(inventory)] if option == "--layout" else []
    status, _, err = call(capsys, "plan", *options, option, str(tmp_path / "absent"))
    assert status == EXIT_USAGE
    assert "absent" in complaint(err)


def test_no_disks_at_all_is_a_refusal_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps({"machine": {}, "disks": []}))
    status, out, _ = call(capsys, "plan", "--inventory", str(inventory), "--json")
    plan = json.loads(out)
    assert plan["decision"] in {"wait", "refuse"}
    assert status == (EXIT_REFUSED if plan["decision"] == "refuse" else EXIT_OK)
    assert plan["steps"] == []
    assert plan["volumes"][0]["reason"]


def test_suites_lists_smoke(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = call(capsys, "suites", "--json")
    assert status == EXIT_OK
    assert "smoke" in [suite["name"] for suite in json.loads(out)["suites"]]


@pytest.mark.parametrize("argv", [["--json", "suites"], ["suites", "--json"]])
def test_json_may_be_asked_for_before_or_after_the_command(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, _ = call(capsys, *argv)
    assert status == EXIT_OK
    assert json.loads(out)


def test_closed_streams_are_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    assert main.main(["suites"]) == EXIT_OK


@pytest.mark.parametrize(("words", "seconds"), [([], 0.0), (["--wait", "30"], 1800.0)])
def test_a_scheduled_run_may_wait(
    monkeypatch: pytest.MonkeyPatch, words: list[str], seconds: float
) -> None:
    from appliance.bench import runner
    from appliance.cli import bench_run

    class Begun(Exception):
        pass

    def run_suite(*_: object, wait_seconds: float, **__: object) -> int:
        raise Begun(wait_seconds)

    monkeypatch.setattr(runner, "run_suite", run_suite)
    monkeypatch.setattr(bench_run, "_target", lambda *_, **__: Path("/x"))
    with pytest.raises(Begun) as caught:
        main.main(["bench", "run", "smoke", *words])
    assert caught.value.args == (seconds,)
    with pytest.raises(SystemExit):
        main.main(["bench", "run", "smoke", "--wait", "1441"])


def test_a_terminal_that_knows_only_ascii_gets_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    monkeypatch.setattr(doctor, "examine", lambda **_: [doctor.Check("x", doctor.Verdict.OK, "µ")])
    assert main.main(["doctor"]) == EXIT_OK
    assert written.getvalue().splitlines()[1] == rb"\u2713 ok  x      \xb5"


def test_an_unknown_command_names_those_of_the_help_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, _, err = call(capsys, "frobnicate")
    assert "assemble, audit-presets, bench, compare, doctor, drift" in err
    assert "tune-undo" not in err
    _, _, err = call(capsys, "bench", "frob")
    assert "choose from: import, reap, run" in err


def test_reap_makes_no_history_and_says_what_it_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = tmp_path / "history.db"
    status, _, err = call(capsys, "bench", "reap", "--db", str(db))
    assert status == EXIT_FAILED
    assert "there is no history" in complaint(err)
    assert not db.exists()
    History.open_writable(db).close()
    status, out, _ = call(capsys, "bench", "reap", "--db", str(db))
    assert (status, out) == (EXIT_OK, "runs whose process is gone, marked as aborted: none\n")
