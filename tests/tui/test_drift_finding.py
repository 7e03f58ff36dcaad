"""What a finding says first, where it leads, and its figures in words."""

import re
from collections import defaultdict
from dataclasses import replace

import pytest

from appliance.drift.codes import CODES
from appliance.model.findings import DriftSeverity, Fact
from tests.tui.fake_drift import (
    CHANGE_RUN,
    CLOSED,
    MISSING,
    MODE,
    OF_SLOWER,
    RECORDS,
    SIX_HOURS,
    SLOWER,
    WALL,
)
from tui import marks
from tui.sources.drift import Evidence
from tui.widgets import drift
from tui.widgets import drift_finding as finding
from tui.widgets.drift_finding import Step

SERIAL = "AWS00003EXAMPLE"
BY_MEMBER = replace(
    SLOWER,
    fact=replace(
        SLOWER.fact, member=SERIAL, evidence={**SLOWER.fact.evidence, "cause_kind": "member"}
    ),
)
WARNS = replace(
    MISSING, id=31, fact=replace(MISSING.fact, code="DISK-HEALTH", subject=SERIAL, member=SERIAL)
)


def of(code, **changes):
    fact = Fact(code, "x", "x", "x", DriftSeverity.WARNING, **changes)
    return replace(MISSING, fact=fact)


def step(record, others=RECORDS, **more):
    return finding.next_of(record, OF_SLOWER, others, **more)


def test_it_opens_with_since_when_why_and_what_to_do():
    rows = finding.opening(SLOWER, OF_SLOWER, Step("R repeats it"), wall=WALL)
    assert rows[:3] == [
        ("since", f"2026-09-19 08:13:20Z, 2 days ago, run {CHANGE_RUN}"),
        ("cause", "member nvme3n1 waits longer than the others"),
        ("next", "R repeats it"),
    ]
    assert dict(rows)["repeated"].startswith("3 of 5 repeats")
    # Without a cause: what the code means. The date is that of the finding, then.
    rows = finding.opening(MISSING, None, Step("mount it"), wall=WALL)
    assert rows == [
        ("since", "2026-09-21 13:58:20Z, 15 min 00 s ago"),
        ("means", "the volume is not mounted"),
        ("next", "mount it"),
    ]


def test_the_date_of_a_change_is_that_of_its_run_however_it_is_known():
    began = WALL - 9 * SIX_HOURS
    assert finding.changed_at(SLOWER) == began
    told = {"change_run": CHANGE_RUN, "last_valid_at": "2026-09-19 08:13:20Z"}
    record = replace(SLOWER, fact=replace(SLOWER.fact, evidence=told))
    assert finding.changed_at(record) == began
    told["change_at"] = "bad"
    assert finding.changed_at(record) == SLOWER.opened_at


@pytest.mark.parametrize("known", [{"last_valid_at": "2026-09-19 08:13:20Z"}, {}])
def test_the_list_and_the_panel_have_one_date_whatever_has_been_read(known):
    evidence = {"change_run": CHANGE_RUN, **known}
    record = replace(SLOWER, fact=replace(SLOWER.fact, evidence=evidence))
    listed = drift.row(record, 140, marks.UNICODE).cells[4][0]
    for read in (None, OF_SLOWER):
        since = dict(finding.opening(record, read, Step(""), wall=WALL))["since"]
        assert since.startswith(listed), (since, listed)


@pytest.mark.parametrize("code", sorted(CODES))
def test_no_next_step_needs_what_only_a_reader_of_lists_knows(code):
    """No placeholder, and no command that shows the very screen."""
    words = CODES[code].next_step.format_map(defaultdict(lambda: "x"))
    evidence = {"suite": "smoke", "epoch": 3, "change_run": 5}
    for kind in ("", "member", "limit", "environment", "foreign", "cpu"):
        record = of(code, next_step=words, evidence={**evidence, "cause_kind": kind})
        told = step(record)
        for bad in (r"\bID\b", r" SERIAL\b", r"\bA B\b", r"\bFILE\b", "drift list"):
            assert not re.search(bad, f"{told.words} {told.command}"), told
        assert told.words or not words


def test_a_suspect_is_repeated_by_a_key():
    told = step(BY_MEMBER, repeat_seconds=160.0)
    assert told == Step("R repeats the suspect job now, for about 2 min 40 s")


def test_of_a_slow_disk_it_is_known_whether_it_warns():
    told = step(BY_MEMBER)
    assert told.words.startswith(f"disk {SERIAL} gives no health warning; measure each member")
    assert told.command.endswith("stripewright bench run smoke --members")
    assert "warns, too (finding 31)" in step(BY_MEMBER, (*RECORDS, WARNS)).words
    over = replace(WARNS, closed_at=WALL)
    assert "gives no health warning" in step(BY_MEMBER, (over,)).words


def test_without_a_cause_the_kernel_log_of_that_time_is_next():
    wanted = "journalctl -k --since '2026-09-19 02:13:20 UTC' --until '2026-09-19 08:13:20 UTC'"
    assert step(MODE).command == wanted
    assert wanted in step(MODE).words


def test_epochs_and_commands_have_their_real_names():
    record = of("ENV-KERNEL", evidence={"epoch": 3}, next_step="compare: stripewright compare A B")
    assert step(record).command == "stripewright compare epoch:2 epoch:3"
    told = step(of("MOUNT-MISSING", next_step="stop x; journalctl -b -u 'mnt-x.mount'; as root: y"))
    assert told.command == "journalctl -b -u 'mnt-x.mount'"
    told = step(of("HOST-RUN", next_step="find what fills it: df -h /run; as root: du -x /run | x"))
    assert told.command == "df -h /run"
    assert step(of("RUNS-MISSING", evidence={"suite": "full"})).command == (
        "stripewright results --suite full"
    )
    assert step(CLOSED) == Step("")


def test_it_leads_to_its_runs_its_disk_and_the_log():
    found = finding.links(BY_MEMBER, OF_SLOWER)
    assert [(one.kind, one.name) for one in found] == [
        ("log", f"{WALL - 9 * SIX_HOURS:.0f}"),
        ("disks", SERIAL),
        ("run", "70"),
        ("run", "61"),
    ]
    assert [one.kind for one in finding.links(MISSING, Evidence())] == ["log"]


def test_figures_have_words_and_units():
    more = {"await_ms": 1.89, "p99_before_ns": 450_000, "effect_percent": -8.0, "slots_since": 10,
            "confidence": "high", "iops": 7500.0, "interval_seconds": 21_600}  # fmt: skip
    fact = replace(SLOWER.fact, evidence={**SLOWER.fact.evidence, **more})
    rows = dict(finding.evidence_rows(replace(SLOWER, fact=fact)))
    assert rows["normal range"] == "403.7k to 420.2k IOPS, from 60 results"
    assert rows["series"].startswith("smoke rand-read-4k read in /mnt/")
    assert rows["now"] == "379.0k IOPS"
    assert rows["await"] == "1.89 ms"
    assert rows["p99 before"] == "450.0 µs"
    assert rows["change"] == "-8 %"
    assert rows["results since"] == "10"
    assert rows["iops"] == "7.5k IOPS"
    assert rows["interval"] == "6 h 00 min"
    assert rows["began with run"] == "61"
    assert not any("_" in label for label in rows)
    assert "cause" not in rows
