"""A machine without local disks, with metadata from a cloud: keys and name arrive, no more."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.rig.drives import Drive, cloud_seed
from tests.rig.errors import RigError
from tests.rig.qemu import Machine
from tests.rig.ssh import Keys, Shell

NO_DISK_TYPE = "m5.large"


def wait_for_login(shell: Shell, deadline_seconds: float) -> None:
    began = time.monotonic()
    while shell.run(["true"], check=False).returncode != 0:
        if time.monotonic() - began > deadline_seconds:
            raise RigError("the key from the metadata does not open the door", "see cloud-init.log")
        time.sleep(5)


def test_keys_and_host_name_come_from_the_cloud(
    new_machine: Callable[[tuple[Drive, ...]], Machine],
) -> None:
    machine = new_machine(())
    machine.machine_type = NO_DISK_TYPE
    cloud_keys = Keys.generate(machine.folder / "cloud")
    machine.seed = cloud_seed(
        machine.folder / "seed.img",
        f"instance-id: i-1\nlocal-hostname: measured\npublic-keys:\n  - {cloud_keys.public}",
        "#cloud-config\nwrite_files:\n  - {path: /root/from-user-data, content: hello}\n",
    )
    # Named on the kernel's line, as the seed's driver comes too late for cloud-init's generator.
    with machine.boot(extra_cmdline="ds=nocloud") as guest:
        guest.wait_for_root()
        operator = Shell("operator", guest.ssh_port, cloud_keys, machine.folder)
        wait_for_login(operator, 400)
        guest.root.run(["cloud-init", "status", "--wait"], check=False)
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

        # No disks at all: told as such, and nothing to measure is told as well.
        state = guest.wait_for_outcome()
        assert state["outcome"] == "refused"
        assert "no instance storage" in state["volumes"][0]["reason"]
        refused = operator.run(["stripewright", "bench", "run", "smoke"], check=False)
        assert refused.returncode != 0
        assert "error: " in refused.stderr
        assert "hint: " in refused.stderr
        assert "Traceback" not in refused.stderr
        guest.shutdown()
