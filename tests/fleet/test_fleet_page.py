"""A fleet as a page: the odd ones first, every text only text, and never too large to open."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from appliance.cli import main
from appliance.fleet import words
from appliance.fleet.overview import Survey
from appliance.report import fleet_page
from tests.fleet import surveys
from tests.fleet.surveys import DISK, FASTER, MACHINE, QUIET, SURVEY
from tests.fleet.synthetic import make
from tests.unit.reports import HOSTILE
from tests.unit.test_report_page import require_ours

MOST_BYTES = 700_000


def page_of(survey: Survey, place: str = "/srv/fleet") -> str:
    return fleet_page.page(survey, place, written_at=1_790_000_000.0, version="1")


def test_the_odd_ones_come_first_each_with_its_days():
    page = page_of(SURVEY)
    found = require_ours(page)
    assert found.text("h2") == [
        "Unlike their siblings", "Not reporting", "Not counted", "Machines",
        "Normal", "Verdicts",
    ]  # fmt: skip
    assert "1 disk" in found.text("h1")[0] + "".join(found.text("header"))
    odd = page.index("await +50 %"), page.index("IOPS -8 %"), page.index("all of smoke")
    assert list(odd) == sorted(odd)
    # Of what has no days there is no chart.
    charts = re.findall(r"<svg.*?</svg>", page.split("<h2>Not reporting")[0], re.DOTALL)
    assert len(charts) == 2
    assert charts[0].count("<circle") == 90
    assert "it began on 2026-09-01" in charts[0]
    assert charts[0].count('class="crossed"') == 1
    assert 'class="crossed"' not in charts[1]


def test_a_chart_s_days_are_where_they_were():
    """The first day is at the left, and what is slower in an await is above the siblings."""
    (chart, _) = re.findall(r"<svg.*?</svg>", page_of(SURVEY).split("<h2>Not rep")[0], re.DOTALL)
    dots = [(float(x), float(y)) for x, y in re.findall(r'circle cx="(.*?)" cy="(.*?)"', chart)]
    (zero,) = [float(y) for y in re.findall(r'y1="([0-9.]+)"[^>]*class="median"', chart)]
    (since,) = [float(x) for x in re.findall(r'x1="([0-9.]+)"[^>]*class="crossed"', chart)]
    assert [x for x, _ in dots] == sorted(x for x, _ in dots)
    before, after = dots[:70], dots[70:]
    assert max(x for x, _ in before) < since <= min(x for x, _ in after) + 0.1
    assert all(y < zero - 20 for _, y in after)
    assert all(abs(y - zero) < 10 for _, y in before)


def test_nothing_odd_is_said_and_chapters_without_rows_are_left_out():
    found = require_ours(page_of(QUIET))
    assert "No machine and no disk is unlike its siblings." in found.text("p")
    assert found.text("h2") == ["Unlike their siblings", "Machines", "Normal", "Verdicts"]


@pytest.mark.parametrize("text", [HOSTILE, "W" * 3000, "", "2026-99-99"])
def test_whatever_a_name_is_it_is_text(text):
    found = require_ours(page_of(surveys.hostile(text), text))
    assert not {"script", "img"} & {tag for tag, _ in found.elements}


def test_a_page_of_ten_thousand_machines_opens():
    page = page_of(surveys.many(10_000))
    assert len(page) < MOST_BYTES
    assert "The first 200 of 3,333; fleet --json has all." in page
    assert page.count("<circle") == 24 * 90


def test_how_many_are_odd_in_words():
    assert words.headline([]) == "no machine and no disk is unlike its siblings"
    assert words.headline([DISK]) == "1 disk is unlike its siblings"
    assert words.headline([DISK, MACHINE, FASTER]) == (
        "2 machines and 1 disk are unlike their siblings"
    )
    assert (words.since(DISK), words.when(DISK)) == ("2026-09-01", "since 2026-09-01")
    assert words.since(replace(DISK, since="")) == words.when(replace(DISK, since="")) == "moved"
    assert "in all series together" in words.evidence(replace(DISK, series=0))


def test_the_command_writes_the_page_and_says_so_in_a_line(tmp_path, capsys):
    make(tmp_path / "fleet", 8, 0, 3)
    target = tmp_path / "fleet.html"
    assert main.main(["fleet", str(tmp_path / "fleet"), "--output", str(target)]) == 0
    assert " ".join(capsys.readouterr().out.split()) == (
        f"{target}: 8 machines, 2026-08-29; no machine and no disk is unlike its siblings"
    )
    assert "A fleet of 8 machines" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["fleet.md", "fleet", "absent/fleet.html"])
def test_where_the_page_cannot_go_is_said_before_anything_is_read(tmp_path, capsys, name):
    target = tmp_path / name
    assert main.main(["fleet", str(tmp_path / "nowhere"), "--output", str(target)]) == 2
    assert f"--output {target}" in capsys.readouterr().err
