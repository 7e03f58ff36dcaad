"""UEFI with Secure Boot and own keys: a signed image starts, the image as it was built does not."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.rig import secure_boot
from tests.rig.build import Image
from tests.rig.drives import blank_drives
from tests.rig.qemu import QemuMachine

pytestmark = pytest.mark.soak
_MOST_SECONDS = 180


def test_a_signed_image_starts(image: Image, keys: Path, tmp_path: Path) -> None:
    secure_boot.sign_copy(image.disk, keys, tmp_path / "signed")
    signed = replace(image, disk=tmp_path / "signed")
    machine = QemuMachine(signed, tmp_path, blank_drives(), firmware="uefi", secure_boot=keys)
    with machine.up() as guest:
        checks = json.loads(guest.root.sh("stripewright doctor --cloud --json"))["checks"]
        assert {one["name"]: one["found"] for one in checks}["secure boot"] == "on"
        # The kernel is locked down then, and loads no module without Debian's signature.
        assert "[integrity]" in guest.root.sh("cat /sys/kernel/security/lockdown")
        assert guest.root.sh("systemctl --failed --no-legend") == ""
        assert guest.root.sh("findmnt --noheadings -o FSTYPE /mnt/scratch").strip() == "xfs"


def test_an_image_without_signature_does_not(
    new_machine: Callable[..., QemuMachine], keys: Path
) -> None:
    machine = new_machine(QemuMachine, blank_drives(), firmware="uefi", secure_boot=keys)
    with machine.boot() as guest:
        began, said = time.monotonic(), ""
        # After every way to boot was tried.
        while "No bootable option or device was found" not in said:
            assert time.monotonic() - began < _MOST_SECONDS, said
            time.sleep(1)
            said = guest.console.read_text(errors="replace") if guest.console.exists() else ""
        assert "Access Denied" in said
