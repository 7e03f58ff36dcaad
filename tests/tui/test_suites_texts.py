"""What is said of suites, runs and their jobs; no application is started."""

import re
from dataclasses import replace

import pytest

from appliance.bench.run_progress import plan_of
from appliance.client.suite_facts import file_bytes, volume_of, written, written_words
from appliance.model.runs import RunState
from tests.tui.fake_suites import CATALOG, FULL, PROBE, SCHEDULE, SMOKE, told
from tests.tui.fakes import (
    DISK_BYTES,
    GIB,
    NOW,
    RESULTS,
    RUNNING,
    STATUS,
    VOLUME,
    WALL,
    result,
    run_record,
    running_snapshot,
    snapshot,
)
from tests.tui.suites_stage import followed
from tui import marks
from tui.permission import may_measure
from tui.widgets import suites, suites_run
from tui.widgets.panel import View, hung
from tui.widgets.suite import ago, job_cell

LOGS = replace(VOLUME, name="logs", mount="/mnt/scratch/logs")


def seen(shown, later=0.0, glyphs=marks.UNICODE):
    return View(shown, NOW + later, WALL + later, glyphs)


def text_of(lines):
    return "\n".join(line.plain for line in lines)


def test_a_suite_says_what_it_writes_and_that_it_is_its_own():
    assert file_bytes(SMOKE, VOLUME) == 16 * GIB
    assert file_bytes(PROBE, VOLUME) == 2 * GIB
    assert file_bytes(SMOKE, replace(VOLUME, free_bytes=None)) is None
    assert (written(SMOKE, VOLUME), written(PROBE, VOLUME)) == ("16 GiB, writes", "2 GiB, reads")
    assert written(PROBE, None) == "reads"
    words = written_words(SMOKE, VOLUME)
    assert "about 16 GiB of files in /mnt/scratch/.stripewright-bench, nothing elsewhere" in words
    assert "then 2 of 5 jobs write into them" in words
    assert "then only read" in written_words(PROBE, VOLUME)


def test_a_volume_without_room_or_filesystem_is_not_measured_and_says_why():
    full = replace(VOLUME, free_bytes=DISK_BYTES // 10)
    assert written(SMOKE, full) == "no room"
    assert "20 % must stay free" in may_measure(SMOKE, full).reason
    assert (
        "not mounted at /mnt/scratch" in may_measure(SMOKE, replace(VOLUME, mounted=False)).reason
    )
    raw = replace(VOLUME, mounted=False, mount="", filesystem="none")
    assert "raw devices are measured from the shell only" in may_measure(SMOKE, raw).reason
    assert may_measure(SMOKE, VOLUME).allowed


def test_the_volume_of_a_run_is_the_innermost_one():
    status = replace(STATUS, volumes=(VOLUME, LOGS))
    inner = run_record(target="/mnt/scratch/logs/.stripewright-bench")
    assert volume_of(inner, status) is LOGS
    assert volume_of(run_record(), status) is VOLUME
    assert volume_of(run_record(target="/mnt/scratchy"), status) is None


@pytest.mark.parametrize("width", [78, 138])
def test_the_table_has_length_files_verdict_and_next_start(width):
    rows = suites.table_rows(CATALOG, SCHEDULE, seen(snapshot()), width)
    cells = {row.key: [text for text, _ in row.cells] for row in rows}
    assert list(cells) == ["full", "latency-probe", "smoke"]
    assert {"38 min 00 s", "16 GiB, writes", "in 2 days"} < set(cells["full"])
    assert cells["latency-probe"][-1] == "never"
    assert cells["smoke"][-1] == "in 4 h 12 min"
    assert cells["smoke"][-2].startswith("✗ COVERAGE")
    assert cells["full"][-2].startswith("– skipped")
    unread = suites.table_rows(CATALOG, None, seen(snapshot()), width)
    assert unread[0].cells[-1][0] == "?"


def test_without_a_history_nobody_says_never():
    unread = replace(CATALOG, last={}, problem="there is no history")
    view = seen(snapshot())
    rows = suites.table_rows(unread, SCHEDULE, view, 78)
    assert {row.cells[-2][0] for row in rows} == {"? not known"}
    text = text_of(suites.detail_lines(SMOKE, (unread, SCHEDULE), view, 78, 30))
    assert "not known: there is no history" in text


def test_the_suite_that_runs_is_marked_in_the_table():
    rows = suites.table_rows(CATALOG, SCHEDULE, seen(running_snapshot()), 78)
    assert rows[2].cells[-2][0] == "▶ running"


def test_the_detail_has_facts_and_as_many_jobs_as_fit():
    view, known = seen(snapshot()), (CATALOG, SCHEDULE)
    text = text_of(suites.detail_lines(SMOKE, known, view, 78, 30))
    assert "3 min 18 s in all the last time" in " ".join(text.split())
    assert "✗ COVERAGE, 4 of 5 results valid, 22 min ago on scratch, run 41" in text
    assert "in 4 h 12 min, 2026-09-21 18:25Z" in text
    assert "rand-write-4k      randwrite 4 KiB QD 32 × 8, 30 s" in text
    few = suites.detail_lines(FULL, known, view, 78, 15)
    assert len(few) == 15
    assert "more jobs: enter" in few[-1].plain
    assert "nvme2n1 is 80 % busy" in text_of(few)
    whole = suites.sheet(FULL, known, view, 78).plain
    assert "rand-read-4k-qd18" in whole
    assert "randrw 4 KiB QD 32 × 8, 40 s · 70 % reads" in whole
    probe = suites.sheet(PROBE, known, view, 78).plain
    assert "psync · 5 ms between two I/Os" in probe
    assert "never automatically (it has no timer); S sets a time" in probe
    assert "never run here: s starts it" in probe
    of_history = replace(view, history="/tmp/h.db")
    assert "never run in this history" in suites.sheet(PROBE, known, of_history, 78).plain


def test_a_detail_never_takes_more_lines_than_it_may():
    for rows in range(12):
        lines = suites.detail_lines(FULL, (CATALOG, None), seen(snapshot()), 78, rows)
        assert len(lines) <= rows


# ------------------------------------------------------------------------------- a run


def test_jobs_are_done_with_verdict_and_figure_measured_with_a_bar_or_waiting():
    view = seen(running_snapshot())
    lines = suites_run.job_lines(RUNNING, view, 78, 20)
    text = text_of(lines)
    assert len(lines) == 6
    assert "✓ valid" in lines[1].plain
    assert "7.5k" in lines[1].plain
    assert "▶ measuring  rand-read-4k" in text
    assert "━━━───── 18 s left" in text
    assert text.count("– waiting") == 3
    heading = text_of(suites_run.run_heading(RUNNING, view, 78))
    assert "▶ RUNNING smoke on scratch" in heading
    assert "job 2 of 5 · 1 min 48 s left" in heading
    assert "1 min 38 s left" in text_of(
        suites_run.run_heading(RUNNING, seen(view.snapshot, 10), 78)
    )


def test_the_present_job_has_its_iops_so_far_and_those_of_each_second_in_its_columns():
    shown = replace(running_snapshot(), live_jobs=(told(),), seconds=followed())
    names, _, measured, *_ = suites_run.job_lines(RUNNING, seen(shown), 78, 20)
    end = names.plain.index("IOPS") + len("IOPS")
    assert measured.plain[:end].endswith("412.3k")
    # A sparkline of the seconds since it began, from the stripe's own figures.
    assert set(measured.plain[end + 1 : end + 13]) & set(marks.UNICODE.bars[1:])
    before = replace(RUNNING, phase_started_at=WALL + 60)
    _, _, measured, *_ = suites_run.job_lines(before, seen(shown), 78, 20)
    assert not set(measured.plain) & set(marks.UNICODE.bars[1:])


def test_before_the_first_job_it_says_what_is_done():
    run = replace(RUNNING, phase="prepare", job_index=0, phase_seconds=40.0)
    shown = replace(running_snapshot(), run_results=())
    text = text_of(suites_run.job_lines(run, seen(shown), 78, 20))
    assert "▶ prepare" in text
    assert "writes its files in full" in text
    assert "28 s left" in text
    assert suites_run.latency_lines(run, seen(shown), 78) == []


def test_of_many_jobs_those_around_the_present_are_shown():
    run = replace(RUNNING, suite="full", job_count=57, job_index=23)
    planned = plan_of(run, FULL)
    run = replace(run, phase=planned[22].job.name)
    done = tuple(
        replace(result(one.job, 1000, 1e6), pass_index=one.pass_index) for one in planned[:22]
    )
    shown = replace(running_snapshot(), run_suite=FULL, run_results=done)
    lines = suites_run.job_lines(run, seen(shown), 78, 10)
    assert len(lines) == 10
    assert any("▶ measuring" in line.plain for line in lines)
    assert any("– waiting" in line.plain for line in lines)
    assert any("✓ valid" in line.plain for line in lines)
    above, below = (int(word) for word in lines[-1].plain.split() if word.isdecimal())
    assert above + below + 8 == 57


def test_a_suite_that_is_not_known_shows_what_it_measures_now():
    shown = replace(running_snapshot(), run_suite=None)
    text = text_of(suites_run.job_lines(RUNNING, seen(shown), 78, 20))
    assert "✓ valid" in text
    assert "▶ measuring  rand-read-4k " in text


def test_latency_so_far_says_on_how_many_ios_it_rests_and_how_old_it_is():
    shown = replace(running_snapshot(), live_jobs=(told(),))
    text = text_of(suites_run.latency_lines(RUNNING, seen(shown), 78))
    assert "so far: 3.7M I/Os, 3 s old · not judged" in text
    assert "read    p50 580.0 µs  p99 1.24 ms  p99.9 2.90 ms  mean 620.0 µs" in text
    wide = text_of(suites_run.latency_lines(RUNNING, seen(shown), 138))
    assert "of 3.7M I/Os in 9 s, 3,712 of them above p99.9" in wide
    ascii_text = text_of(suites_run.latency_lines(RUNNING, seen(shown, glyphs=marks.ASCII), 138))
    assert ascii_text.isascii()


def test_a_percentile_that_rests_on_few_ios_is_marked():
    shown = replace(running_snapshot(), live_jobs=(told(ios=5000),))
    text = text_of(suites_run.latency_lines(RUNNING, seen(shown), 78))
    assert "p99 1.24 ms  p99.9 2.90 ms ?" in text


@pytest.mark.parametrize(
    "stranger", [told(run_id=41), told(job="seq-read-1m")], ids=["another run", "the job before"]
)
def test_figures_of_something_else_are_not_taken_for_this_job(stranger):
    shown = replace(running_snapshot(), live_jobs=(stranger,))
    text = text_of(suites_run.latency_lines(RUNNING, seen(shown), 78))
    assert "p50" not in text
    assert "so far" not in text_of(suites_run.job_lines(RUNNING, seen(shown), 140, 20))


def test_where_there_are_no_figures_yet_it_says_so():
    view = seen(running_snapshot())
    early = replace(RUNNING, phase_started_at=WALL - 2)
    assert "none yet" in text_of(suites_run.latency_lines(early, view, 78))
    assert "started by hand" in text_of(suites_run.latency_lines(RUNNING, view, 98))
    short = replace(RUNNING, phase_seconds=5.0)
    assert "too short" in text_of(suites_run.latency_lines(short, view, 78))


def test_figures_of_a_mixed_job_are_those_of_each_direction():
    shown = replace(running_snapshot(), live_jobs=(told(), told(direction="write", ios=1000)))
    lines = suites_run.latency_lines(RUNNING, seen(shown), 78)
    assert [line.plain.split()[0] for line in lines[1:]] == ["read", "write"]


def test_old_figures_are_told_as_a_warning():
    shown = replace(running_snapshot(), live_jobs=(told(at=WALL - 40),))
    (line, *_) = suites_run.latency_lines(RUNNING, seen(shown), 78)
    assert "40 s old" in line.plain
    assert any(marks.WARN in str(span.style) for span in line.spans)
    stale = seen(running_snapshot(), 42)
    heading = text_of(suites_run.run_heading(RUNNING, stale, 78))
    assert "▲ progress read 42 s ago" in heading


def test_the_end_says_how_and_where_to_go_on():
    run = run_record(id=42, state=RunState.ABORTED, reason="the power went")
    text = text_of(suites_run.ended_heading(run, RESULTS, seen(snapshot()), 78))
    assert "✗ aborted · 4 of 5 results valid" in text
    assert "the power went" in text
    assert "took 3 min 20 s; enter shows its results in full" in text
    assert "no results" in text_of(suites_run.ended_lines((), 78, 10, marks.UNICODE))


def test_a_long_job_name_keeps_its_end_its_disk_and_its_pass():
    assert job_cell("rand-read-4k-qd64", 1, "", marks.UNICODE) == "rand-rea…4k-qd64"
    assert job_cell("rand-read-4k-qd64", 3, "", marks.UNICODE).endswith("qd64 #3")
    assert job_cell("x" * 40, 2, "nvme12n1", marks.ASCII).endswith(" nvme12n1 #2")
    assert len(job_cell("x" * 40, 2, "m" * 60, marks.ASCII)) == 16


@pytest.mark.parametrize(
    "evil", ["[@click=app.quit]X", "a\x1b[2J\x07\u202eb", "l\nb\t$error[/]\\["]
)
def test_hostile_names_are_only_text(evil):
    suite = replace(SMOKE, name=evil, summary=evil, jobs=(replace(SMOKE.jobs[0], name=evil),))
    run = replace(
        RUNNING, suite=evil, phase=evil, target=evil, reason=evil, job_count=1, job_index=1
    )
    shown = replace(
        running_snapshot(),
        run_suite=suite,
        run_results=(replace(RESULTS[0], job=evil + "2"),),
        live_jobs=(told(job=evil, direction=evil),),
    )
    view = seen(shown)
    lines = [
        *suites_run.run_heading(run, view, 138),
        *suites_run.job_lines(run, view, 138, 20),
        *suites_run.latency_lines(run, view, 138),
        *suites_run.ended_heading(run, RESULTS, view, 138),
        *suites.detail_lines(suite, (CATALOG, SCHEDULE), view, 138, 30),
    ]
    assert all(char.isprintable() for line in lines for char in line.plain)
    assert all("click" not in str(span.style) for line in lines for span in line.spans)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-100_000, "in the future"), (-60, "just now"), (60, "just now"), (7200, "2 h ago")],
)
def test_what_a_clock_ahead_wrote_is_not_called_just_now(seconds, words):
    assert ago(seconds) == words


def test_the_detail_of_a_suite_tears_no_value_from_its_unit():
    unit = re.compile(r" *(?:[kKMGT]?i?B|[nµm]?s|min|h|days|%|IOPS)(?: |$)")
    for suite in (SMOKE, FULL, PROBE):
        for width in range(30, 141):
            known = (CATALOG, SCHEDULE)
            lines = suites.detail_lines(suite, known, seen(snapshot()), width, 40)
            lines += hung(suites.sheet(suite, known, seen(snapshot()), width), width - 4)
            assert not [one.plain for one in lines if unit.match(one.plain)], width
