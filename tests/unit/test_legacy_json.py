"""fio's JSON of 2.x and 3.x, with noise, in parts, and told repeatedly."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.unit.legacies import FIO, codes, command, imported, measured, of_file, only

GROUP = (FIO / "fio-3.33-group.json").read_text()
# fio 2.1 to 2.17: KiB, µs, and io_bytes in KiB, too.
OLD: dict[str, Any] = {
    "fio version": "fio-2.2.10",
    "jobs": [
        {
            "jobname": "old",
            "groupid": 0,
            "error": 0,
            "read": {
                "io_bytes": 4_096_000,
                "bw": 68266,
                "iops": 17066.67,
                "runtime": 60000,
                "total_ios": 1_024_000,
                "lat": {"min": 50, "max": 9000, "mean": 937.4, "stddev": 1.0},
                "clat": {
                    "mean": 935.0,
                    "percentile": {"1.000000": 110, "99.000000": 2000, "0.00": 0},
                },
            },
            "write": {"io_bytes": 0, "bw": 0, "iops": 0.0, "runtime": 0, "total_ios": 0},
            "usr_cpu": 3.5,
            "sys_cpu": 10.5,
        }
    ],
    "disk_util": [
        {
            "name": "md0",
            "read_ios": 1_024_000,
            "write_ios": 0,
            "read_merges": 0,
            "write_merges": 0,
            "read_ticks": 0,
            "write_ticks": 0,
            "util": 0.0,
            "aggr_read_ios": 512_000,
        },
        {"name": "sdb", "read_ios": 512_000, "write_ios": 0, "read_ticks": 400_000, "util": 99.0},
        {"name": "sdc", "read_ios": 512_000, "write_ios": 0, "read_ticks": 400_000, "util": 99.0},
    ],
}


def test_a_real_group_counts_its_workers_by_numjobs() -> None:
    evidence = only(GROUP)
    assert (evidence.jobs, evidence.iodepth, evidence.rw) == (4, 8, "randread")
    assert evidence.direct is True
    assert evidence.iops == pytest.approx(101_926.536732)
    assert evidence.latency_mean_ns == pytest.approx(313_562.884161)
    assert evidence.members == ("vda",)


def test_the_old_units() -> None:
    evidence = only(json.dumps(OLD))
    assert evidence.bandwidth_bytes == pytest.approx(68266 * 1024, rel=1e-4)
    assert evidence.io_bytes == 4_096_000 * 1024
    assert evidence.block_size_bytes == 4096
    assert evidence.latency_mean_ns == 937_400
    assert evidence.percentiles_ns == {"1.000000": 110_000, "99.000000": 2_000_000}
    assert (evidence.device, evidence.members) == ("md0", ("sdb", "sdc"))
    assert (evidence.cpu_percent, evidence.fio_version) == (14.0, "fio-2.2.10")


@pytest.mark.parametrize(
    "text",
    [
        "sudo: unable to resolve host ip-10-0-0-1: Name or service not known\n" + GROUP,
        "note: both iodepth >= 1 and synchronous I/O engine are selected\n" + GROUP + "\n$ exit\n",
        GROUP.replace('      "error" : 0,', 'fio: a warning in the middle\n      "error" : 0,'),
        json.dumps(json.loads(GROUP), sort_keys=True),
        json.dumps({"host": "a", "result": json.loads(GROUP)}),
        json.dumps([json.loads(GROUP)], indent=2),
        GROUP.replace("\n", "\r\n"),
        "﻿" + GROUP,
    ],
    ids=["sudo", "note", "middle", "sorted", "wrapped", "list", "crlf", "bom"],
)
def test_noise_around_a_document(text: str) -> None:
    assert measured(only(text)) == measured(only(GROUP))


def test_utf_16_as_powershell_writes_it() -> None:
    assert measured(only(GROUP.encode("utf-16"))) == measured(only(GROUP))


def test_documents_one_after_the_other_keep_their_lines() -> None:
    found = imported("first\n" + GROUP + "second\n" + json.dumps(OLD) + "\n")
    assert [one.job for one in found] == ["probe", "old"]
    assert found[0].line == 2
    assert found[1].line == 3 + GROUP.count("\n")


def test_of_a_run_told_every_second_the_last_counts() -> None:
    found = of_file(FIO / "fio-3.33-status.json")
    assert [one.direction for one in found] == ["read", "write"]
    assert found[0].runtime_ms == 3001


def test_normal_and_json_of_one_run_are_one_result() -> None:
    one = only((FIO / "fio-3.33-normal-and-json.txt").read_bytes())
    assert one.iops == pytest.approx(21_595.309381)
    assert one.engine == "libaio"


def test_two_runs_of_the_same_job_are_two_results() -> None:
    later = json.loads(GROUP)
    later["timestamp_ms"] += 2500
    later["jobs"][0]["read"]["total_ios"] += 1000
    assert len(imported(GROUP + json.dumps(later))) == 2
    assert len(imported(GROUP * 3)) == 3


def test_the_signal_is_told_ahead_of_the_document() -> None:
    one = only((FIO / "fio-3.33-signal.json").read_bytes())
    assert one.ended == "fio was ended by signal 2"
    # JSON does not say time_based; that the size was not done does.
    assert one.runtime_asked_ms == 30_000
    assert "SHORT" in codes(one)


def test_cut_at_any_line_it_is_told_or_not_but_never_as_whole() -> None:
    lines = GROUP.splitlines(keepends=True)
    told = 0
    for at in range(1, len(lines)):
        found = imported("".join(lines[:at]))
        if found:
            told += 1
            assert all(one.truncated for one in found) or at == len(lines) - 1
    assert told > len(lines) // 2


def test_jobs_merged_under_one_name_have_no_count() -> None:
    # group_reporting over differently named jobs: JSON has the first one's options only.
    merged = json.loads(GROUP)
    del merged["jobs"][0]["job options"]["numjobs"]
    assert only(json.dumps(merged)).jobs is None


def test_the_command_before_a_document_tells_what_json_does_not() -> None:
    text = f"$ {command()}\n" + GROUP.replace('"jobname" : "probe"', '"jobname" : "job"')
    evidence = only(text)
    assert evidence.target == "/mnt/data"
    assert evidence.runtime_asked_ms == 2000  # fio's own words win


@pytest.mark.parametrize(
    "value", ["1e400", "NaN", "-5", "-Infinity", "9" * 10_000, '"x"', "[]", "null", "true", "{}"]
)
def test_a_value_that_no_measurement_has(value: str) -> None:
    text = GROUP.replace('"iops" : 101926.536732', f'"iops" : {value}')
    assert text != GROUP
    evidence = only(text)
    # The I/Os and the run time say it, too.
    assert evidence.iops == pytest.approx(101_926.5, rel=0.001)
    without = re.sub(r'"total_ios" : [1-9]\d*', '"total_ios" : null', text)
    assert only(without).iops is None


def test_not_a_report() -> None:
    for text in ('{"jobs": 5}', '{"jobs": [1]}', '{"fio version": "x"}', '{"jobs": [{}]}', "{"):
        assert imported(text) == ()
