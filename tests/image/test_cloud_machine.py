"""A cloud machine: firmware, NVMe drives with Amazon's names, the image's own kernel and its packet
filter, all of them emulated. Created, looked at from outside, restarted by a panic.

One machine; the tests go on from one another, as its boots do.
"""

from __future__ import annotations

import errno
import json
import re
import time
from collections.abc import Callable, Iterator

import pytest

from appliance.drift.codes import CODES
from tests.image.conftest import NETWORK_SERIAL
from tests.image.test_life import KEPT, Life
from tests.image.test_stops import findings, look
from tests.rig.build import cache_root
from tests.rig.buses import AMAZON_MODEL
from tests.rig.drives import Drive, blank_drives
from tests.rig.machine import Guest
from tests.rig.qemu import QemuMachine
from tests.rig.ssh import Shell, banner

KIB = 1024
METADATA = "169.254.169.254"
# Where a kernel that panics leaves its words: QEMU's ACPI ERST, in a file.
RECORDS = cache_root() / "tests" / "test_cloud_machine" / "erst.bin"
ERST = (
    "-object", f"memory-backend-file,id=erst,mem-path={RECORDS},size=256K,share=on",
    "-device", "acpi-erst,memdev=erst",
)  # fmt: skip


# Every family, kind and protocol that has a module somewhere.
SOCKETS = """import socket
names = lambda: {line.split()[0] for line in open("/proc/modules")}
before = names()
IP = (2, 6, 8, 12, 16, 17, 20, 21, 33, 115, 132, 136, 256, 262)
CAN = BLUETOOTH = range(1, 8)
protocols = {2: IP, 10: IP, 29: CAN, 31: BLUETOOTH}
for family in range(1, 47):
    for kind in range(1, 7):
        for protocol in (0, *protocols.get(family, ())):
            try:
                socket.socket(family, kind, protocol).close()
            except OSError:
                pass
print(*sorted(names() - before))
"""
# Every node that any user may open.
NODES = """import os
names = lambda: {line.split()[0] for line in open("/proc/modules")}
before = names()
for folder, _, nodes in os.walk("/dev"):
    for node in nodes:
        path = os.path.join(folder, node)
        try:
            os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY))
        except OSError:
            pass
print(*sorted(names() - before))
"""
# The kernel itself is asked, and not what SSH's unit filters.
OUTSIDE_SESSIONS = ("systemd-run", "--quiet", "--wait", "--pipe", "--uid=operator", "--")
# Beside kernel.io_uring_*, which a test of its own needs.
SYSCTLS = {
    "kernel.kptr_restrict", "kernel.dmesg_restrict", "kernel.unprivileged_userns_clone",
    "kernel.unprivileged_bpf_disabled", "net.core.bpf_jit_harden", "kernel.perf_event_paranoid",
    "kernel.yama.ptrace_scope", "kernel.kexec_load_disabled", "kernel.sysrq",
    "dev.tty.ldisc_autoload", "fs.protected_fifos", "fs.protected_hardlinks",
    "fs.protected_regular", "fs.protected_symlinks", "fs.suid_dumpable", "kernel.core_pattern",
    "fs.aio-max-nr", "vm.oom_dump_tasks", "net.ipv4.ping_group_range",
}  # fmt: skip


@pytest.fixture(scope="module")
def life(new_machine: Callable[..., QemuMachine]) -> Iterator[Life]:
    drives = (*blank_drives(), Drive(NETWORK_SERIAL, 64 << 20, kind="network"))
    machine = new_machine(QemuMachine, drives, firmware="uefi", extra=ERST, may_panic=True)
    living = Life(machine)
    yield living
    if living.guest is not None:
        living.guest.root.close()
        living.guest.kill()


@pytest.fixture
def guest(life: Life) -> Guest:
    return life.now


@pytest.fixture
def operator(life: Life) -> Iterator[Shell]:
    with life.now.operator_connected() as shell:
        yield shell


def test_blank_drives_become_one_aligned_stripe(life: Life) -> None:
    state = life.boot()
    assert state["outcome"] == "mounted", state
    disks = [d for d in state["inventory"]["disks"] if d["kind"] == "instance-store"]
    assert [d["model"] for d in disks] == [AMAZON_MODEL] * 4
    volume = state["volumes"][0]
    assert volume["decision"] == "create"
    assert (volume["sunit_bytes"], volume["swidth_bytes"]) == (256 * KIB, 1024 * KIB)
    life.notes["epoch"] = volume["epoch_id"]
    mount = life.now.root.sh("findmnt --noheadings -o FSTYPE,OPTIONS /mnt/scratch")
    assert mount.split()[0] == "xfs"
    assert {"nodev", "nosuid", "noatime"} <= set(mount.split()[1].split(","))
    # The link does not depend on the md number; the array has the volume's name.
    uuid = life.now.root.sh("mdadm --detail --export /dev/stripewright/scratch")
    assert "MD_NAME=stripewright:scratch" in uuid
    life.notes["array"] = next(line for line in uuid.splitlines() if "MD_UUID" in line)
    # The operator is told when the suite runs next: within the six hours and the delay.
    told = json.loads(life.now.operator.run(["stripewright", "status", "--json"]).stdout)
    now = float(life.now.root.sh("date +%s"))
    assert now < told["next_run_at"] < now + 6.6 * 3600


def test_only_network_volumes_may_answer_late(guest: Guest) -> None:
    # The kernel's looped-back NVMe has no time limit: udev tells what it would write.
    script = 'for d in /sys/block/nvme*; do echo "$(cat $d/device/model) $d"; done'
    late = []
    for line in guest.root.sh(script).splitlines():
        model, path = line.rsplit(None, 1)
        said = guest.root.sh(f"udevadm test --action=add {path} 2>&1")
        late += [model] if re.search("queue/io_timeout.*4294967295", said) else []
    assert late == ["Amazon Elastic Block Store"]


def test_the_operator_sees_what_the_report_for_a_cloud_needs(guest: Guest, operator: Shell) -> None:
    ask = ["stripewright", "doctor", "--cloud", "--json"]
    for shell in (guest.root, operator):
        checks = json.loads(shell.run(ask).stdout)["checks"]
        found = {one["name"]: one["found"] for one in checks}
        assert found["firmware"] == "uefi"
        assert found["secure boot"] == "not offered by the firmware"
        assert found["machine"] == "aws i4i.16xlarge (by DMI)"
        assert found["operator's keys"] == "1"
        assert found["local disks"].startswith("4 found")
        assert "needs root" not in " ".join(found.values())


def test_ssh_does_not_wait_for_the_stripe(life: Life) -> None:
    show = "systemctl show --value -p ActiveEnterTimestampMonotonic"
    ssh, stripe = (
        int(life.now.root.sh(f"{show} {unit}"))
        for unit in ("ssh.service", "stripewright-assemble.service")
    )
    assert 0 < ssh < stripe


def test_no_socket_loads_a_module(guest: Guest) -> None:
    assert guest.root.run([*OUTSIDE_SESSIONS, "python3", "-c", SOCKETS]).stdout.strip() == ""


def test_no_node_of_a_device_loads_a_module(guest: Guest) -> None:
    assert guest.root.run([*OUTSIDE_SESSIONS, "python3", "-c", NODES]).stdout.strip() == ""


def test_no_login_comes_from_inside(guest: Guest, operator: Shell) -> None:
    """sshd's places for those who are not logged in yet are for who comes from outside."""
    ask = "import socket; print(socket.socket().connect_ex(('127.0.0.7', 22)))"
    assert operator.run(["python3", "-c", ask]).stdout.strip() == str(errno.ECONNREFUSED)
    assert banner(guest.ssh_port)


def test_sysctls_are_as_their_file_says(guest: Guest) -> None:
    text = guest.root.sh("cat /usr/lib/sysctl.d/50-stripewright-access.conf")
    rows = [line.split(" = ") for line in text.splitlines() if line and not line.startswith("#")]
    names = [name for name, _ in rows]
    assert {name for name in names if "io_uring" not in name} == SYSCTLS
    said = guest.root.run(["sysctl", "-n", *names]).stdout.replace("\t", " ")
    assert said.split("\n")[:-1] == [value for _, value in rows]


def test_other_ports_are_closed(guest: Guest) -> None:
    """The rig opens its own port; without that, a server behind it is not reached."""
    chain = "inet stripewright input"
    assert banner(guest.root_port)
    guest.root.sh(
        f"nft delete rule {chain} handle"
        f" $(nft -a list chain {chain} | sed -n 's/.*dport 2222 accept # handle //p')"
    )
    try:
        assert not banner(guest.root_port)
        assert banner(guest.ssh_port)
    finally:
        guest.root.sh(f"nft add rule {chain} tcp dport 2222 accept")


def test_the_metadata_is_roots(guest: Guest, operator: Shell) -> None:
    guest.root.sh(f"ip address add {METADATA}/32 dev lo")
    serve = ["systemd-run", "--quiet", "python3", "-m", "http.server", "-b", METADATA, "80"]
    guest.root.run(serve)
    ask = (
        "import socket, sys; s = socket.socket(); s.settimeout(20);"
        f" sys.exit(s.connect_ex(('{METADATA}', 80)))"
    )
    reached = f'for n in $(seq 60); do python3 -c "{ask}" && exit 0; sleep 1; done; exit 1'
    guest.root.sh(reached)
    assert operator.run(["python3", "-c", ask], check=False).returncode != 0


def test_a_panic_starts_again_with_the_same_stripe(life: Life, guest: Guest) -> None:
    guest.root.sh(f"head -c 3000000 /dev/urandom > {KEPT}; sync -f {KEPT}")
    kept = guest.root.sh(f"sha256sum {KEPT}")
    began = guest.root.sh("cat /proc/sys/kernel/random/boot_id").strip()
    # The connection dies with the kernel.
    guest.root.run(
        ["sh", "-c", "(sleep 2; echo c > /proc/sysrq-trigger) >/dev/null 2>&1 &"], check=False
    )
    guest.root.close()
    time.sleep(5)
    guest.started = time.monotonic()
    guest.wait_for_root()
    state = guest.wait_for_outcome()
    volume = state["volumes"][0]
    assert (state["outcome"], volume["decision"]) == ("mounted", "assemble"), state
    assert volume["epoch_id"] == life.notes["epoch"]
    detail = guest.root.sh("mdadm --detail --export /dev/stripewright/scratch")
    assert life.notes["array"] in detail
    assert guest.root.sh(f"sha256sum {KEPT}") == kept
    assert guest.root.sh("cat /proc/sys/kernel/random/boot_id").strip() != began
    assert look(guest) == 5
    found = findings(guest)["HOST-CRASHED", "boot"]
    # Its record outlived the initrd.
    assert "sysrq triggered crash" in found["summary"], found
    assert found["evidence"]["boot"] == began, found
    assert found["evidence"]["record"].startswith("/var/lib/systemd/pstore/"), found
    assert found["next_step"].startswith(f"what led to it: journalctl -e -b {began}"), found
    assert CODES["HOST-CRASHED"].message_id in guest.root.sh(
        f"journalctl -b -o json -n 1 MESSAGE_ID={CODES['HOST-CRASHED'].message_id}"
    )


def test_shutdown_unmounts_and_stops_the_array(life: Life) -> None:
    life.now.shutdown()
    # The drives' files could be let go, so nothing used the drives any more.
    assert life.machine.carrier.unmounted_cleanly()
