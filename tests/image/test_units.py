"""How much of the machine each of our units could reach, as systemd itself judges it.

And what must still work from where it stands now: the units have mounts, a network and a device
policy of their own.
"""

from __future__ import annotations

import json

import pytest

from tests.rig.build import TREE
from tests.rig.machine import Guest

HIGHEST = 2.0
# What these two need beyond that, and what each costs: docs/decisions/0045.
ABOVE = {"stripewright-assemble.service": 2.2, "stripewright-apply@.service": 2.3}
UNITS = sorted(path.name for path in (TREE / "units/systemd").glob("stripewright-*.service"))
SCRATCH = "mnt-scratch.mount"
METRICS = "stripewright-metrics.socket"
GET = (
    "import sys, urllib.request, urllib.error\n"
    "try: got = urllib.request.urlopen('http://127.0.0.1:10090' + sys.argv[1], timeout=30)\n"
    "except urllib.error.HTTPError as error: print(error.code)\n"
    "else: print(got.status); print(got.read().decode(), end='')\n"
)
TUNED = """[[volume]]
name = "scratch"
mount = "/mnt/scratch"

[tuning]
scheduler = "none"
rebuild_min = "50MiB/s"
"""


@pytest.fixture(scope="module")
def guest(striped_machine: Guest) -> Guest:
    root = striped_machine.root
    root.sh(f"cat > /etc/stripewright/layout.toml <<'END'\n{TUNED}END")
    root.sh("systemctl restart stripewright-assemble", timeout_seconds=300)
    return striped_machine


def test_no_unit_of_ours_is_exposed_by_more_than_it_needs(guest: Guest) -> None:
    names = [name.replace("@.", "@x.") for name in UNITS]
    # One call a unit: several at once are a table of all.
    script = "for unit in {}; do systemd-analyze security --no-pager $unit | tail -n 1; done"
    said = guest.root.sh(script.format(" ".join(names)), timeout_seconds=600)
    levels = {}
    for line in said.splitlines():
        if "Overall exposure level for" in line:
            unit, _, rest = line.partition(" for ")[2].partition(": ")
            levels[unit.replace("@x.", "@.")] = float(rest.split()[0])
    assert set(levels) == set(UNITS)
    above = {unit: level for unit, level in levels.items() if level > ABOVE.get(unit, HIGHEST)}
    assert not above, levels


def test_what_the_boot_unit_had_mounted_is_the_machines(guest: Guest) -> None:
    own = guest.root.sh(f"systemctl show --property=FragmentPath,ActiveState {SCRATCH}")
    assert "FragmentPath=/etc/systemd/system/mnt-scratch.mount" in own
    assert "ActiveState=active" in own
    said = guest.root.sh("journalctl -b -o cat --no-pager -u mnt-scratch.mount")
    # systemd did it, and did not only find it in the kernel's table.
    assert f"Mounting {SCRATCH}" in said
    owner = guest.root.sh("stat -c '%U %a' /mnt/scratch/.stripewright-bench").split()
    assert owner == ["stripewright", "750"]


def test_the_mount_unit_mounts_nothing_that_was_not_proved_just_now(guest: Guest) -> None:
    """Who requires the mount of a volume that is down fails, though its device is there."""
    root = guest.root
    assert root.sh("ls /run/stripewright/may-mount") == ""
    root.sh(f"systemctl stop {SCRATCH}")
    done = root.run(["systemctl", "start", SCRATCH], check=False)
    assert done.returncode != 0
    assert "Assertion failed" in done.stderr
    assert root.run(["mountpoint", "-q", "/mnt/scratch"], check=False).returncode != 0
    # What the finding of a mount that is missing tells root to do.
    root.sh("systemctl reload-or-restart stripewright-assemble.service", timeout_seconds=300)
    root.sh("mountpoint -q /mnt/scratch")


def test_the_settings_of_the_kernel_are_set_and_undone(guest: Guest) -> None:
    """The unit may write to those of disks and md, and to no other."""
    root = guest.root
    floor = "/proc/sys/dev/raid/speed_limit_min"
    assert root.sh(f"cat {floor}").strip() == str(50 * 1024)
    settings = json.loads(root.sh("cat /run/stripewright/tuning.json"))["settings"]
    schedulers = [one["path"] for one in settings if one["path"].endswith("/scheduler")]
    assert len(schedulers) == 4
    assert root.sh(f"cat {' '.join(schedulers)}").count("[none]") == 4
    root.sh("mkdir '/srv/by hand' && mount /dev/stripewright/scratch '/srv/by hand'")
    root.sh("systemctl stop stripewright-assemble", timeout_seconds=300)
    # Undone, unmounted wherever it was and stopped, by units that have mounts of their own.
    assert root.sh(f"cat {floor}").strip() == "1000"
    assert "[none]" not in root.sh(f"cat {' '.join(schedulers)}")
    assert root.run(["findmnt", "--types", "xfs"], check=False).stdout == ""
    assert "active" not in root.sh("cat /proc/mdstat")
    root.sh("systemctl start stripewright-assemble", timeout_seconds=300)
    root.sh("mountpoint -q /mnt/scratch")


def test_metrics_are_served_where_they_are_asked_for_and_nothing_else_is(guest: Guest) -> None:
    root = guest.root
    said = root.run(["systemctl", "is-enabled", METRICS], check=False)
    assert said.stdout.strip() == "disabled", said
    root.sh(f"systemctl start {METRICS}")
    got = root.run(["python3", "-c", GET, "/metrics"]).stdout
    status, _, text = got.partition("\n")
    assert status == "200"
    assert 'stripewright_volume_health{volume="scratch",state="ok"} 1' in text, text
    assert text.endswith("# EOF\n")
    assert root.run(["python3", "-c", GET, "/etc/passwd"]).stdout == "404\n"
    # As the file of a collector, once its directory is given to the unit.
    folder = "/var/lib/prometheus/node-exporter"
    root.sh("systemctl start stripewright-textfile.service")
    assert root.run(["test", "-e", folder], check=False).returncode != 0
    root.sh(f"install -d -o stripewright-metrics {folder}")
    root.sh("systemctl start stripewright-textfile.service")
    held = root.sh(f"cat {folder}/stripewright.prom")
    assert "stripewright_volume_health" in held
    root.sh(f"systemctl stop {METRICS}")
    assert root.sh("systemctl --failed --no-legend --plain") == ""


def test_it_is_down_before_the_machine_is(guest: Guest) -> None:
    """Nothing of it holds a disk, whoever has a copy of the mounts."""
    guest.shutdown()
    assert guest.machine.carrier.unmounted_cleanly()
