"""Drift made up for the screens: some findings with their evidence, clearly an example."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from appliance.client.finding_actions import AskedConfirm
from appliance.drift.detection.normal import learn
from appliance.drift.series.trends import Stretch
from appliance.errors import OperatorError
from appliance.history.drift_queries import TransitionRecord
from appliance.model.confirmations import Confirmation, Repeated, Verdict
from appliance.model.findings import DriftSeverity, DriftState, Fact, FindingRecord
from appliance.model.runs import EpochRecord
from appliance.model.slots import Slot
from tui.sources.drift import Evidence, Findings, Repeat

WALL = 1_790_000_000.0  # as tests.tui.fakes has it
SIX_HOURS = 21_600.0
TARGET = "/mnt/scratch/.stripewright-bench"
CHANGE_RUN, ALARM_RUN = 61, 63


def slots() -> tuple[Slot, ...]:
    """Runs 1 to 70, every six hours; from run 61 on 8 % slower."""
    made = []
    for run in range(1, 71):
        level = 412_000.0 if run < CHANGE_RUN else 379_000.0
        noise = 1 + 0.01 * ((run * 7919) % 13 - 6) / 6
        made.append(Slot(run, WALL - (70 - run) * SIX_HOURS, level * noise, valid=True))
    return tuple(made)


SLOWER = FindingRecord(
    id=12,
    fact=Fact(
        code="PERF-SLOWER",
        subject="smoke/rand-read-4k read",
        summary="smoke/rand-read-4k read: -8.0% since run 61, now 379.0k IOPS; normal is 412.0k",
        identity="run 63",
        severity=DriftSeverity.WARNING,
        expected="403.7k to 420.2k IOPS",
        observed="379.0k IOPS",
        evidence={
            "suite": "smoke",
            "target": TARGET,
            "job": "rand-read-4k",
            "direction": "read",
            "epoch": 3,
            "baseline_iops": 412_000.0,
            "baseline_low_iops": 403_700.0,
            "baseline_high_iops": 420_200.0,
            "baseline_slots": 60,
            "level_iops": 379_000.0,
            "change_run": CHANGE_RUN,
            "change_at": "2026-09-19 08:13:20Z",
            "alarm_run": ALARM_RUN,
            "cause": "member nvme3n1 waits longer than the others",
        },
        next_step="see whether the disk warns, too (stripewright drift list)",
        state=DriftState.SUSPECT,
    ),
    state=DriftState.SUSPECT,
    epoch_id=3,
    opened_at=WALL - 6 * SIX_HOURS,
    seen_at=WALL - 600,
)
MISSING = FindingRecord(
    id=14,
    fact=Fact(
        code="MOUNT-MISSING",
        subject="logs",
        summary="logs: /mnt/logs is not mounted",
        identity="declared -> not mounted",
        severity=DriftSeverity.CRITICAL,
        expected="mounted at /mnt/logs",
        observed="not mounted",
        volume="logs",
        next_step="mount it: systemctl start mnt-logs.mount",
    ),
    state=DriftState.OPEN,
    epoch_id=3,
    opened_at=WALL - 900,
    seen_at=WALL - 120,
)
KERNEL = replace(
    MISSING,
    id=9,
    fact=Fact(
        code="ENV-KERNEL",
        subject="machine",
        summary="another kernel: 6.12.0 was 6.11.5",
        identity="6.11.5 -> 6.12.0",
        severity=DriftSeverity.NOTICE,
        expected="6.11.5",
        observed="6.12.0",
    ),
    state=DriftState.ACKNOWLEDGED,
    opened_at=WALL - 90_000,
    acknowledged_at=WALL - 80_000,
    acknowledged_by="operator",
    note="planned upgrade",
)
CLOSED = replace(
    KERNEL,
    id=4,
    fact=replace(KERNEL.fact, code="ENV-FIO", summary="another fio: 3.39 was 3.36"),
    state=DriftState.CLOSED,
    opened_at=WALL - 400_000,
    closed_at=WALL - 300_000,
)
MODE = replace(
    SLOWER,
    id=15,
    fact=replace(
        SLOWER.fact,
        code="PERF-LATENCY-MODE",
        summary="smoke/rand-read-4k read: 2.1% of the I/Os take about 9.00 ms",
        evidence={
            **{key: SLOWER.fact.evidence[key] for key in ("suite", "target", "job", "direction")},
            "epoch": 3,
            "cut_ns": 4_000_000,
            "mode_ns": 9_000_000,
            "change_run": CHANGE_RUN,
            "change_at": "2026-09-19 08:13:20Z",
            "last_run": 70,
        },
    ),
)
RECORDS = (CLOSED, KERNEL, SLOWER, MISSING)
SAID = Confirmation(
    code="PERF-SLOWER",
    subject=SLOWER.fact.subject,
    identity="run 63",
    target=TARGET,
    change_run=CHANGE_RUN,
    run_id=64,
    at=WALL - 5 * SIX_HOURS,
    verdict=Verdict.UNCLEAR,
    words="3 of 5 repeats are nearer to the changed level (-8.0%) than to the normal one",
    repeats=(379_100.0, 408_400.0, 380_200.0, 405_900.0, 379_500.0),
)
MOVES = (
    TransitionRecord(
        1, 12, SLOWER.opened_at, "opened", DriftState.SUSPECT, DriftSeverity.WARNING, "", ""
    ),
)
OF_SLOWER = Evidence(
    MOVES,
    (SAID,),
    Stretch(
        EpochRecord(3, WALL - 86_400 * 20, {}, {}),
        slots(),
        learn([(at, slot.value) for at, slot in enumerate(slots()[:60])]),
        slots()[0].started_at,
    ),
)
REPEATS = (Repeat(SLOWER.fact.subject, "rand-read-4k", "randread", TARGET, 160.0),)
FINDINGS = Findings(
    RECORDS, "2 of 12 series are not judged yet: a baseline needs 12 valid results", REPEATS
)


@dataclass
class FakeDrift:
    """Answers with what it is given; notes what was asked, and fails with ``problem`` if set.

    ``ends`` are the answers to :meth:`confirmed`, one after the other.
    """

    now: Findings = field(default_factory=lambda: FINDINGS)
    known: Mapping[int, Evidence] = field(default_factory=lambda: {12: OF_SLOWER})
    problem: OperatorError | None = None
    ends: list[Repeated | None] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)

    def findings(self) -> Findings:
        self._note("findings")
        return self.now

    def evidence(self, record: FindingRecord) -> Evidence:
        return self.known.get(record.id, Evidence())

    def acknowledge(self, finding_id: int, note: str) -> FindingRecord:
        self._note(f"acknowledge {finding_id}: {note}")
        return self._change(finding_id, DriftState.ACKNOWLEDGED)

    def approve(self, finding_id: int, note: str) -> FindingRecord:
        self._note(f"approve {finding_id}: {note}")
        return self._change(finding_id, DriftState.CLOSED)

    def look(self) -> None:
        self._note("look")

    def confirm(self) -> AskedConfirm:
        self._note("confirm")
        return AskedConfirm(None, 0)  # type: ignore[arg-type]

    def confirmed(self, asked: AskedConfirm) -> Repeated | None:
        return self.ends.pop(0) if self.ends else None

    def stop_confirming(self) -> None:
        self._note("stop")

    def _change(self, finding_id: int, state: DriftState) -> FindingRecord:
        (changed,) = [replace(one, state=state) for one in self.now.records if one.id == finding_id]
        others = tuple(one for one in self.now.records if one.id != finding_id)
        self.now = replace(self.now, records=(*others, changed))
        return changed

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if self.problem is not None and call != "findings":
            raise self.problem
