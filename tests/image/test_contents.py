"""What is in the image file, and that the build refuses secrets; no boot."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.rig.build import TREE, Image
from tests.rig.diskimage import BIOS_BOOT, BootFilesystem, RootFilesystem, offset_bytes

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


def test_both_firmwares_find_the_same_kernel(image: Image, root: RootFilesystem) -> None:
    """BIOS by GRUB, UEFI by systemd-boot, which shows nothing but the unified kernel image: what
    GRUB loads is not signed.
    """
    boot = BootFilesystem(image.disk)
    paths = boot.paths()
    (unified,) = [path for path in paths if path.startswith("/EFI/Linux/")]
    commands = [line.split() for line in boot.read("/grub/grub.cfg").splitlines()]
    (kernel,) = [words[1] for words in commands if words[:1] == ["linux"]]
    initrds = [path for words in commands if words[:1] == ["initrd"] for path in words[1:]]
    assert {kernel, *initrds} <= set(paths)
    assert initrds
    release = Path(kernel).parent.name
    assert release in unified
    assert root.names("/usr/lib/modules") == [release]
    assert not [path for path in paths if path.startswith("/loader/entries/")]
    with image.disk.open("rb") as disk:
        assert b"GRUB" in disk.read(440)
        disk.seek(offset_bytes(image.disk, BIOS_BOOT))
        assert any(disk.read(512))
    # What installed it stays behind.
    assert root.names("/usr/lib/grub") == []


def test_the_disks_are_decided_about_when_the_cloud_has_told_the_type(root: RootFilesystem) -> None:
    folder = "/usr/lib/systemd/system"
    for stage in ("local", "network"):
        lines = root.read(f"{folder}/cloud-init-{stage}.service").splitlines()
        assert {"DefaultDependencies=no", "Before=sysinit.target"} <= set(lines)
    # After sysinit.target by default (systemd.service(5)).
    assert "DefaultDependencies" not in root.read(f"{folder}/stripewright-assemble.service")


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
    cached = root.names("/usr/lib/stripewright/appliance/cli/__pycache__")
    assert any(name.startswith("main.cpython-313") for name in cached)
    assert root.names("/usr/lib/stripewright/site-packages/pip") == []


@pytest.mark.parametrize(
    ("path", "content", "said"),
    [
        ("etc/shadow", "root:$y$j9T$abc:20000:0:99999:7:::\n", "password"),
        ("etc/shadow", "root::20000:0:99999:7:::\n", "password"),
        ("etc/machine-id", "0123456789abcdef0123456789abcdef\n", "machine id"),
        ("root/.ssh/authorized_keys", "ssh-ed25519 AAAA\n", "authorized_keys"),
        ("etc/ssh/ssh_host_rsa_key", "key\n", "ssh_host_rsa_key"),
        ("etc/ssh/authorized_keys.d/operator", "ssh-ed25519 AAAA\n", "authorized_keys"),
    ],
)
def test_the_build_fails_on_a_secret(tmp_path: Path, path: str, content: str, said: str) -> None:
    write(tmp_path, "etc/shadow", CLEAN_SHADOW)
    write(tmp_path, path, content)
    assert said in refused(tmp_path)


@pytest.mark.parametrize("mode", [0o4755, 0o2755])
def test_the_build_fails_on_a_program_that_gives_rights(tmp_path: Path, mode: int) -> None:
    write(tmp_path, "etc/shadow", CLEAN_SHADOW)
    write(tmp_path, "usr/bin/su", "known").chmod(mode)
    write(tmp_path, "usr/bin/odd", "new").chmod(mode)
    said = refused(tmp_path)
    assert "usr/bin/odd" in said
    assert "usr/bin/su" not in said


def test_the_build_fails_on_a_module_that_any_user_loads(tmp_path: Path) -> None:
    write(tmp_path, "etc/shadow", CLEAN_SHADOW)
    known = "alias net-pf-16-proto-12 nfnetlink\nalias net-pf-16-proto-4-type-1 unix_diag\n"
    write(tmp_path, "usr/lib/modules/6.12/modules.alias", known + "alias net-pf-21 rds\n")
    said = refused(tmp_path)
    assert "net-pf-21" in said
    assert "net-pf-16" not in said


def write(folder: Path, path: str, content: str) -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)
    return file


def refused(root: Path) -> str:
    """What mkosi.finalize says of a tree that it refuses."""
    done = subprocess.run(
        [TREE / "mkosi.finalize"],
        env={"BUILDROOT": str(root), "SOURCE_DATE_EPOCH": "1", "PATH": os.environ["PATH"]},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    return done.stderr


def test_completion_and_man_pages_are_installed(root: RootFilesystem) -> None:
    assert "complete -F _stripewright stripewright" in root.read(
        "/usr/share/bash-completion/completions/stripewright"
    )
    assert "stripewright-completion.sh" in root.names("/etc/profile.d")
    assert "_stripewright" in root.names("/usr/share/zsh/vendor-completions")
    assert "stripewright.fish" in root.names("/usr/share/fish/vendor_completions.d")
    pages = [name for name in root.names("/usr/share/man/man1") if name.endswith(".1")]
    assert {"stripewright.1", "stripewright-bench.1", "stripewright-plan.1"} <= set(pages)
    # man-db is not: the pages are for who has it. No other page is there.
    assert [name for name in pages if not name.startswith("stripewright")] == []
