"""``make run``: from a checkout to the running appliance with four emulated drives.

With a terminal it ends in the TUI, over SSH. Without one it prints the disks, the
status, and the first suite's results with their verdicts. Either way the machine is
then shut down and looked at: everything unmounted, nothing left dirty.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from typing import Any

from tests.rig.build import build, cache_root, say
from tests.rig.buses import AMAZON_MODEL
from tests.rig.drives import blank_drives
from tests.rig.errors import RigError
from tests.rig.machine import Guest
from tests.rig.qemu import FOUR_DISK_TYPE, QemuMachine, kvm_works

CHUNK_BYTES = 256 * 1024
MEMBERS = 4
SUITE_UNIT = "stripewright-bench@smoke.service"
# What an emulated machine measures says that it works, and no more: a fifth of the time does, too.
TIME_FACTOR = 0.2
# Four gibibytes in all: the suite's files fit, and writing them stays bearable when emulated.
SUITE_DEADLINE_SECONDS = 1500


def main() -> int:
    try:
        return _run()
    except RigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the machine is gone", file=sys.stderr)
        return 130


def _run() -> int:
    image = build()
    folder = cache_root() / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    how = "KVM" if kvm_works() else "software emulation (slow: some minutes)"
    say(f"starting QEMU as {FOUR_DISK_TYPE} with four blank drives; {how}")
    watched = sys.stdin.isatty() and sys.stdout.isatty()
    scaled = None if watched or kvm_works() else TIME_FACTOR
    machine = QemuMachine(image, folder, blank_drives(MEMBERS), time_factor=scaled)
    with machine.boot() as guest:
        guest.wait_for_ssh()
        guest.wait_for_root()
        state = guest.wait_for_outcome()
        timings = _timings(guest, state)
        problems = (_with_terminal if watched else _without_terminal)(guest, state)
        say("shutting down")
        guest.shutdown()
    if guest.process.returncode != 0 or not machine.carrier.unmounted_cleanly():
        problems.append("the shutdown was not clean: something was still in use")
    _heading("summary")
    print(f"image: {image.disk_bytes / 1e6:.0f} MB, {image.disk}")
    for line in timings:
        print(line)
    print("shutdown: clean" if not problems else "\n".join(f"PROBLEM: {p}" for p in problems))
    return 1 if problems else 0


def _with_terminal(guest: Guest, state: dict[str, Any]) -> list[str]:
    say("opening the TUI as the operator, over SSH; leaving it shuts the machine down")
    subprocess.run(guest.operator.argv(["stripewright", "tui"], terminal=True), check=False)
    return _stripe_problems(state)


def _without_terminal(guest: Guest, state: dict[str, Any]) -> list[str]:
    problems = _stripe_problems(state)
    _heading("inventory (as the operator)")
    print(guest.operator.run(["stripewright", "inventory"]).stdout)
    _heading("status (as the operator)")
    print(guest.operator.run(["stripewright", "status"]).stdout)
    if problems:
        return problems
    say("the operator starts the smoke suite (a fifth of its run times when emulated)")
    guest.operator.run(["systemctl", "--no-ask-password", "start", SUITE_UNIT])
    problems += _wait_for_suite(guest)
    _heading("results (as the operator)")
    print(guest.operator.run(["stripewright", "results"]).stdout)
    document = json.loads(guest.operator.run(["stripewright", "results", "--json"]).stdout)
    runs = document["runs"]
    if not runs or runs[0]["state"] != "complete":
        problems.append("the suite did not complete")
    elif not runs[0]["results"]:
        problems.append("the suite has no results")
    return problems


def _wait_for_suite(guest: Guest) -> list[str]:
    began = shown = time.monotonic()
    while True:
        active = guest.root.run(["systemctl", "is-active", SUITE_UNIT], check=False).stdout.strip()
        now = time.monotonic()
        if active == "inactive":
            return []
        if active == "failed":
            journal = guest.root.run(["journalctl", "--no-pager", "-n", "40", "-u", SUITE_UNIT])
            return [f"{SUITE_UNIT} failed:\n{journal.stdout}"]
        if now - began > SUITE_DEADLINE_SECONDS:
            return [f"{SUITE_UNIT} was not done after {now - began:.0f} s"]
        if now - shown > 20:
            shown = now
            say(f"the suite is running ({now - began:.0f} s)")
        time.sleep(3)


def _stripe_problems(state: dict[str, Any]) -> list[str]:
    """What is not as it must be, from the boot unit's own state document."""
    if state["outcome"] != "mounted":
        return [f"the stripe is not mounted: {state['outcome']}: {state.get('message')}"]
    problems = []
    disks = [d for d in state["inventory"]["disks"] if d["kind"] == "instance-store"]
    if [d["model"] for d in disks] != [AMAZON_MODEL] * MEMBERS:
        problems.append(f"expected {MEMBERS} drives '{AMAZON_MODEL}', found {len(disks)}")
    volume = state["volumes"][0]
    if len(volume["members"]) != MEMBERS:
        problems.append(f"the stripe has {len(volume['members'])} members, not {MEMBERS}")
    if (volume["sunit_bytes"], volume["swidth_bytes"]) != (CHUNK_BYTES, CHUNK_BYTES * MEMBERS):
        problems.append("the file system is not aligned to the stripe")
    return problems


def _timings(guest: Guest, state: dict[str, Any]) -> list[str]:
    """Seconds from the kernel's start, by the guest's own clock."""
    entered = guest.root.run(
        ["systemctl", "show", "--value", "-p", "ActiveEnterTimestampMonotonic", "ssh.service"]
    ).stdout  # fmt: skip
    lines = [f"kernel start to SSH: {int(entered) / 1e6:.1f} s"]
    mounted = state.get("mounted_at_monotonic_s")
    if mounted is not None:
        lines.append(f"kernel start to stripe mounted: {mounted:.1f} s")
    return lines


def _heading(title: str) -> None:
    print(f"\n== {title} ==", flush=True)


if __name__ == "__main__":
    sys.exit(main())
