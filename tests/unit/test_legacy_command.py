"""``bench import`` as it is called: documents, tables, errors, and what is kept."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from appliance.cli import bench_import, main
from tests.unit.formats import RESULT_KEYS
from tests.unit.legacies import DIARIES, command, report_3

I3 = DIARIES / "i3-single-and-stripe.txt"


def run(*arguments: str | Path) -> int:
    return main.main(["bench", "import", *map(str, arguments)])


def test_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(I3, "--json") == 0
    results = json.loads(capsys.readouterr().out)["results"]
    assert len(results) == 11
    assert all(set(result) >= {"source", "line", *RESULT_KEYS} for result in results)
    read = results[3]
    assert (read["source"], read["direction"], read["valid"]) == (str(I3), "read", False)
    assert read["coverage"] == pytest.approx(0.709, abs=0.001)
    assert read["corrected_iops"] == pytest.approx(412_300, rel=0.005)
    assert {"code", "severity", "message"} <= set(read["findings"][0])
    assert (read["queue_depth_asked"], round(read["queue_depth_seen"])) == (512, 512)
    assert results[5]["percent_of_published"] == pytest.approx(100, abs=1)


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(I3) == 0
    shown = capsys.readouterr().out
    assert "11 results on i3.4xlarge, 9 valid" in shown
    assert "✗ blocked TARGET COVERAGE" in shown
    assert "randrw write 4 KiB" in shown
    assert "(block): only 70.9 %" in shown


def test_the_machine_type_can_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report.txt"
    report.write_text(f"{command()}\n{report_3(device='nvme1n1')}")
    assert run(report, "--machine", "i3.4xlarge", "--json") == 0
    (result,) = json.loads(capsys.readouterr().out)["results"]
    assert result["published_iops"] == 412_500


def test_without_a_database_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the history was opened")

    from appliance.history.store import History

    monkeypatch.setattr(History, "open_writable", refuse)
    assert run(I3, "--json") == 0


def test_kept_once_however_often(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from appliance.history import queries

    db = tmp_path / "history.db"
    assert run(I3, "--db", db, "--json") == 0
    first = json.loads(capsys.readouterr().out)["imports"]
    assert run(I3, "--db", db, "--json") == 0
    assert json.loads(capsys.readouterr().out)["imports"] == first
    with queries.open_readonly(db) as reader:
        (kept,) = reader.imports()
    assert (kept.reports, kept.valid, kept.file) == (11, 9, str(I3))


def test_no_report_is_an_error_that_says_what_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prose = tmp_path / "prose.txt"
    prose.write_text("rand-read | 39.7k | 311MiB/s | 1000 usec\n")
    assert run(prose, "--json") == 1
    shown = capsys.readouterr()
    assert json.loads(shown.out) == {"results": []}
    assert "no fio report in" in shown.err
    assert "hint: what is read" in shown.err
    assert run(prose, I3) == 0
    assert "note: no fio report in" in capsys.readouterr().err


def test_what_an_excerpt_lacks_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "group.txt"
    text.write_text(
        "   READ: bw=100MiB/s (105MB/s), 100MiB/s-100MiB/s (105MB/s-105MB/s), "
        "io=1GiB (1074MB), run=10000-10000msec\n"
    )
    assert run(text) == 0
    assert "  line 1: cut off, without IOPS, I/Os, latency" in capsys.readouterr().out
    assert run(text, "--json", "--db", tmp_path / "h.db") == 0
    document = json.loads(capsys.readouterr().out)
    assert (len(document["results"]), document["imports"]) == (1, [1])
    (result,) = document["results"]
    assert (result["valid"], result["direct"]) == (True, None)
    assert result["missing"] == ["iops", "total_ios", "latency_mean_ns"]


def test_a_compressed_file_is_told_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = tmp_path / "report.gz"
    packed.write_bytes(b"\x1f\x8b\x08\0\0\0\0\0" + bytes(range(256)))
    assert run(packed) == 1
    assert "unpack" in capsys.readouterr().err


def test_what_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (tmp_path, tmp_path / "missing", Path("/dev/null"), tmp_path / ("x" * 300)):
        assert run(path) == 2, path
        shown = capsys.readouterr().err.splitlines()
        assert len(shown) == 2
        assert shown[0].startswith("error: ")
        assert shown[1].startswith("hint: ")


def test_a_file_that_is_too_large_is_not_read_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_import, "MAX_FILE_BYTES", 1000)
    assert run(I3) == 2
    assert "larger than 1000 B" in capsys.readouterr().err


def test_a_name_that_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\x1b[31m.txt"))
    odd.write_bytes(I3.read_bytes())
    assert run(odd, "--db", tmp_path / "h.db") == 0
    assert "\x1b" not in capsys.readouterr().out


def test_the_table_is_for_80_columns_and_nothing_is_printed_of_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(I3) == 0
    lines = capsys.readouterr().out.splitlines()
    below = [line for line in lines if line.startswith(("  line", "    "))]
    assert below
    assert max(map(len, below)) <= 80
    empty = tmp_path / "empty.txt"
    empty.touch()
    assert run(empty) == 1
    assert capsys.readouterr().out == ""
