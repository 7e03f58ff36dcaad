from __future__ import annotations

import sys
import unicodedata

import pytest

from appliance import text


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("Amazon EC2 NVMe Instance Storage", "Amazon EC2 NVMe Instance Storage"),
        ("[@click=app.quit]X", "[@click=app.quit]X"),
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("line\nbreak\r", r"line\nbreak\r"),
        ("\u202egpj.exe", r"\u202egpj.exe"),
        ("\udcff", r"\udcff"),
        ("two\u2028lines\u2029", r"two\u2028lines\u2029"),
        ("µ±日本", "µ±日本"),
    ],
)
def test_printable_shows_what_could_steer_a_terminal(given: str, shown: str) -> None:
    assert text.printable(given) == shown


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [
        (0, "0 B"),
        (262144, "256 KiB"),
        (1 << 20, "1 MiB"),
        (1900 * 10**9, "1.73 TiB"),
        (1023 * 1024 + 512, "1024 KiB"),
    ],
)
def test_size(size_bytes: int, shown: str) -> None:
    assert text.size(size_bytes) == shown


def test_counts_latencies_durations_and_moments() -> None:
    assert text.count(412_279) == "412.3k"
    assert text.count(88) == "88"
    assert text.latency(83_400) == "83.4 µs"
    assert text.latency(1_200_000) == "1.20 ms"
    assert text.latency(2_500_000_000) == "2.50 s"
    assert text.duration(42) == "42 s"
    assert text.duration(185) == "3 min 05 s"
    assert text.duration(7_800) == "2 h 10 min"
    assert text.moment(0) == "1970-01-01 00:00:00Z"
    assert text.moment(None) == "-"
    # As a damaged history may have it.
    for beyond in (1e20, -1e18, float("nan"), float("inf")):
        assert text.moment(beyond) == "?"
    assert [text.duration(value) for value in (float("nan"), float("inf"))] == ["?", "?"]


def test_a_table_aligns_and_cannot_be_broken_by_a_cell() -> None:
    assert text.table([("A", "B"), ("x\ny", "z")]) == "A     B\nx\\ny  z"


def test_the_last_column_of_a_table_goes_on_below_itself() -> None:
    long = "word " * 20 + "end"
    shown = text.table([("NAME", "WHAT"), ("a", long), ("b", "")], fold=True).splitlines()
    assert shown[:2] == ["NAME  WHAT", "a     " + "word " * 14 + "word"[:4]]
    assert shown[2].startswith("      word")
    assert shown[-1] == "b"
    assert max(map(len, shown)) <= 80
    # There is no room to fold in.
    wide = text.table([("N" * 70, "WHAT"), ("a", long)], fold=True).splitlines()
    assert len(wide) == 2


def test_of_each_character_only_what_steers_or_is_not_seen_is_escaped() -> None:
    unshown = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        escaped = unicodedata.category(char) in unshown
        assert (text.printable(char) != char) is escaped, hex(code)
        if escaped:
            assert text.printable(char).isascii()


def test_a_sentence_is_wrapped_and_made_printable() -> None:
    lines = text.wrapped("  " + "word " * 20 + "\x1b[31m", indent="    ")
    assert lines[0].startswith("  word")
    assert lines[1].startswith("    word")
    assert lines[-1].endswith("\\x1b[31m")
    assert max(map(len, lines)) <= 80
