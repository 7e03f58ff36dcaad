"""The Markdown form: the same figures, and nothing that it is given becomes markup."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance import text
from appliance.model.runs import RunState
from appliance.report import gather, markdown
from appliance.report.gather import run_report
from appliance.report.page import Point, Series
from tests.unit import reports
from tests.unit.test_report_page import LONG, hostile


def text_of(**changes: object) -> str:
    return markdown.text(
        run_report(reports.material(**changes), written_at=reports.BEGAN, version="1")
    )


@given(
    st.text(max_size=80) | st.sampled_from([reports.HOSTILE, "# x", "- x", "1. x", "---", "> q"])
)
def test_escaped_text_has_nothing_left_to_interpret(odd):
    found = markdown.escaped(odd)
    assert "\n" not in found
    assert "<" not in found
    assert ">" not in found
    # Take away what is escaped: no special character remains.
    plain = re.sub(r"\\[!-/:-@\[-`{-~]", "", found)
    assert not re.search(r"[\\`*_{}\[\]|~$#@]", plain)
    assert not re.match(r"\s*([-+=]|\d+[.)](\s|$))", found)
    assert "://" not in found
    assert not re.search(r"(?i)www\.", found)


@pytest.mark.parametrize(
    ("odd", "shown"),
    [
        ("6.12.117+deb13", "6.12.117+deb13"),
        ("md-raid0, 4 × 8", "md-raid0, 4 × 8"),
        ("a|b", r"a\|b"),
        ("1. x", r"1\. x"),
        ("<b>", "&lt;b&gt;"),
        ("a\nb", r"a\\nb"),
        ("io_uring", r"io\_uring"),
        ("https://x.test", r"https\://x.test"),
        ("WWW.x.test", r"WWW\.x.test"),
    ],
)
def test_only_what_has_to_be_is_escaped(odd, shown):
    assert markdown.escaped(odd) == shown


@pytest.mark.parametrize("odd", [reports.HOSTILE, LONG, "|", "`", "a\r\n\r\n# b"])
def test_hostile_names_break_no_table_and_no_line(odd):
    found = markdown.text(hostile(odd))
    assert "<script" not in found
    for line in found.splitlines():
        assert not re.match(r"#{3}|#(?!#? [A-Z])|>|```|~~~|\s|={2}|-{2}|\d+[.)]\s", line), line
    tables = re.split(r"\n\n", found)
    for table in tables:
        if table.startswith("| "):
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
            assert len(widths) == 1, table[:200]


def test_an_invalid_figure_is_struck_and_the_true_one_beside_it():
    found = text_of()
    assert "~~581,387~~ **412,279** probably true" in found
    assert re.findall(r"581,387", found) == ["581,387"] * found.count("~~581,387~~")
    assert "✗ invalid (COVERAGE)" in found
    assert "A figure that is struck out is invalid" in found


def test_it_says_what_the_page_says():
    found = text_of()
    share = reports.results()[3].device_io[2]
    for words in (
        f"| 4 seq-write-1m | nvme3n1 | {text.size(share.write_bytes)} | {share.write_ios:,} |",
        "**1 of 5 results cannot be believed**",
        "Member 2: nvme3n1, serial AWS3C",
        "50.0 % of 825,000 IOPS (corrected figure)",
        "## What the codes mean",
        "The last 30 runs of this suite",
        "| 1 seq-read-1m | 20 s | 50 s |",
    ):
        assert words in found, words


def test_a_skipped_run_is_told():
    found = text_of(
        run=reports.run(state=RunState.SKIPPED, reason="busy"), results=(), rates=(), ended_at=()
    )
    assert "**Skipped: nothing was measured**" in found
    assert "There are none." in found
    assert "Not shown: no samples of this run are kept." in found
    assert "No trend: this run measured nothing to compare." in found


def test_an_imported_file():
    report = gather.import_report(
        reports.judged(), file="a_b.txt", machine_type="", imported_at=0, written_at=0, version="1"
    )
    found = markdown.text(report)
    assert r"# Stripewright report: Imported: a\_b.txt" in found
    assert "Earlier runs" not in found
    assert "line 12, on md0 (nvme0n1, nvme1n1)" in found


def test_sparklines_begin_at_zero():
    def line(*values: float) -> str:
        points = tuple(Point(at, value, value, value) for at, value in enumerate(values))
        return markdown.sparkline(Series("x", (points,)))

    assert line(0, 4, 8) == "▁▅█"
    assert line(7.9, 8) == "██"
    assert line(0, 0) == "▁▁"
    assert len(line(*range(600))) == 60
