"""An operator who locks all that he can open: plans and suites go on, and are on record."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.image.conftest import NETWORK_SERIAL
from tests.rig.machine import Guest
from tests.rig.ssh import Shell

LAYOUT = f"""[[volume]]
name = "scratch"
mount = "/mnt/scratch"

[[volume]]
name = "vault"
select = {{ serials = ["{NETWORK_SERIAL}"] }}
stripe = "single"
mount = "/mnt/vault"

[scan]
time = "1min"
"""
SUITE = """summary = "A short job"
file_size = "16MiB"

[[job]]
name = "rand-read-4k"
rw = "randread"
block_size = "4KiB"
iodepth = 4
jobs = 1
runtime_seconds = 10
"""
# Every lock there is, on every file and directory of ours that can be opened.
LOCKER = """import fcntl, os, signal, sqlite3, sys
kept = []
for top in ("/var/lib", "/run", "/var/spool", "/etc", "/mnt"):
    for base, folders, names in os.walk(top):
        if top != "/mnt" and "stripewright" not in base:
            continue
        for name in [*names, "."]:
            path = os.path.join(base, name)
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if name != ".":
                    print(path, flush=True)
                    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
                    kept.append(connection)
                    connection.execute("BEGIN")
                    connection.execute("SELECT * FROM sqlite_master").fetchone()
            except (OSError, sqlite3.Error):
                pass
            try:
                fcntl.lockf(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except (OSError, NameError):
                pass
print("held", flush=True)
signal.pause()
"""


@pytest.fixture(scope="module")
def guest(striped_machine: Guest) -> Guest:
    suites = "/usr/lib/stripewright/appliance/bench/suites"
    striped_machine.root.sh(f"cat > {suites}/brief.toml <<'END'\n{SUITE}END")
    return striped_machine


@pytest.fixture
def locked(operator: Shell) -> Iterator[list[str]]:
    """Locks are held; the files that could be opened."""
    operator.sh(f"cat > locker.py <<'END'\n{LOCKER}END")
    pid = operator.sh("python3 locker.py > held 2>&1 < /dev/null & echo $!").strip()
    deadline = time.monotonic() + 120
    while "held" not in (said := operator.sh("cat held").splitlines()):
        assert time.monotonic() < deadline, said
        time.sleep(1)
    yield said
    operator.sh(f"kill {pid}")


def exported(operator: Shell) -> dict[str, Any]:
    """The history as an operator reads it while the locks are held."""
    found: dict[str, Any] = json.loads(operator.sh("stripewright export json"))
    return found


def test_a_plan_and_a_suite_go_on_and_are_on_record(
    guest: Guest, operator: Shell, locked: list[str]
) -> None:
    ours = [path for path in locked if path.startswith("/var/lib/stripewright/")]
    assert ours == ["/var/lib/stripewright/history.db"], locked
    assert not any("lock" in path.rpartition("/")[2] for path in locked[:-1]), locked
    operator.sh(f"cat > wanted.toml <<'END'\n{LAYOUT}END")
    said = operator.sh("stripewright plan --layout wanted.toml")
    (digest,) = re.findall(r"^digest: +([0-9a-f]{64})$", said, re.M)
    operator.sh(f"stripewright apply --confirm {digest}", timeout_seconds=600)
    steps = [row for row in exported(operator)["audit"] if row["plan_digest"] == digest]
    states = [(row["step_index"], row["state"]) for row in steps]
    last = max(index for index, _ in states)
    whole = [(index, state) for index in range(last + 1) for state in ("started", "done")]
    assert states == whole
    assert last > 0

    operator.sh("systemctl start stripewright-bench@brief.service")
    deadline = time.monotonic() + 600
    while (run := json.loads(operator.sh("stripewright results --json"))["runs"][:1]) == [] or (
        run[0]["state"] == "running"
    ):
        assert time.monotonic() < deadline, run
        time.sleep(5)
    assert run[0]["state"] == "complete", run
    unwritten = "journalctl -b -o cat MESSAGE_ID=296bad09ee4c5f0187a9ed6c485d678e"
    assert guest.root.sh(unwritten) == ""
    assert guest.root.sh("cat /var/lib/stripewright-audit/steps.jsonl", check=False) == ""


def test_the_file_that_is_written_cannot_be_opened(guest: Guest, operator: Shell) -> None:
    live = "/var/lib/stripewright/live"
    audit = "/var/lib/stripewright-audit"
    for what in (f"ls {live}", f"cat {live}/history.db", f"flock {live} true", f"ls {audit}"):
        assert operator.run(["sh", "-c", what], check=False).returncode != 0, what
    assert guest.root.sh(f"stat -c '%U %a' {live}").split() == ["stripewright", "700"]
