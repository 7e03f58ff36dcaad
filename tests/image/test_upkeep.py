"""Reading a restored volume through, and declared tuning, on the running image."""

from __future__ import annotations

import re
import time

import pytest

from tests.image.conftest import NETWORK_BYTES, NETWORK_SERIAL
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
initialise_rate = "100MiB/s"

[scan]
time = "1min"
"""
TUNING = """
[tuning]
scheduler = "kyber"
rebuild_min = "50MiB/s"
"""

# A filesystem of 310 MB on a device of 400 MB, the top directory of which is its user's alone.
GROW = """set -e
caps=$(systemctl show -P CapabilityBoundingSet stripewright-apply@0.service)
as_apply() {{ systemd-run --quiet --wait --pipe -p CapabilityBoundingSet="$caps" "$@"; }}
file=/var/tmp/{kind}; top=/srv/{kind}
truncate -s 400M $file; mkdir $top
{mkfs}
mount -o loop $file $top; chown operator: $top; chmod 700 $top
device=$(findmnt -no SOURCE $top)
as_apply {grow}
df --output=size -BM $top | tail -n 1
umount $top; rm $file
"""


@pytest.fixture(scope="module")
def guest(striped_machine: Guest) -> Guest:
    return striped_machine


def declare(operator: Shell, text: str) -> None:
    operator.sh(f"cat > wanted.toml <<'END'\n{text}END")
    said = operator.sh("stripewright plan --layout wanted.toml")
    (digest,) = re.findall(r"^digest: +([0-9a-f]{64})$", said, re.M)
    operator.sh(f"stripewright apply --confirm {digest}", timeout_seconds=600)


def test_every_block_of_a_volume_is_read(guest: Guest, operator: Shell) -> None:
    declare(operator, LAYOUT)
    operator.sh("systemctl start --no-block stripewright-initialise@vault.service")
    deadline = time.monotonic() + 300
    show = "systemctl show -P ActiveState stripewright-initialise@vault.service"
    while operator.sh(show).strip() in {"activating", "active"}:
        assert time.monotonic() < deadline, operator.sh("stripewright status")
        time.sleep(2)
    said = operator.sh("stripewright status")
    assert "read through: done, 100 %" in said, said
    sectors = int(guest.root.sh(f"cat /sys/block/{guest.node(NETWORK_SERIAL)}/stat").split()[2])
    assert sectors * 512 >= NETWORK_BYTES


def test_tuning_is_set_shown_and_undone(guest: Guest, operator: Shell) -> None:
    scheduler = f"cat /sys/block/{guest.node(NETWORK_SERIAL)}/queue/scheduler"
    speed = "cat /proc/sys/dev/raid/speed_limit_min"
    before = guest.root.sh(speed)
    assert "[mq-deadline]" in guest.root.sh(scheduler)
    declare(operator, LAYOUT + TUNING)
    assert "[kyber]" in guest.root.sh(scheduler)
    assert guest.root.sh(speed).strip() == str(50 * 1024)
    said = operator.sh("stripewright status")
    assert re.search(r"scheduler.*kyber.*mq-deadline", said), said
    declare(operator, LAYOUT)
    assert "[mq-deadline]" in guest.root.sh(scheduler)
    assert guest.root.sh(speed) == before


@pytest.mark.parametrize(
    ("kind", "mkfs", "grow"),
    [
        ("ext4", "mkfs.ext4 -q $file 310M", "resize2fs $device"),
        ("xfs", "mkfs.xfs -q -d size=310m $file", "xfs_growfs -d $top"),
    ],
)
def test_the_unit_that_grows_may_do_so_where_a_database_lives(
    guest: Guest, kind: str, mkfs: str, grow: str
) -> None:
    said = guest.root.sh(GROW.format(kind=kind, mkfs=mkfs, grow=grow))
    assert int(said.split()[-1].removesuffix("M")) > 320, said
