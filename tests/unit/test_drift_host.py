"""What stops the appliance itself is said: with a history and without one."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from appliance import paths
from appliance.cli import doctor, main
from appliance.client.machine_status import read_status
from appliance.drift import check_summary, collect
from appliance.drift.looks import hostlook, privileged_scan
from appliance.drift.looks.hostlook import Ended, Host, Room, Sources
from appliance.drift.rules import host_rules
from appliance.drift.series import missing_runs
from appliance.errors import EXIT_DRIFT, EXIT_FAILED, OperatorError
from appliance.history.store import History
from appliance.model.findings import DriftSeverity
from appliance.model.runs import RunState
from appliance.system import liveness, services
from appliance.system.kernel import Kernel
from tests.unit import spans
from tests.unit.drift_checks import Machine
from tests.unit.drift_machine import BOOT, codes, only
from tests.unit.histories import FINGERPRINT, begin
from tests.unit.test_drift_next_steps import for_an_operator

GIB = 1 << 30
YEARS = 10 * 365.25 * 86_400
OLD_BOOT = "0d0c0b0a-1111-4222-8333-444455556666"
DISK = "22 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 {}"
VAR = "24 22 259:3 / /var rw,relatime shared:1 - ext4 /dev/nvme0n1p3 rw"
RUN = "23 22 0:23 / /run {} shared:2 - tmpfs tmpfs rw,size=404360k"
OOPS = """Panic#2 Part1
<6>[  160.000000] all is well
<1>[  170.100000][ T812] BUG: kernel NULL pointer dereference, address: 0000000000000000
<0>[  170.200000][ T812] Kernel panic - not syncing: sysrq triggered crash
"""


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    """An appliance with room, a clock that is right, and a last boot that was shut down."""
    boot = tmp_path / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text(BOOT + "\n")
    (tmp_path / "stamps").mkdir()
    made = Sources(
        kernel=Kernel(proc_root=tmp_path / "proc"),
        stamps=tmp_path / "stamps",
        ended=tmp_path / "ended",
        seen=tmp_path / "seen.json",
    )
    mounts(made)
    return made


def mounts(sources: Sources, disk: str = "rw", run: str = "rw") -> None:
    folder = sources.kernel.proc_root / "1"
    folder.mkdir(exist_ok=True)
    (folder / "mountinfo").write_text(f"{DISK.format(disk)}\n{VAR}\n{RUN.format(run)}\n")


def room(
    monkeypatch: pytest.MonkeyPatch, path: str, *, free: int = GIB, inodes: int = 100_000
) -> None:
    def statvfs(asked: str) -> SimpleNamespace:
        here = asked == path
        return SimpleNamespace(
            f_bavail=(free if here else GIB) // 4096,
            f_frsize=4096,
            f_favail=inodes if here else 100_000,
            f_files=200_000,
        )

    monkeypatch.setattr(os, "statvfs", statvfs)


# --------------------------------------------------------------------------------- the room


def test_a_whole_appliance_has_nothing_to_say(
    sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    room(monkeypatch, "/")
    assert host_rules.judge(hostlook.look(sources)) == ()


@pytest.mark.parametrize(
    ("path", "left", "severity"),
    [
        ("/", {"free": 0}, DriftSeverity.CRITICAL),
        ("/", {"inodes": 0}, DriftSeverity.CRITICAL),
        ("/", {"free": 63 << 20}, DriftSeverity.WARNING),
        ("/", {"inodes": 1000}, DriftSeverity.WARNING),
        ("/var", {"free": 0}, DriftSeverity.CRITICAL),
        ("/run", {"free": 0}, DriftSeverity.CRITICAL),
        ("/run", {"inodes": 7}, DriftSeverity.CRITICAL),
        ("/run", {"free": 1 << 20}, DriftSeverity.WARNING),
    ],
)
def test_what_is_full_is_said(sources, monkeypatch, path, left, severity):
    room(monkeypatch, path, **left)
    code = "HOST-RUN" if path == "/run" else "HOST-DISK-FULL"
    found = only(host_rules.judge(hostlook.look(sources)), code)
    assert f" {path} | sort" in found.next_step
    assert (found.subject, found.severity) == (path, severity)
    for_an_operator(found.next_step)


def test_how_little_is_left_makes_no_other_finding() -> None:
    facts = [
        only(
            host_rules.judge(Host(0.0, rooms=(Room("/", free, 100_000, False),), set_seconds=0)),
            code,
        )
        for free, code in ((0, "HOST-DISK-FULL"), (4096, "HOST-DISK-FULL"))
    ]
    assert facts[0].identity == facts[1].identity
    assert facts[0].observed != facts[1].observed


def test_a_file_system_that_counts_no_inodes_is_not_out_of_them(
    sources: Sources, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(f_bavail=GIB, f_frsize=4096, f_favail=0, f_files=0)
    monkeypatch.setattr(os, "statvfs", lambda _: usage)
    assert host_rules.judge(hostlook.look(sources)) == ()


@pytest.mark.parametrize(
    ("options", "code", "path"),
    [
        ({"disk": "ro"}, "HOST-READ-ONLY", "/"),
        ({"disk": "rw,emergency_ro"}, "HOST-READ-ONLY", "/"),
        ({"run": "ro,nosuid"}, "HOST-RUN", "/run"),
    ],
)
def test_what_is_read_only_is_said(sources, monkeypatch, options, code, path):
    room(monkeypatch, "/")
    mounts(sources, **options)
    found = only(host_rules.judge(hostlook.look(sources)), code)
    assert (found.subject, found.severity) == (path, DriftSeverity.CRITICAL)
    for_an_operator(found.next_step)


# -------------------------------------------------------------------------------- the clock


def seen(sources: Sources, **what: object) -> None:
    sources.seen.write_text(json.dumps({"boot_id": BOOT, "host": what}, default=dataclasses.asdict))


def test_a_clock_that_was_set_is_said_until_it_is_set_back(sources: Sources) -> None:
    sources = dataclasses.replace(sources, places=())
    seen(sources, set_seconds=YEARS)
    found = only(host_rules.judge(hostlook.look(sources)), "HOST-CLOCK")
    assert (found.subject, found.observed) == ("clock", "10 years ahead")
    assert "set forward by 10 years" in found.summary
    seen(sources, set_seconds=-YEARS)
    assert (
        only(host_rules.judge(hostlook.look(sources)), "HOST-CLOCK").observed == "10 years behind"
    )
    seen(sources, set_seconds=-59.0)
    assert host_rules.judge(hostlook.look(sources)) == ()


def test_without_roots_look_the_clock_is_not_judged(sources: Sources) -> None:
    assert host_rules.blind(hostlook.look(sources)) == {("HOST-CLOCK", "clock")}
    seen(sources, set_seconds=0.0)
    assert host_rules.blind(hostlook.look(sources)) == frozenset()


@pytest.mark.parametrize("nonsense", ["", "[]", "{}", '{"boot_id": 7}', '{"boot_id": "x"}'])
def test_nonsense_of_roots_look_is_no_look(sources: Sources, nonsense: str) -> None:
    sources.seen.write_text(nonsense)
    assert hostlook.look(sources).set_seconds is None
    sources.seen.write_text(json.dumps({"boot_id": BOOT, "host": {"set_seconds": "x"}}))
    assert hostlook.look(sources).set_seconds is None


def test_root_compares_the_clock_with_its_first_look_of_the_boot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = tmp_path / "seen.json"

    def set_seconds(up_since: float, *, boot: str = BOOT, host: object = None) -> float | None:
        monkeypatch.setattr(liveness, "up_since", lambda _: up_since)
        if host is not None:
            kept.write_text(json.dumps({"boot_id": BOOT, "host": host}))
        found = privileged_scan._host(kept, boot)
        kept.write_text(json.dumps({"boot_id": boot, "host": dataclasses.asdict(found)}))
        return found.set_seconds

    assert set_seconds(1000.0) == 0.0
    assert set_seconds(1000.0 + YEARS) == YEARS
    assert set_seconds(1000.0 + YEARS) == YEARS
    assert set_seconds(1000.0 + YEARS, boot="another") == 0.0
    assert set_seconds(1000.0, host=["x"]) == 0.0


def stamp(sources: Sources, timer: str, at: float) -> Path:
    file = sources.stamps / f"stamp-{timer}"
    file.touch()
    os.utime(file, (at, at))
    return file


def test_our_timers_that_fired_in_the_future_are_named(sources: Sources) -> None:
    sources = dataclasses.replace(sources, places=())
    stamp(sources, "stripewright-bench@smoke.timer", time.time() + YEARS)
    stamp(sources, "stripewright-bench@full.timer", time.time() - 60)
    stamp(sources, "fstrim.timer", time.time() + YEARS)
    found = only(host_rules.judge(hostlook.look(sources)), "HOST-CLOCK")
    assert found.subject == "timers"
    assert found.evidence["timers"] == "stripewright-bench@smoke.timer"
    for_an_operator(found.next_step)


def test_timers_are_rewound(
    sources: Sources,
    monkeypatch: pytest.MonkeyPatch,
    journalled: list[tuple[str, str]],
) -> None:
    restarted: list[str] = []
    monkeypatch.setattr(paths, "TIMER_STAMPS", sources.stamps)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(services, "restart_if_active", restarted.append)
    ours = stamp(sources, "stripewright-bench@smoke.timer", time.time() + YEARS)
    past = stamp(sources, "stripewright-bench@full.timer", 1_000_000_000)
    theirs = stamp(sources, "fstrim.timer", 5_000_000_000)
    link = sources.stamps / "stamp-stripewright-bench@link.timer"
    link.symlink_to(theirs)
    os.utime(link, (5_000_000_000, 5_000_000_000), follow_symlinks=False)
    assert main.main(["rewind-timers"]) == 0
    assert abs(ours.stat().st_mtime - time.time()) < 30
    assert ours.stat().st_mtime < time.time()
    assert (past.stat().st_mtime, theirs.stat().st_mtime) == (1_000_000_000, 5_000_000_000)
    assert restarted == ["stripewright-bench@link.timer", "stripewright-bench@smoke.timer"]
    assert [name for name, _ in journalled] == ["TIMERS_REWOUND"] * 2
    assert main.main(["rewind-timers"]) == 0
    assert len(journalled) == 2


def test_a_timer_that_cannot_be_rewound_is_said(
    sources: Sources, monkeypatch: pytest.MonkeyPatch, journalled: list[tuple[str, str]]
) -> None:
    def fail(_: str) -> None:
        raise OperatorError("systemd does not answer", "")

    monkeypatch.setattr(paths, "TIMER_STAMPS", sources.stamps)
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(services, "restart_if_active", fail)
    stamp(sources, "stripewright-bench@smoke.timer", time.time() + YEARS)
    assert main.main(["rewind-timers"]) == EXIT_FAILED
    assert "systemd does not answer" in journalled[0][1]


def test_runs_that_are_dated_in_the_future_are_a_notice(db: Path) -> None:
    with History.open_writable(db) as history:
        run_id = begin(history)
        history.finish_run(run_id, RunState.COMPLETE)
        begin(history)
        with history._writer.transaction():
            history._writer.execute("UPDATE run SET started_at = ? WHERE id = ?", 4e9, run_id)
    with collect.queries.open_readonly(db) as reader:
        assert reader.runs_after(time.time() + 60) == (1, 4e9)
        assert reader.runs_after(5e9) == (0, 0.0)
    found = only(host_rules.judge(Host(0.0, set_seconds=0.0), ahead=(1, 4e9)), "HOST-CLOCK")
    assert (found.subject, found.severity) == ("history", DriftSeverity.NOTICE)
    for_an_operator(found.next_step)


def test_a_run_of_the_future_does_not_hide_that_runs_are_missing() -> None:
    slots = spans.series(spans.noise(12))
    late = slots[-1]._replace(run_id=13, started_at=spans.BEGAN + YEARS)
    span = spans.span({spans.KEY: (*slots, late)})
    now = spans.BEGAN + 40 * spans.INTERVAL
    facts = missing_runs.judge(span, {}, now=now, up_since=spans.BEGAN, gaps={})
    assert codes(facts) == ["RUNS-MISSING"]


def test_a_check_of_the_future_is_no_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    now = time.time()
    monkeypatch.setattr(check_summary, "load", lambda _: check_summary.Memory(at=now + YEARS))
    assert doctor._last_check(now=now).verdict is doctor.Verdict.WARN
    assert check_summary._overdue(now + YEARS, now, now - 7200) == "not checked since the boot"


# ------------------------------------------------------------------------------ the last boot


def ended(sources: Sources, *records: str, boot: str = BOOT) -> None:
    sources.ended.write_text("\n".join([f"{boot} {OLD_BOOT} 1700000000", *records]) + "\n")


def record(folder: Path, name: str, text: str, file: str = "dmesg.txt") -> None:
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / file).write_text(text)


def test_a_boot_without_a_shutdown_is_said_and_why_is_unknown(sources: Sources) -> None:
    sources = dataclasses.replace(sources, places=())
    ended(sources)
    found = only(host_rules.judge(hostlook.look(sources)), "HOST-CRASHED")
    assert "unknown, no record was kept" in found.summary
    assert OLD_BOOT in found.identity
    assert found.next_step.endswith(f"journalctl -e -b {OLD_BOOT}")
    ended(sources, boot=OLD_BOOT)
    assert host_rules.judge(hostlook.look(sources)) == (), "that was said at another boot"


@pytest.mark.parametrize("part", ["", "001"], ids=["erst", "efi"])
def test_a_panic_is_said_with_its_words(sources: Sources, tmp_path: Path, part: str) -> None:
    """systemd-pstore sorts what comes from EFI variables by time and count."""
    sources = dataclasses.replace(sources, places=())
    record(tmp_path / "pstore", "7638", "<6>[   1.0] fine\n")
    record(tmp_path / "pstore", f"7639/{part}", OOPS)
    ended(sources, "7638", "7639")
    without = only(host_rules.judge(hostlook.look(sources)), "HOST-CRASHED")
    seen(sources, last_boot=hostlook.last_boot(sources.ended, tmp_path / "pstore", BOOT))
    found = only(host_rules.judge(hostlook.look(sources)), "HOST-CRASHED")
    assert (
        "kernel panic after 2 min 50 s: sysrq triggered crash"
        " (first: BUG: kernel NULL pointer dereference"
    ) in found.summary
    assert found.identity == without.identity
    assert f"as root: find {tmp_path}/pstore/7639 -name dmesg.txt" in found.next_step
    for_an_operator(found.next_step)


def test_hostile_words_of_a_record_are_bounded_and_printable(tmp_path: Path) -> None:
    trouble = f"<1>[1.5] BUG: \x1b]0;x\x07{'A' * 5000}"
    record(tmp_path, "r", f"{trouble}\n<0>[1.6] Kernel panic - not syncing: \u202e")
    words = hostlook.read_words(tmp_path / "r")
    assert words.trouble.isprintable()
    assert words.panic.isprintable()
    assert len(words.trouble) <= 160
    (tmp_path / "r" / "link.txt").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "r" / "pipe.txt")
    record(tmp_path, "r", "\0" * 100_000 + "[" * 100_000, file="a.txt")
    assert hostlook.read_words(tmp_path / "r") == words


@pytest.mark.parametrize(
    "mark",
    [
        "",
        "\n",
        BOOT,
        f"{BOOT} ../../etc x\n../../etc/shadow\n.hidden\na/b\n",
        f"{BOOT} \x1b[2J 1e9",
    ],
)
def test_nonsense_in_the_mark_is_left_out(tmp_path: Path, mark: str) -> None:
    (tmp_path / "ended").write_text(mark)
    found = hostlook.read_mark(tmp_path / "ended", BOOT)
    assert found in (None, (Ended("", 0.0), ()))
    assert hostlook.last_boot(tmp_path / "ended", tmp_path, BOOT) is None
    assert hostlook.read_mark(tmp_path / "ended", "") is None


# ------------------------------------------------------------------------- the commands


def full(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Host(0.0, rooms=(Room("/", 0, 100_000, False),), set_seconds=0.0)
    monkeypatch.setattr(hostlook, "look", lambda: made)


def test_a_full_disk_is_a_finding_while_the_boot_unit_is_at_work(
    drift, watched: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.has_run()
    watched.blind = (("*", ""),)
    full(monkeypatch)
    status, document = drift("check")
    assert status == EXIT_DRIFT
    assert [one["code"] for one in document["findings"]] == ["HOST-DISK-FULL"]
    assert document["looked_at"]["host"] == {"judged": True, "why": ""}
    assert document["looked_at"]["layout"]["judged"] is False


def test_a_full_disk_is_said_where_nothing_can_be_kept(
    drift, watched: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.has_run()
    full(monkeypatch)

    def no_room(*_: object, **__: object) -> History:
        raise OperatorError("cannot write history: database or disk is full", "make room")

    monkeypatch.setattr(History, "open_writable", no_room)
    monkeypatch.setattr(check_summary.files, "replace_json", no_write)
    for _ in range(2):
        status, document = drift("check")
        assert status == EXIT_DRIFT
        assert [one["id"] for one in document["findings"]] == [None]
        assert any("nothing was kept" in note for note in document["notes"])
    assert len(watched.told) == 2, "who cannot remember tells again"
    assert "HOST-DISK-FULL" in str(watched.told[0]["line"])


def no_write(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_of_a_copied_history_the_host_is_not_judged(
    drift, watched: Machine, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full(monkeypatch)
    copy = tmp_path / "copy.db"
    with History.open_writable(copy) as history:
        history.ensure_epoch(FINGERPRINT)
    status, document = drift("check", db=copy)
    assert status == 0
    assert document["looked_at"]["host"]["judged"] is False


def test_status_and_doctor_say_it_without_a_history(
    watched: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    full(monkeypatch)
    watched.state.write_text("{}")
    read = read_status(state_file=watched.state, db=watched.db, next_run=lambda: None)
    assert codes(read.host) == ["HOST-DISK-FULL"]
    monkeypatch.setattr("appliance.client.machine_status.read_status", lambda **_: read)
    assert main.main(["status", "--db", str(watched.db)]) == 0
    said = capsys.readouterr().out
    assert "! HOST-DISK-FULL: / has 0 B left" in said
    assert "next: find what fills it" in said
    assert main.main(["status", "--json", "--db", str(watched.db)]) == 0
    assert json.loads(capsys.readouterr().out)["host"][0]["code"] == "HOST-DISK-FULL"
    assert [(one.name, one.verdict) for one in doctor._host()] == [
        ("HOST-DISK-FULL", doctor.Verdict.FAIL)
    ]
