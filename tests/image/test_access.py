"""A machine without local disks and with metadata from a cloud: keys and name arrive, and an
operator stays an operator, also when the machine becomes another instance.

One machine, booted as two instances: in the first the operator plants links where root used to
write, and the second is looked at.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.rig.drives import cloud_seed
from tests.rig.machine import Guest, Machine
from tests.rig.ssh import Keys, Shell
from tests.rig.uml_machine import UmlMachine

# Nothing is waited for that does not come.
LAYOUT = """[[volume]]
name = "scratch"
mount = "/mnt/scratch"
wait = "5s"
"""
PRELOAD = "/etc/ld.so.preload"
ASSEMBLE = "stripewright-assemble.service"
# Each link waits for something that root wrote as a cloud's agent: keys, a file of user-data, the
# directory for its own programs.
PLANT = f"""cd /home/operator && mkdir -p .ssh
ln -s {PRELOAD} .ssh/authorized_keys
ln -s {PRELOAD} written
ln -s /home/operator /var/tmp/cloud-init
"""
USER_DATA = """#cloud-config
write_files:
  - {path: /root/from-user-data, content: hello}
  - {path: /home/operator/written, content: hello}
runcmd:
  - 'ls -d /home/operator /var/tmp/cloud-init >/root/seen 2>&1'
  - 'stat -c %a /dev/shm >/root/shm'
  - 'touch /root/ran'
"""
# The kernel itself is asked, and not what SSH's unit filters.
OUTSIDE_SESSIONS = ("systemd-run", "--quiet", "--wait", "--pipe", "--uid=operator", "--")
IO_URING = """import ctypes
libc = ctypes.CDLL(None, use_errno=True)
done = libc.syscall(425, 4, ctypes.create_string_buffer(120))
print("open" if done >= 0 else ctypes.get_errno())
"""


@pytest.fixture(scope="module")
def machine(new_machine: Callable[..., Machine]) -> Machine:
    return new_machine(UmlMachine, (), layout=LAYOUT)


@pytest.fixture(scope="module")
def cloud_keys(machine: Machine) -> Keys:
    return Keys.generate(machine.folder / "cloud")


@pytest.fixture(scope="module")
def guest(machine: Machine, cloud_keys: Keys) -> Iterator[Guest]:
    """The second instance; its operator did in the first what he could."""
    for number in (1, 2):
        machine.seed = cloud_seed(
            machine.folder / f"seed{number}.img",
            f"instance-id: i-{number}\nlocal-hostname: measured\n"
            f"public-keys:\n  - {cloud_keys.public}",
            USER_DATA if number == 2 else "#cloud-config\n{}\n",
        )
        with machine.boot(extra_cmdline="ds=nocloud") as booted:
            booted.wait_for_ssh()
            booted.wait_for_root()
            booted.root.run(["cloud-init", "status", "--wait"], check=False)
            if number == 1:
                failed = booted.root.sh("systemctl list-units --failed --no-legend --plain")
                # It has no disks.
                assert {row.split()[0] for row in failed.splitlines()} <= {ASSEMBLE}
                booted.root.run([*OUTSIDE_SESSIONS, "sh", "-ec", PLANT])
                booted.shutdown()
            else:
                yield booted


def test_root_writes_through_no_link_of_the_operator(guest: Guest) -> None:
    assert guest.root.sh("cat /var/lib/cloud/data/instance-id").strip() == "i-2"
    assert guest.root.run(["ls", PRELOAD], check=False).returncode != 0
    assert guest.root.sh("readlink /var/tmp/cloud-init").strip() == "/home/operator"
    # User-data ran, and found nothing there that an operator could have made.
    assert guest.root.run(["ls", "/root/ran"], check=False).returncode == 0
    seen = guest.root.sh("cat /root/seen")
    assert "cannot access '/home/operator': No such file" in seen
    assert "cannot access '/var/tmp/cloud-init': No such file" in seen
    assert guest.root.sh("cat /root/shm").strip() == "0", "not that of sessions"


def test_keys_host_name_and_files_come_from_the_cloud(guest: Guest, operator: Shell) -> None:
    assert guest.root.run(["hostname"]).stdout.strip() == "measured"
    assert guest.root.run(["cat", "/root/from-user-data"]).stdout.strip() == "hello"
    # No more rights than the image gave, no other host key, no disk touched.
    assert guest.root.sh("cat /etc/sudoers /etc/sudoers.d/* 2>/dev/null || true") == ""
    groups = set(operator.run(["id", "-nG"]).stdout.split())
    assert groups == {"operator", "systemd-journal", "stripewright-operators"}
    # One host key is made, though cloud-init wants Debian's unit that makes more; sshd
    # offers that one, and it is not empty.
    unit = guest.root.run(["systemctl", "is-enabled", "sshd-keygen.service"], check=False)
    assert unit.stdout.strip() == "masked"
    made = guest.root.sh("cd /etc/ssh && ls -1d *host*key*").split()
    assert made == ["ssh_host_ed25519_key", "ssh_host_ed25519_key.pub"]
    offered = guest.root.sh("grep '^HostKey' /etc/ssh/sshd_config").split()
    assert offered == ["HostKey", "/etc/ssh/ssh_host_ed25519_key"]
    assert guest.root.sh("wc -c < /etc/ssh/ssh_host_ed25519_key").strip() != "0"
    assert "/mnt" not in guest.root.sh("cat /proc/mounts")


def test_what_comes_before_ssh_is_not_waited_for_without_end(guest: Guest) -> None:
    for stage in ("local", "network"):
        unit = f"cloud-init-{stage}.service"
        shown = guest.root.sh(f"systemctl show -p ExecStart,SubState {unit}")
        assert "/usr/lib/stripewright/cloud-stage" in shown, shown
        assert "activating" not in shown, shown
        said = guest.root.sh(f"journalctl -b --no-pager -u {unit}")
        assert "the boot goes on" not in said, said


def test_a_machine_without_disks_says_so(guest: Guest, operator: Shell) -> None:
    state = guest.wait_for_outcome()
    assert state["outcome"] == "refused"
    assert "no instance storage" in state["volumes"][0]["reason"]
    refused = operator.run(["stripewright", "bench", "run", "smoke"], check=False)
    assert refused.returncode != 0
    assert "error: " in refused.stderr
    assert "hint: " in refused.stderr
    assert "Traceback" not in refused.stderr


def test_keys_are_where_only_root_writes(
    guest: Guest, operator: Shell, cloud_keys: Keys, machine: Machine
) -> None:
    folder = "/etc/ssh/authorized_keys.d"
    said = guest.root.sh(f"stat -c '%U %a' {folder} {folder}/operator /run/authorized_keys.d/*")
    assert said.splitlines() == ["root 755", "root 644", "root 644"]
    # The cloud's key and the credential's both open the door; one in the home does not.
    assert (
        Shell("operator", guest.ssh_port, cloud_keys, machine.folder).sh("id -un") == "operator\n"
    )
    own = Keys.generate(machine.folder / "own")
    operator.sh("rm -f ~/.ssh/authorized_keys; cat >~/.ssh/authorized_keys <<'END'\n" + own.public)
    with_own = Shell("operator", guest.ssh_port, own, machine.folder)
    assert "Permission denied" in with_own.run(["id"], check=False).stderr


def test_a_session_leads_nowhere_else(guest: Guest, operator: Shell) -> None:
    ssh, *rest = guest.operator.argv([])
    forward = subprocess.run(
        [ssh, "-W", "127.0.0.1:22", *rest], stdin=subprocess.DEVNULL, capture_output=True,
        text=True, check=False, timeout=120,
    )  # fmt: skip
    assert forward.stdout == ""
    assert "forwarding failed" in forward.stderr
    # Files are copied as ever.
    copied = subprocess.run(
        [ssh, "-s", *rest, "sftp"], stdin=subprocess.DEVNULL, check=False, timeout=120
    )
    assert copied.returncode == 0
    status = operator.sh("grep NoNewPrivs /proc/self/status")
    assert status.split() == ["NoNewPrivs:", "1"]


def test_nothing_gives_its_caller_more_rights(guest: Guest, operator: Shell) -> None:
    assert guest.root.sh("find / -xdev -type f -perm /6000") == ""
    for asked in (["unshare", "-Ur", "true"], [*OUTSIDE_SESSIONS, "unshare", "-Ur", "true"]):
        shell = guest.root if asked[0] == "systemd-run" else operator
        assert shell.run(asked, check=False).returncode != 0
    # Sessions have a directory of their own there.
    operator.run(["touch", "/run/lock/mine"])
    assert guest.root.run(["ls", "/run/lock/mine"], check=False).returncode != 0


def test_io_uring_is_for_benchmarks(guest: Guest) -> None:
    asked = guest.root.run([*OUTSIDE_SESSIONS, "python3", "-c", IO_URING])
    assert asked.stdout.strip() == "1"  # EPERM
    user = ["setpriv", "--reuid=stripewright", "--regid=stripewright", "--clear-groups"]
    assert guest.root.run([*user, "python3", "-c", IO_URING]).stdout.strip() == "open"


def test_only_ssh_listens(guest: Guest) -> None:
    rows = [line.split() for line in guest.root.sh("ss -H -tuln").splitlines()]
    outside = {(row[0], row[4].rpartition(":")[2]) for row in rows if "127.0.0." not in row[4]}
    # 2222 is the rig's, 68 and 546 the DHCP client's.
    assert outside - {("tcp", "2222"), ("udp", "68"), ("udp", "546")} == {("tcp", "22")}


@pytest.mark.parametrize(
    ("unit", "at_most"),
    [
        ("cloud-init-local", 2.0),
        ("cloud-init-network", 2.0),
        ("cloud-config", 2.0),
        ("cloud-final", 2.0),
        ("cloud-init-main", 7.0),
        ("ssh", 7.0),
    ],
)
def test_exposure(guest: Guest, unit: str, at_most: float) -> None:
    asked = ["systemd-analyze", "security", f"--threshold={at_most * 10:.0f}", f"{unit}.service"]
    done = guest.root.run(asked, check=False)
    assert done.returncode == 0, done.stdout[-200:]
