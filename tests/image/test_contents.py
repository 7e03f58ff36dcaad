"""What is in the image file, and that the build refuses secrets; no boot."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.rig.build import TREE, Image
from tests.rig.diskimage import RootFilesystem

CLEAN_SHADOW = "root:*:20000:0:99999:7:::\noperator:!*:20000::::::\n"


@pytest.fixture(scope="module")
def root(image: Image) -> RootFilesystem:
    return RootFilesystem(image.disk)


def test_nobody_has_a_password(root: RootFilesystem) -> None:
    rows = [line.split(":") for line in root.read("/etc/shadow").splitlines()]
    assert {"root", "operator", "stripewright"} <= {row[0] for row in rows}
    assert [row[0] for row in rows if row[1] not in ("*", "!", "!*", "!!")] == []


def test_no_host_key_and_no_machine_id(root: RootFilesystem) -> None:
    assert "sshd_config" in root.names("/etc/ssh")
    assert [name for name in root.names("/etc/ssh") if name.startswith("ssh_host")] == []
    assert root.read("/etc/machine-id").strip() in ("", "uninitialized")
    assert root.names("/home/operator/.ssh") == []


def test_mdadm_assembles_nothing_by_itself(root: RootFilesystem) -> None:
    assert "AUTO -all" in root.read("/etc/mdadm/mdadm.conf").splitlines()


@pytest.mark.parametrize(
    "masked",
    [
        "systemd/system-generators/systemd-ssh-generator",
        "systemd/system/sshd-keygen.service",  # cloud-init wants it, whatever the presets say
        "udev/rules.d/64-md-raid-assembly.rules",
        "udev/rules.d/69-lvm.rules",
    ],
)
def test_masked(root: RootFilesystem, masked: str) -> None:
    folder, name = masked.rsplit("/", 1)
    assert name in root.names(f"/usr/lib/{folder}")  # there is something to mask
    assert root.link(f"/etc/{masked}") == "/dev/null"


def test_only_wanted_units_start(root: RootFilesystem) -> None:
    started = set(root.names("/etc/systemd/system/multi-user.target.wants"))
    started |= set(root.names("/etc/systemd/system/timers.target.wants"))
    assert {"ssh.service", "stripewright-assemble.service"} <= started
    assert {"stripewright-bench@smoke.timer", "stripewright-bench@full.timer"} <= started
    unwanted = ("fio", "lvm2", "nvm", "mdmonitor", "mdcheck", "apt-daily", "systemd-boot-update")
    assert [name for name in started if name.startswith(unwanted)] == []


def test_code_is_compiled_and_never_checked_again(root: RootFilesystem) -> None:
    cached = root.names("/usr/lib/stripewright/appliance/__pycache__")
    assert any(name.startswith("cli.cpython-313") for name in cached)
    assert root.names("/usr/lib/stripewright/site-packages/pip") == []


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        ("etc/shadow", "root:$y$j9T$abc:20000:0:99999:7:::\n", "password"),
        ("etc/shadow", "root::20000:0:99999:7:::\n", "password"),
        ("etc/machine-id", "0123456789abcdef0123456789abcdef\n", "machine id"),
        ("root/.ssh/authorized_keys", "ssh-ed25519 AAAA\n", "authorized_keys"),
        ("etc/ssh/ssh_host_rsa_key", "key\n", "ssh_host_rsa_key"),
    ],
)
def test_the_build_fails_on_a_secret(tmp_path: Path, path: str, content: str, said: str) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/shadow").write_text(CLEAN_SHADOW)
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text(content)
    done = subprocess.run(
        [TREE / "mkosi.finalize"],
        env={"BUILDROOT": str(tmp_path), "SOURCE_DATE_EPOCH": "1", "PATH": os.environ["PATH"]},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert said in done.stderr
