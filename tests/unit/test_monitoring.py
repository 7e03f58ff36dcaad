"""What a monitoring system is told of the machine and its last runs; names, values and bounds."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from appliance import data
from appliance.bench.validity import member
from appliance.cli import main
from appliance.client import monitoring
from appliance.client.machine_status import Health, Status, VolumeStatus
from appliance.drift.check_summary import DriftSummary
from appliance.drift.looks.observation import Health as Smart
from appliance.drift.series import acceptance
from appliance.history import metrics, queries
from appliance.history.store import History
from appliance.model.disks import Disk, DiskKind, Inventory, Machine
from appliance.model.runs import RunState
from tests.unit.histories import FINGERPRINT, RESULT, begin, difference
from tests.unit.test_drift_history import FACT, look
from tests.unit.test_exports import parse_metrics

pytestmark = pytest.mark.usefixtures("journalled")

ROOT = Path(__file__).parents[2]
RULES = (Path(data.__file__).parent / "stripewright.rules.yml").read_text()
DASHBOARD = json.loads((ROOT / "docs/monitoring/grafana-dashboard.json").read_text())
_HOSTILE = 'x"} 1\n# EOF\n\x1b[2J\\'
_HEADLINE = (
    'suite="smoke",target="/mnt/scratch/.stripewright-bench",'
    'workload="rand-read-4k",direction="read"'
)


def volume(name: str, members: int, **other: object) -> VolumeStatus:
    made = VolumeStatus(
        name, "nothing", "mounted", "", "", f"/dev/stripewright/{name}", f"/mnt/{name}", True,
        "raid0", tuple(f"/dev/nvme{n}n1" for n in range(1, members + 1)),
        tuple(f"S{n}" for n in range(members)), 4096, 4096, 4096, 1 << 40, None,
    )  # fmt: skip
    return dataclasses.replace(made, **other)


def status(count: int = 4, serial: str = "S", **other: object) -> Status:
    found = tuple(
        Disk(f"/dev/nvme{n}n1", f"id{n}", "m", f"{serial}{n}", 10**9, kind=DiskKind.INSTANCE_STORE)
        for n in range(1, count + 1)
    )
    machine = Machine(provider="aws", machine_type="i4i.16xlarge", kernel="6", expected_disks=4)
    smart = Smart(0, 100, 10, 3, 0, temperature_celsius=41, first_media_errors=0)
    made = Status(
        Health.OK, "", "", machine, found, (volume("scratch", count),), 1.0, None, None, None, (),
        None, "", drift=DriftSummary(checked_at=1.0), inventory=Inventory(machine, found),
        smart={one.id: smart for one in found},
    )  # fmt: skip
    return dataclasses.replace(made, **other)


def of_machine(now: Status, sys_block: Path) -> dict[str, dict[str, float]]:
    return parse_metrics(metrics.render(monitoring.machine_gauges(now, sys_block)))


@pytest.fixture
def block(tmp_path: Path) -> Path:
    for number in range(1, 5):
        (tmp_path / "block" / f"nvme{number}n1").mkdir(parents=True)
    return tmp_path / "block"


def test_the_machine_is_told_as_status_has_it(block):
    found = of_machine(status(), block)
    assert found["stripewright_health"]['state="ok"'] == 1
    assert sum(found["stripewright_health"].values()) == 1
    states = {f'volume="scratch",state="{one}"': float(one is Health.OK) for one in Health}
    assert found["stripewright_volume_health"] == states
    assert found["stripewright_volume_members_missing"] == {'volume="scratch"': 0}
    assert found["stripewright_instance_disks"] == {"": 4}
    assert found["stripewright_instance_disks_expected"] == {"": 4}
    of_disk = 'member="S1",device="nvme1n1"'
    assert found["stripewright_disk_temperature_celsius"][of_disk] == 41
    assert found["stripewright_disk_endurance_used_ratio"][of_disk] == 0.03
    assert found["stripewright_drift_overdue"] == {"": 0}
    (about,) = found["stripewright_machine"]
    assert 'machine_type="i4i.16xlarge",provider="aws",kernel="6"' in about


@pytest.mark.parametrize(
    ("other", "health"),
    [
        ({"problem": "it has gone"}, Health.FAILED),
        ({"outcome": "failed"}, Health.FAILED),
        ({"outcome": "refused"}, Health.REFUSED),
        ({"outcome": "waiting", "mounted": False}, Health.WORKING),
        ({"degraded": 1}, Health.DEGRADED),
        ({"outcome": "down", "mounted": False}, Health.UNKNOWN),
    ],
)
def test_each_volume_has_its_own_health(other, health):
    assert volume("scratch", 4, **other).health is health


def test_members_that_the_kernel_or_the_array_lacks_are_missing(block):
    (block / "nvme3n1").rmdir()
    two = (volume("a", 4), volume("b", 2, degraded=2))
    found = of_machine(status(volumes=two), block)["stripewright_volume_members_missing"]
    assert found == {'volume="a"': 1, 'volume="b"': 2}


def test_without_a_boot_unit_there_is_little_and_it_is_well_formed(block):
    empty = {"machine": None, "disks": (), "volumes": (), "inventory": None, "drift": None}
    found = of_machine(status(health=Health.UNKNOWN, **empty), block)
    assert found["stripewright_health"]['state="unknown"'] == 1
    assert "stripewright_instance_disks" not in found


def test_labels_are_bounded_with_64_disks_and_hostile_words(block, db):
    now = status(64, serial=_HOSTILE)
    machine = dataclasses.replace(now.machine, machine_type=_HOSTILE * 100, kernel="k" * 9000)
    text = metrics.render(
        monitoring.machine_gauges(dataclasses.replace(now, machine=machine), block)
    )
    found = parse_metrics(text)
    assert sum(map(len, found.values())) < 64 * 3 + 40
    assert max(map(len, text.splitlines())) < 600
    assert "\x1b" not in text
    members = tuple(f"nvme{n}n1" for n in range(64))
    with History.open_writable(db) as history:
        serials = ",".join(f"AWS{n}" for n in range(64))
        epoch = history.ensure_epoch({**FINGERPRINT, "serials": serials}).id
        for suite in ("smoke", "full"):
            run(history, epoch, suite, members=members)
    with queries.open_readonly(db) as reader:
        found = parse_metrics(metrics.render(monitoring.run_gauges(reader)))
    assert len(found["stripewright_member_await_seconds"]) == 2 * 64
    assert sum(map(len, found.values())) < 2 * (64 + 20)


def run(
    history: History, epoch: int, suite: str = "smoke", members=("nvme0n1", "nvme1n1"), **other
) -> int:
    run_id = begin(history, suite, 1.0)
    history.update_run(run_id, epoch_id=epoch, members=list(members))
    counted = [("md0", 2000, 4096 * 2000, 5, 0, 0, 0, 0, 30_000)]
    counted += [
        (name, 1000, 4096 * 1000, 500 * (slot + 1), 0, 0, 0, 0, 30_000)
        for slot, name in enumerate(members)
    ]
    made = dataclasses.replace(
        RESULT, job="rand-read-4k", member="", pass_index=1, findings=(),
        device_io=tuple(difference(*one) for one in counted),
    )  # fmt: skip
    history.add_result(run_id, dataclasses.replace(made, **other), raw_report="x")
    history.finish_run(run_id, RunState.COMPLETE)
    return run_id


def of_runs(db: Path) -> dict[str, dict[str, float]]:
    with queries.open_readonly(db) as reader:
        return parse_metrics(metrics.render(monitoring.run_gauges(reader)))


def test_the_headline_stands_beside_what_is_published_and_what_is_normal(db):
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        for n in range(20):
            run(history, epoch, iops=412_000.0 + 1000 * (n % 3))
        run(history, epoch, iops=206_500.0)
    found = of_runs(db)
    assert found["stripewright_headline_iops"] == {_HEADLINE: 206_500.0}
    ratio = pytest.approx(206_500 / 825_000)
    assert found["stripewright_headline_published_ratio"] == {_HEADLINE: ratio}
    normal = pytest.approx(0.5, abs=0.01)
    assert found["stripewright_headline_normal_ratio"] == {_HEADLINE: normal}
    assert found["stripewright_headline_normal_side"] == {_HEADLINE: -1}
    assert found["stripewright_headline_latency_p99_seconds"] == {_HEADLINE: 0.002008}
    assert found["stripewright_member_await_seconds"] == {
        f'{_HEADLINE},member="AWS1",slot="0"': 0.0005,
        f'{_HEADLINE},member="AWS2",slot="1"': 0.001,
    }


def test_verdicts_and_rules_of_the_last_run(db):
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        run(history, epoch)
        run(history, epoch, findings=RESULT.findings)
    found = of_runs(db)
    labels = 'suite="smoke",target="/mnt/scratch/.stripewright-bench"'
    assert found["stripewright_last_run_results"] == {
        f'{labels},verdict="valid"': 0,
        f'{labels},verdict="blocked"': 1,
    }
    assert found["stripewright_last_run_findings"] == {
        f'{labels},rule="COVERAGE",severity="block"': 1,
        f'{labels},rule="DEPTH",severity="warn"': 1,
    }
    assert found["stripewright_headline_valid"] == {_HEADLINE: 0}


def test_findings_are_counted_by_code(db):
    with History.open_writable(db) as history:
        look(history, [FACT, dataclasses.replace(FACT, identity="other")])
    with queries.open_readonly(db) as reader:
        found = parse_metrics(monitoring.exposition(reader))
    labels = 'code="MEMBER-SWAPPED",severity="critical",state="open"'
    assert found["stripewright_drift_code_findings"] == {labels: 2}
    assert "stripewright_health" not in found, "a copy is of another machine"


def test_the_machines_own_history_comes_with_its_state(own_place, capsys, monkeypatch):
    with History.open_writable(own_place):
        pass
    asked: dict[str, Any] = {}
    monkeypatch.setattr(monitoring, "read_status", lambda **how: asked.update(how) or status())
    assert main.main(["export", "metrics"]) == 0
    assert parse_metrics(capsys.readouterr().out)["stripewright_health"]['state="ok"'] == 1
    # Each scrape would leave a process behind on a dead disk, and start systemctl.
    assert (asked["usages_of"](["/mnt/scratch"]), asked["next_run"]()) == ({}, None)


# ------------------------------------------------------------------- rules and the dashboard


def names_of(text: str) -> set[str]:
    return set(re.findall(r"\bstripewright_[a-z0-9_]+", text))


@pytest.fixture
def exported(db, block) -> set[str]:
    with History.open_writable(db) as history:
        epoch = history.ensure_epoch(FINGERPRINT).id
        for _ in range(20):
            run(history, epoch)
        look(history, [FACT])
    with queries.open_readonly(db) as reader:
        text = metrics.metrics_text(reader, drift_checked_at=1.0) + monitoring.exposition(reader)
    return names_of(text + metrics.render(monitoring.machine_gauges(status(), block)))


def test_what_rules_and_panels_ask_for_is_exported(exported):
    recorded = set(re.findall(r"record: (\S+)", RULES))
    queries_ = [one["expr"] for panel in DASHBOARD["panels"] for one in panel["targets"]]
    for text in (RULES, "\n".join(queries_)):
        assert names_of(text) <= exported
        assert set(re.findall(r"stripewright:[a-z_]+:[a-z_]+", text)) <= recorded
    assert len(queries_) >= 12


def test_limits_are_those_of_the_program():
    assert f"ratio_to_median >= {member.MAX_RATIO_QUEUED:.0f}\n" in RULES
    assert f">= {member.MIN_DIFFERENCE_MS / 1000}\n" in RULES
    assert f"headline_published_ratio < {acceptance.LEAST_PERCENT / 100}\n" in RULES


def test_every_alert_says_what_to_do_by_a_command_that_there_is():
    alerts = re.split(r"- alert: ", RULES)[1:]
    assert len(alerts) == 12
    for alert in alerts:
        words = " ".join(alert.partition("description:")[2].split())
        ours = re.findall(r"`stripewright ([a-z -]+[a-z])", words)
        assert ours, alert
        for one in ours:
            parts = [part for part in one.split() if not part.startswith("-")]
            assert any(command.name == " ".join(parts[: command.name.count(" ") + 1])
                       for command in main.commands(parts[0])), one  # fmt: skip
