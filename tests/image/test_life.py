"""One machine's life, in order: created, measured, killed, cut off, moved.

The tests of this file go on from one another, as the boots of a machine do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from appliance.system.journal import Event
from tests.image.waiting import ENDED, MID_SECOND, MID_SUITE, wait_for_row
from tests.rig.drives import Drive, blank_drives
from tests.rig.machine import Guest, Machine
from tests.rig.ssh import Shell
from tests.rig.terminal import Terminal
from tests.rig.uml_machine import UmlMachine

SUITE = "stripewright-bench@smoke.service"
KEPT = "/mnt/scratch/kept-by-the-operator"
INTEGRITY_CHECK = """import sqlite3
database = sqlite3.connect("/var/lib/stripewright/live/history.db")
print(*database.execute("PRAGMA integrity_check").fetchone())"""
DIGEST = "0123456789abcdef" * 4
HOSTILE_SERIAL = "[@click=app.quit]X"

Keep = Callable[[str, Terminal], None]


@dataclass
class Life:
    """The machine, its present boot, and what earlier tests noted for later ones."""

    machine: Machine
    guest: Guest | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def now(self) -> Guest:
        assert self.guest is not None, "an earlier test of this file failed"
        return self.guest

    def boot(self) -> dict[str, Any]:
        self.guest = self.machine.boot()
        self.guest.wait_for_root()
        return self.guest.wait_for_outcome()


@pytest.fixture(scope="module")
def life(new_machine: Callable[..., Machine]) -> Iterator[Life]:
    living = Life(new_machine(UmlMachine, blank_drives(), time_factor=0.2))
    yield living
    if living.guest is not None:
        living.guest.root.close()
        living.guest.kill()


@pytest.fixture(scope="module")
def operator(life: Life) -> Iterator[Shell]:
    """The operator's shell in the boot that was the present one when it was first used."""
    with life.now.operator_connected() as shell:
        yield shell


def runs(guest: Guest) -> list[dict[str, Any]]:
    """The runs in history, newest first. As root: its connection stays open, which is cheap."""
    text = guest.root.run(["stripewright", "results", "--json"]).stdout
    found: list[dict[str, Any]] = json.loads(text)["runs"]
    return found


def test_blank_drives_become_one_stripe(life: Life) -> None:
    state = life.boot()
    assert (state["outcome"], state["volumes"][0]["decision"]) == ("mounted", "create"), state
    life.notes["epoch"] = state["volumes"][0]["epoch_id"]
    life.now.wait_for_ssh()
    life.now.root.sh(f"head -c 3000000 /dev/urandom > {KEPT}; sync -f {KEPT}")
    life.notes["kept"] = life.now.root.sh(f"sha256sum {KEPT}")


@pytest.mark.parametrize(
    "command",
    [
        ["systemctl", "--no-ask-password", "stop", "ssh.service"],
        ["systemctl", "--no-ask-password", "restart", SUITE],
        ["systemctl", "--no-ask-password", "start", "stripewright-assemble.service"],
        ["systemctl", "--no-ask-password", "start", "stripewright-bench@mine.toml.service"],
        ["systemctl", "--no-ask-password", "start", "stripewright-bench@smoke/../x.service"],
        ["systemctl", "--no-ask-password", "isolate", SUITE],
        ["systemctl", "--no-ask-password", "kill", SUITE],
        ["systemctl", "--no-ask-password", "set-property", SUITE, "CPUWeight=1"],
        ["systemctl", "--no-ask-password", "mask", SUITE],
        ["systemd-run", "--no-ask-password", "--unit=stripewright-bench@smoke", "id"],
        ["systemd-run", "--no-ask-password", "--unit=stripewright-bench@other", "id"],
        ["systemd-run", "--no-ask-password", f"--unit=stripewright-plan@{DIGEST}", "id"],
        ["systemd-run", "--no-ask-password", f"--unit=stripewright-apply@{DIGEST}", "id"],
        ["systemd-run", "--no-ask-password", "--unit=stripewright-initialise@x", "id"],
        ["systemd-run", "--no-ask-password", "--unit=stripewright-drift", "id"],
        ["systemd-run", "--no-ask-password", "--unit=stripewright-acceptance", "id"],
        ["systemd-run", "--no-ask-password", "--unit=stripewright-confirm", "id"],
        ["systemd-run", "--no-ask-password", f"--unit=stripewright-schedule@{DIGEST}", "id"],
        ["systemctl", "--no-ask-password", "start", "stripewright-look.service"],
        ["systemctl", "--no-ask-password", "stop", "stripewright-drift.timer"],
        ["systemctl", "--no-ask-password", "stop", f"stripewright-apply@{DIGEST}.service"],
        ["systemctl", "--no-ask-password", "kill", f"stripewright-apply@{DIGEST}.service"],
        ["systemctl", "--no-ask-password", "reload-or-restart", "stripewright-assemble.service"],
        ["systemctl", "--no-ask-password", "poweroff"],
    ],
    ids=lambda command: " ".join(command).replace(" --no-ask-password", ""),
)
def test_the_operator_may_do_nothing_else(life: Life, operator: Shell, command: list[str]) -> None:
    done = operator.run(command, check=False)
    assert done.returncode != 0, done.stdout
    state = life.now.root.run(["systemctl", "is-active", SUITE, "ssh.service"], check=False)
    assert state.stdout.split() == ["inactive", "active"]


def test_the_operator_is_not_root_by_another_way(operator: Shell) -> None:
    assert operator.sh("command -v sudo || true").strip() == ""
    assert operator.run(["cat", "/etc/shadow"], check=False).returncode != 0
    written = operator.run(["touch", "/var/lib/stripewright/x"], check=False)
    assert written.returncode != 0


def test_killed_in_mid_suite_the_run_is_aborted(life: Life, operator: Shell) -> None:
    operator.run(["systemctl", "--no-ask-password", "start", SUITE])
    wait_for_row(life.now, MID_SUITE, 600)
    life.now.root.run(["systemctl", "kill", "--signal=SIGKILL", "--kill-whom=all", SUITE])
    failed = (
        f"for _ in $(seq 120); do systemctl is-failed -q {SUITE} && exit; sleep 1; done; exit 1"
    )
    life.now.root.sh(failed)
    assert runs(life.now)[0]["state"] == "aborted"
    # What was running is gone, and the database is sound.
    assert life.now.root.run(["pgrep", "-x", "fio"], check=False).returncode == 1
    assert life.now.root.run(["python3", "-c", INTEGRITY_CHECK]).stdout.strip() == "ok"


def test_power_cut_in_mid_suite(life: Life, operator: Shell) -> None:
    operator.run(["systemctl", "--no-ask-password", "start", SUITE])
    # The run that was killed still says in its row that it goes on.
    wait_for_row(life.now, MID_SECOND, 600)
    life.notes["runs"] = len(runs(life.now))
    life.now.power_cut()

    state = life.boot()
    assert (state["outcome"], state["volumes"][0]["decision"]) == ("mounted", "assemble"), state
    assert state["volumes"][0]["epoch_id"] == life.notes["epoch"]
    after = runs(life.now)
    assert [run["state"] for run in after] == ["aborted"] * life.notes["runs"]
    damaged = life.now.root.sh("ls /var/lib/stripewright | grep -c damaged || true")
    assert damaged.strip() == "0"
    assert life.now.root.sh(f"sha256sum {KEPT}") == life.notes["kept"]


def test_the_operator_measures_from_the_tui(life: Life) -> None:
    ssh = life.now.operator.argv(["stripewright"], terminal=True)
    with Terminal(ssh, life.machine.folder) as terminal:
        terminal.wait_for("HEALTHY", "aligned", deadline_seconds=180)
        terminal.keys("2")
        terminal.wait_for("4 of", *(d.serial[:10] for d in blank_drives()), deadline_seconds=60)
        terminal.keys("1")
        terminal.keys("s")
        terminal.wait_for("Start suite smoke on scratch?", deadline_seconds=60)
        terminal.keys("Enter")
        wait_for_row(life.now, MID_SUITE, 600)
        wait_for_row(life.now, ENDED, 1200)
        terminal.wait_for("complete", "seq-read-1m", deadline_seconds=60)
        terminal.keys("r")
        terminal.wait_for("RUN ", " smoke ", "results valid", deadline_seconds=60)
    text = life.now.operator.run(["stripewright", "results", "--json"]).stdout
    newest = json.loads(text)["runs"][0]
    assert newest["state"] == "complete", newest
    assert len(newest["results"]) >= 5


def test_a_run_is_in_the_journal_with_fields(life: Life) -> None:
    # The screens name the volume, too, in the unit that they start.
    text = life.now.root.sh("journalctl --no-pager -b -o json -u 'stripewright-bench@smoke*'")
    events = [json.loads(line) for line in text.splitlines()]
    ours = {event.get("MESSAGE_ID"): event for event in events}
    for kind in (Event.RUN_STARTED, Event.RUN_RESULT, Event.RUN_FINISHED):
        fields = [name for name in ours[kind.value] if name.startswith("STRIPEWRIGHT_")]
        assert fields, kind
    catalog = life.now.root.sh(
        f"journalctl --catalog --no-pager -b MESSAGE_ID={Event.RUN_FINISHED.value}"
    )
    assert "Subject: A benchmark run is complete" in catalog  # units/catalog, compiled


def test_a_serial_with_markup_is_refused_and_shown_as_it_is(life: Life, keep_screen: Keep) -> None:
    life.now.shutdown()
    assert life.machine.carrier.unmounted_cleanly()
    life.machine.carrier.replace((Drive(HOSTILE_SERIAL), *blank_drives(3, prefix="NEW")))

    state = life.boot()
    volume = state["volumes"][0]
    assert (state["outcome"], volume["decision"]) == ("refused", "refuse"), state
    hostile = next(d for d in state["inventory"]["disks"] if d["serial"] == HOSTILE_SERIAL)
    assert not hostile["claimable"]
    assert "serial" in hostile["reason"]

    ssh = life.now.operator.argv(["stripewright", "tui"], terminal=True)
    with Terminal(ssh, life.machine.folder) as terminal:
        terminal.wait_for("REFUSED", deadline_seconds=180)
        terminal.keys("2")
        # The overview has the drives, too; what stands below the table is on this screen only.
        terminal.wait_for(HOSTILE_SERIAL[:10], deadline_seconds=180)
        terminal.keys("Down")  # from the root disk to the first drive
        terminal.wait_for(f"{HOSTILE_SERIAL}): its serial has the character", deadline_seconds=180)
        keep_screen("live-hostile-serial", terminal)


def test_other_blank_drives_are_a_new_stripe_and_a_new_epoch(life: Life) -> None:
    life.now.shutdown()
    assert life.machine.carrier.unmounted_cleanly()
    life.machine.carrier.replace(blank_drives(4, prefix="NEW"))

    state = life.boot()
    volume = state["volumes"][0]
    assert (state["outcome"], volume["decision"]) == ("mounted", "create"), state
    assert volume["epoch_id"] != life.notes["epoch"]
    journal = life.now.root.sh("journalctl --no-pager -b -o cat -u stripewright-assemble")
    assert "stop/start" in journal
    assert blank_drives()[0].serial in journal  # before
    assert blank_drives(prefix="NEW")[0].serial in journal  # after
    life.now.shutdown()
    assert life.machine.carrier.unmounted_cleanly()
