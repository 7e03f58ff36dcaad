"""``drift replay``: what is read from a CSV file, what is refused, and what is printed."""

from __future__ import annotations

import io
import json
import random
import sys
import tracemalloc
from pathlib import Path

import pytest

from appliance.cli import drift_replay
from appliance.cli.main import main
from appliance.drift import replay
from appliance.errors import EXIT_USAGE, UsageError


def step(count=100, at=60, level=90.0):
    rng = random.Random(3)  # noqa: S311
    return [(100.0 if slot < at else level) + rng.gauss(0, 1) for slot in range(count)]


def csv_of(values, header="slot,value"):
    return "\n".join([header, *(f"{slot},{value!r}" for slot, value in enumerate(values))]) + "\n"


def read(tmp_path, content):
    file = tmp_path / "series.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return replay.read(file)


def dates(found):
    return [(change.change_slot, change.direction) for change in found.changes]


def refusal(tmp_path, content):
    with pytest.raises(UsageError) as caught:
        read(tmp_path, content)
    assert caught.value.hint
    return caught.value.message


# ------------------------------------------------------------------------------ what is read


def test_a_series_is_replayed(tmp_path):
    found = read(tmp_path, csv_of(step()))
    assert dates(found) == [(60, "down")]
    assert (found.rows, found.empty, found.epochs) == (100, 0, 1)


def test_columns_may_be_in_any_order_and_among_others(tmp_path):
    rows = "".join(f"x,{value},{slot}\n" for slot, value in enumerate(step()))
    assert dates(read(tmp_path, "Host, Value ,SLOT\n" + rows)) == [(60, "down")]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: "\n".join(
            ",".join(f'"{cell}"' for cell in line.split(",")) for line in text.splitlines()
        ),
    ],
    ids=["crlf", "mark", "no last line end", "blank lines", "quoted"],
)
def test_the_ways_in_which_csv_is_written(tmp_path, change):
    assert dates(read(tmp_path, change(csv_of(step())))) == [(60, "down")]


def test_slots_may_have_gaps_and_are_named_as_they_are(tmp_path):
    rows = "".join(f"{1000 + 7 * slot},{value}\n" for slot, value in enumerate(step()))
    found = read(tmp_path, "slot,value\n" + rows)
    assert dates(found) == [(1000 + 7 * 60, "down")]


def test_slots_that_a_spreadsheet_wrote(tmp_path):
    rows = "".join(f"{slot}.0,{value}\n" for slot, value in enumerate(step()))
    assert dates(read(tmp_path, "slot,value\n" + rows)) == [(60, "down")]


def test_a_slot_without_a_value_is_no_measurement(tmp_path):
    lines = csv_of(step()).splitlines()
    lines[30] = "29,"
    lines[50] = "49,  "
    found = read(tmp_path, "\n".join(lines))
    assert (found.rows, found.empty) == (98, 2)
    assert dates(found) == [(60, "down")]


def test_another_epoch_is_another_series(tmp_path):
    rows = "".join(f"{slot},{v},{1 + slot // 60}\n" for slot, v in enumerate(step()))
    found = read(tmp_path, "slot,value,epoch\n" + rows)
    assert (found.epochs, found.changes) == (2, [])


def test_slots_may_start_again_in_another_epoch(tmp_path):
    rows = "".join(f"{slot % 50},100,{slot // 50}\n" for slot in range(100))
    assert read(tmp_path, "slot,value,epoch\n" + rows).epochs == 2


@pytest.mark.parametrize(
    ("epochs", "count"),
    [(("", "B"), 2), (("B", ""), 2), (("A", "A"), 1), (("", ""), 1), (("A", "B", "A"), 3)],
)
def test_an_epoch_without_a_name_counts(tmp_path, epochs, count):
    rows = "".join(f"{slot},100,{epoch}\n" for slot, epoch in enumerate(epochs))
    assert read(tmp_path, "slot,value,epoch\n" + rows).epochs == count


@pytest.mark.parametrize("scale", [1e-290, 1e-200, 1e200, 1e287])
def test_values_of_any_size_that_is_taken_give_the_same_changes(tmp_path, scale):
    found = read(tmp_path, csv_of([value * scale for value in step()]))
    assert dates(found) == [(60, "down")]
    assert found.changes[0].percent == pytest.approx(-10, abs=1)


def test_zero_is_a_value_however_it_is_written(tmp_path):
    rows = "".join(f"{slot},{zero}\n" for slot, zero in enumerate(("0", "-0.0", "0e9", " 0 ")))
    assert read(tmp_path, "slot,value\n" + rows).rows == 4


def test_slots_may_be_moments_in_nanoseconds_or_negative(tmp_path):
    for first in (-50, 1_767_225_600_000_000_000):
        rows = "".join(f"{first + slot},{value}\n" for slot, value in enumerate(step()))
        assert dates(read(tmp_path, "slot,value\n" + rows)) == [(first + 60, "down")]


def test_a_row_longer_than_a_block_is_put_together_again(tmp_path, monkeypatch):
    monkeypatch.setattr(replay, "_BLOCK", 7)
    assert dates(read(tmp_path, csv_of(step()))) == [(60, "down")]


def test_standard_input(monkeypatch, tmp_path):
    file = tmp_path / "piped"
    file.write_text(csv_of(step()))
    with file.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert dates(replay.read(Path("-"))) == [(60, "down")]


def test_memory_does_not_grow_with_the_file(tmp_path):
    file = tmp_path / "long.csv"
    file.write_text(csv_of(step(30_000, at=20_000)))

    tracemalloc.start()
    try:
        found = replay.read(file)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.rows == 30_000
    # A block as text and in lines, and a window of slots.
    assert peak < 8_000_000


# --------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "empty"),
        ("1,2\n2,3\n", "line 1: column slot is missing in '1,2'"),
        ("slot,size\n1,2\n", "line 1: column value is missing"),
        ("slot,value,value\n1,2,3\n", "line 1: column value is there twice"),
        ("slot,value,epoch,epoch\n", "line 1: column epoch is there twice"),
        ("slot,value\n1,2\n2,fast\n", "line 3: value 'fast'"),
        ("slot,value\n1,nan\n", "line 2: value 'nan'"),
        ("slot,value\n1,2\n2,-inf\n", "line 3: value '-inf'"),
        ("slot,value\n1,1e999\n", "line 2: value '1e999'"),
        ("slot,value\n1,1_000\n", "line 2: value '1_000'"),
        ("slot,value\n1,\x1b[31m\n", "line 2: value '\\x1b[31m' is"),
        ("slot;value\n1;2\n", "'slot;value': it is separated by semicolons, and commas are needed"),
        ("slot\tvalue\n1\t2\n", "'slot\\tvalue': it is separated by tabs, and commas"),
        ("slot,value\n2_0,1\n", "line 2: slot '2_0'"),
        ("slot,value\n2_0.0,1\n", "line 2: slot '2_0.0'"),
        ("slot,value\n" + "9" * 5000 + ",1\n", "line 2: slot '999"),
        ("slot,value\n1,2e290\n", "line 2: value '2e290' is too large or too small"),
        ("slot,value\n1,-2e290\n", "line 2: value '-2e290' is too large or too small"),
        ("slot,value\n1,5e-324\n", "line 2: value '5e-324' is too large or too small"),
        ("slot,value\n1,1e-400\n", "line 2: value '1e-400' is too large or too small"),
        ("slot,value\r1,2\r", "line 1: a carriage return within the line"),
        ('slot,value\n5,"1"2\n', "line 2: after a closing quotation mark there must be a comma"),
        ('slot,value\n5,"' + ("x" * 60_000 + "\n") * 3, "line 4: a field is longer than 131072"),
        ("slot,value\nMonday,2\n", "line 2: slot 'Monday'"),
        ("slot,value\n1.5,2\n", "line 2: slot '1.5'"),
        ("slot,value\n,2\n", "line 2: slot ''"),
        ("slot,value\n5,1\n4,1\n", "line 3: slot 4 after slot 5"),
        ("slot,value\n5,1\n5,1\n", "line 3: slot 5 after slot 5"),
        ("slot,value\n5\n", "line 2: 1 fields, and the header has 2"),
        ('slot,value\n5,"1\n', "line 2: a quotation mark is never closed"),
        (b"slot,value\n1,\xff\n", "not UTF-8"),
        (b"\x00\x01\x02" * 100, "column slot is missing"),
        ("slot,value\n" + "9" * 100_000, "line 2 is longer than"),
    ],
)
def test_a_file_that_is_wrong_is_told_with_its_line(tmp_path, content, says):
    message = refusal(tmp_path, content)
    assert says in message
    assert "series.csv" in message
    assert not {"universal", "newline", "limit", "delimiter"} & set(message.split())
    assert "\x1b" not in message


def test_a_file_without_line_ends_is_not_read_into_memory(tmp_path):
    file = tmp_path / "zeros"
    with file.open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(UsageError, match="longer than"):
        replay.read(file)


def test_what_is_no_file(tmp_path):
    with pytest.raises(UsageError, match="directory"):
        replay.read(tmp_path)
    with pytest.raises(UsageError, match="No such file"):
        replay.read(tmp_path / "none.csv")
    with pytest.raises(UsageError, match="null"):
        replay.read(Path("a\0b"))


# --------------------------------------------------------------------------- what is printed


def printed(tmp_path, capsys, values, *, better="higher", as_json=True):
    file = tmp_path / "series.csv"
    file.write_text(csv_of(values))
    assert drift_replay.replay(file=file, better=better, as_json=as_json) == 0
    out = capsys.readouterr().out
    return json.loads(out) if as_json else out


def test_the_document(tmp_path, capsys):
    document = printed(tmp_path, capsys, step())
    (finding,) = document["findings"]
    assert finding["change_slot"] == 60
    assert 62 <= finding["alarm_slot"] <= 64
    assert finding["direction"] == "down"
    assert finding["effect_pct"] == pytest.approx(-10, abs=1)
    assert finding["worse"] is True
    assert finding["baseline"]["median"] == pytest.approx(100, abs=0.5)
    assert document["slots"] == 100


def test_better_says_only_which_side_is_worse(tmp_path, capsys):
    values = step()
    higher = printed(tmp_path, capsys, values, better="higher")["findings"]
    lower = printed(tmp_path, capsys, values, better="lower")["findings"]
    assert [f.pop("worse") for f in higher] == [True]
    assert [f.pop("worse") for f in lower] == [False]
    assert higher == lower
    with pytest.raises(SystemExit) as ended:
        main(["drift", "replay", "series.csv", "--better", "faster"])
    assert ended.value.code == EXIT_USAGE
    assert "faster" in capsys.readouterr().err


@pytest.mark.parametrize("count", [0, 1, 11])
def test_a_series_too_short_says_so(tmp_path, capsys, count):
    document = printed(tmp_path, capsys, [100.0] * count)
    assert document["findings"] == []
    assert document["baseline"] is None
    assert f"{count} slots with a value; 12 are needed" in document["note"]


@pytest.mark.parametrize(
    ("values", "note"),
    [(step(20), "provisional: "), (step(66), "has not settled"), (step(60), "")],
    ids=["few", "open", "full"],
)
def test_what_the_reader_has_to_know_of_the_end(tmp_path, capsys, values, note):
    found = printed(tmp_path, capsys, values)["note"]
    assert note in found
    assert bool(found) == bool(note)


def test_a_level_that_is_nearly_zero_has_no_percentage(tmp_path, capsys):
    rng = random.Random(5)  # noqa: S311
    values = [rng.gauss(10 if slot < 60 else 60, 10) for slot in range(120)]
    (finding,) = printed(tmp_path, capsys, values)["findings"]
    assert (finding["direction"], finding["effect_pct"]) == ("up", None)
    assert "%" not in printed(tmp_path, capsys, values, as_json=False)


def test_standard_input_is_named_in_words(monkeypatch, tmp_path):
    file = tmp_path / "piped"
    file.write_text("slot;value\n")
    with file.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(UsageError, match=r"^standard input: line 1: "):
            replay.read(Path("-"))


def test_the_text_has_baseline_and_changes(tmp_path, capsys):
    out = printed(tmp_path, capsys, step(), as_json=False)
    assert "baseline: median 89.8" in out
    assert "60" in out.splitlines()[-1]
    assert "down -" in out
    assert "worse" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "no change found" in printed(tmp_path, capsys, step(60), as_json=False)


def test_somebody_who_waits_is_told(tmp_path, capsys, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    file = tmp_path / "series.csv"
    file.write_text(csv_of(step()))
    monkeypatch.setattr(replay, "_TELL_EVERY", 10)
    clock = iter(range(1000))
    monkeypatch.setattr(drift_replay.time, "monotonic", lambda: float(next(clock)))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    drift_replay.replay(file=file, better="higher", as_json=True)
    assert "10 rows read" in terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    drift_replay.replay(file=file, better="higher", as_json=True)
    assert sys.stderr.getvalue() == ""
