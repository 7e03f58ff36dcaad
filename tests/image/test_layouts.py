"""An operator changes layouts with plain commands: plan, digest, apply. Without root.

The tests of this file go on from one another. What the operator typed and saw is kept as
docs/transcripts/layouts.txt when STRIPEWRIGHT_KEEP_SCREENS is set.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from subprocess import CompletedProcess
from typing import Any

import pytest

from appliance.bench.live_file import decode
from tests.image.conftest import NETWORK_SERIAL
from tests.rig.build import TREE
from tests.rig.drives import GIB
from tests.rig.machine import Guest
from tests.rig.ssh import Shell

TRANSCRIPT = TREE / "docs" / "transcripts" / "layouts.txt"
VAULT = f"""
[[volume]]
name = "vault"
select = {{ serials = ["{NETWORK_SERIAL}"] }}
stripe = "single"
mount = "/mnt/vault"
"""
SWAPPED = "AWSSWAPPED0000000001"
TWO = """[[volume]]
name = "data"
select = { kind = "instance-store", count = 2 }
stripe = "lvm-stripe"
filesystem = "ext4"
mount = "/mnt/data"

[[volume]]
name = "logs"
select = { kind = "instance-store", count = 2 }
stripe = "md-raid0"
filesystem = "xfs"
mount = "/mnt/logs"
"""
DEFAULT = """[[volume]]
name = "scratch"
mount = "/mnt/scratch"
"""


@dataclass
class Session:
    """The operator's shell in one running guest, and what was said in it."""

    guest: Guest
    operator: Shell
    said: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.said.append(f"# {text}\n")

    def run(self, line: str, *, exit_code: int = 0) -> CompletedProcess[str]:
        # In one stream, as a terminal shows it.
        argv = ["sh", "-c", f"exec 2>&1\n{line}"]
        done = self.operator.run(argv, check=False, timeout_seconds=600)
        self.said.append(f"$ {line}\n{done.stdout}")
        if done.returncode:
            self.said.append(f"(exit status {done.returncode})\n")
        assert done.returncode == exit_code, (line, done.returncode, done.stdout)
        return done

    def write(self, name: str, text: str) -> None:
        self.run(f"cat > {name} <<'END'\n{text}END")

    def plan(self, options: str = "", *, exit_code: int = 0) -> str:
        """Plan as text; returns the digest."""
        said = self.run(f"stripewright plan {options}".strip(), exit_code=exit_code).stdout
        found = re.search(r"^digest: +([0-9a-f]{64})$", said, re.M)
        assert found, said
        return found.group(1)

    def apply(self, digest: str, *, exit_code: int = 0) -> str:
        return self.run(f"stripewright apply --confirm {digest}", exit_code=exit_code).stdout

    def has_nothing_to_do(self) -> None:
        text = self.operator.run(["stripewright", "plan", "--json"]).stdout
        assert json.loads(text)["decision"] == "nothing", text

    def mounts(self) -> dict[str, str]:
        """Mount point -> file system type of what is mounted below /mnt."""
        text = self.guest.root.sh("findmnt --json --list --output TARGET,FSTYPE")
        rows = json.loads(text)["filesystems"]
        return {row["target"]: row["fstype"] for row in rows if row["target"].startswith("/mnt/")}


@pytest.fixture(scope="module")
def session(striped_machine: Guest) -> Iterator[Session]:
    with striped_machine.operator_connected() as operator:
        here = Session(striped_machine, operator)
        yield here
    if os.environ.get("STRIPEWRIGHT_KEEP_SCREENS"):
        TRANSCRIPT.parent.mkdir(parents=True, exist_ok=True)
        TRANSCRIPT.write_text("\n".join(here.said))


def serials(session: Session, volume: str) -> list[str]:
    state: dict[str, Any] = session.guest.state()
    (found,) = (one for one in state["volumes"] if one["name"] == volume)
    return [one["serial"] for one in found["members"]]


def test_the_default_becomes_two_volumes(session: Session) -> None:
    session.note("The default stripe over four disks becomes two volumes.")
    assert session.mounts() == {"/mnt/scratch": "xfs"}
    session.write("two.toml", TWO)
    digest = session.plan("--layout two.toml --remove scratch")
    session.apply(digest)
    assert session.mounts() == {"/mnt/data": "ext4", "/mnt/logs": "xfs"}
    assert len(serials(session, "data")) == len(serials(session, "logs")) == 2
    lvs = session.guest.root.sh(
        "lvs --noheadings -o stripes,stripe_size --units k --nosuffix stripewright-data"
    )
    assert lvs.split() == ["2", "256.00"]
    session.run("stripewright status")


def test_planning_again_finds_nothing_to_do(session: Session) -> None:
    session.has_nothing_to_do()


def test_a_suite_runs_on_the_volume_that_is_named(session: Session) -> None:
    """What it tells meanwhile is for everybody to read, in a directory that is gone with it."""
    name = "stripewright-bench@smoke:logs"
    session.operator.sh(f"systemctl --no-ask-password start {name}.service")
    told = session.operator.sh(
        "for second in $(seq 400); do"
        f" cat /run/stripewright-bench/{name}/live.json 2>/dev/null && exit 0; sleep 1; done;"
        f" systemctl status {name}.service; exit 1",
        timeout_seconds=500,
    )
    (job,) = decode(told)
    assert job.suite == "smoke"
    assert job.percentiles_ns["99.000000"] > 0
    session.operator.sh(f"systemctl --no-ask-password stop {name}.service")
    (run, *_) = json.loads(session.operator.run(["stripewright", "results", "--json"]).stdout)[
        "runs"
    ]
    assert (run["target"], run["state"]) == ("/mnt/logs/.stripewright-bench", "aborted")
    assert session.operator.sh("ls /run/stripewright-bench") == ""


def test_an_enlarged_ebs_volume_grows(session: Session) -> None:
    session.note("An EBS volume takes part once it is named, and grows when it was enlarged.")
    session.write("three.toml", TWO + VAULT + '[scan]\ntime = "100ms"\n')
    # It outlives the machine, so it is read in full, as far as there is time, or named.
    session.plan("--layout three.toml", exit_code=3)
    assert "so it is read in full" in session.said[-2], session.said[-2]
    session.apply(session.plan(f"--layout three.toml --erase {NETWORK_SERIAL}"))
    assert session.mounts()["/mnt/vault"] == "xfs"
    before = int(session.guest.root.sh("stat -f -c '%b' /mnt/vault"))
    session.guest.root.sh(session.guest.machine.carrier.enlarge_script(4, 2 * GIB))
    session.apply(session.plan())
    after = int(session.guest.root.sh("stat -f -c '%b' /mnt/vault"))
    assert after > 1.8 * before, (before, after)
    session.has_nothing_to_do()


def test_a_volume_is_removed_and_the_others_stay(session: Session) -> None:
    session.note("A volume is removed; the others stay as they are.")
    session.apply(session.plan("--remove logs"))
    assert session.mounts() == {"/mnt/data": "ext4", "/mnt/vault": "xfs"}
    session.run("stripewright inventory")


def test_a_swapped_disk_makes_the_plan_stale(session: Session) -> None:
    session.note("A plan is confirmed after a disk was swapped: it is stale.")
    session.write("four.toml", TWO + VAULT)
    digest = session.plan("--layout four.toml")
    held = set(serials(session, "data"))
    number = next(
        at for at, drive in enumerate(session.guest.machine.carrier.drives[:4])
        if drive.serial not in held
    )  # fmt: skip
    session.guest.root.sh(session.guest.machine.carrier.swap_script(number, SWAPPED))
    said = session.apply(digest, exit_code=4)
    assert "nothing was written" in said
    assert session.mounts() == {"/mnt/data": "ext4", "/mnt/vault": "xfs"}


def test_a_disk_that_a_program_writes_to_is_not_planned_with(session: Session) -> None:
    """The plan's unit sees the processes of others, and the kernel lets both open the disk."""
    session.note("Root's program has a free disk open for writing.")
    seen = json.loads(session.operator.sh("stripewright inventory --json"))["disks"]
    (path,) = [one["path"] for one in seen if one["serial"] == SWAPPED]
    unit = "writer-of-the-test"
    session.guest.root.run(
        ["systemd-run", "--quiet", "--unit", unit, "sh", "-c", f"exec 3<>{path}; exec sleep 900"]
    )
    try:
        session.plan("--layout four.toml", exit_code=3)
        assert re.search(r"is held by process [0-9]+ \(sleep\)", session.said[-2]), session.said[-2]
    finally:
        session.guest.root.run(["systemctl", "stop", unit])


def test_back_to_the_default(session: Session) -> None:
    session.note("Back to one stripe over all instance storage.")
    session.write("default.toml", DEFAULT)
    session.apply(session.plan("--layout default.toml --remove data --remove vault"))
    assert session.mounts() == {"/mnt/scratch": "xfs"}
    assert len(serials(session, "scratch")) == 4
    session.run("stripewright status")


def test_a_mistake_in_a_layout_names_the_key(session: Session) -> None:
    session.note("A mistake in a layout: the key and what is allowed; nothing is written.")
    session.write("bad.toml", DEFAULT + 'chunk = "100KiB"\n')
    said = session.run("stripewright plan --layout bad.toml", exit_code=2).stdout
    assert "chunk" in said
    assert "power of two" in said
    session.run("stripewright apply --confirm " + "0" * 64, exit_code=4)
