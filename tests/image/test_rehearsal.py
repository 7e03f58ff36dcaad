"""Each cloud rehearsed: what ``make cloud-image`` packs is unpacked and boots on a network with the
cloud's metadata, which cloud-init's own source for that cloud reads. ``make rehearsals``; as root.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from tests.rig import tools
from tests.rig.build import Image
from tests.rig.cloud_image import CLOUDS
from tests.rig.cloud_link import ASKED
from tests.rig.drives import Drive, blank_drives
from tests.rig.machine import Guest
from tests.rig.metadata import METADATA, Instance
from tests.rig.qemu import QemuMachine
from tests.rig.ssh import Keys, Shell

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(os.geteuid() != 0, reason="a cloud's network needs root"),
]

USER_DATA = "#cloud-config\nwrite_files:\n  - {path: /root/from-user-data, content: hello}\n"
# The source, its parameters, and those of another instance of the same image.
AWS = Instance(
    cloud="aws", id="i-0a1b2c3d4e5f60718", uuid="ec2c0ffe-0000-4000-8000-000000000001",
    host_name="ip-10-0-0-5", machine_type="i4i.16xlarge", user_data=USER_DATA,
)  # fmt: skip
AZURE = Instance(
    cloud="azure", id="5f1d0c5e-0000-4000-8000-000000000001",
    uuid="5f1d0c5e-0000-4000-8000-000000000001", host_name="measured",
    machine_type="Standard_L32s_v3", user_data=USER_DATA,
)  # fmt: skip
GCP = Instance(
    cloud="gcp", id="4520031799277581759", uuid="5f1d0c5e-0000-4000-8000-000000000001",
    host_name="measured", machine_type="c3-standard-22-lssd", user_data=USER_DATA,
)  # fmt: skip
SOURCES = {AWS: "DataSourceEc2Local", AZURE: "DataSourceAzure", GCP: "DataSourceGCE"}
# What asks for the metadata without the header that the cloud wants.
BARE = (
    "import sys, urllib.request, urllib.error\n"
    f"try: urllib.request.urlopen('http://{METADATA}' + sys.argv[1], timeout=20)\n"
    "except urllib.error.HTTPError as error: print(error.code)\n"
)
REFUSED = {
    "aws": ("/latest/meta-data/instance-id", "401"),
    "azure": ("/metadata/instance?api-version=2021-08-01", "400"),
    "gcp": ("/computeMetadata/v1/instance/id", "403"),
}
# 90 s for each of cloud-init's two stages before SSH, and what an emulated boot takes.
MOST_SECONDS = 600.0


def another(instance: Instance) -> Instance:
    """An instance of the same image."""
    return replace(
        instance, id=f"{instance.id[:-1]}2", uuid=f"{instance.uuid[:-1]}2", host_name="second"
    )


def unpacked(cloud: str, packed: Path) -> Path:
    """The raw disk in it, as the cloud takes it out."""
    disk = packed.with_name("disk.raw")
    if cloud == "azure":
        argv = [*tools.argv("qemu-img"), "convert", "-f", "vpc", "-O", "raw", packed, disk]
        subprocess.run(argv, check=True)
    elif cloud == "gcp":
        subprocess.run(["tar", "-C", disk.parent, "-xzf", packed, disk.name], check=True)
    else:
        packed.rename(disk)
    packed.unlink(missing_ok=True)
    return disk


@dataclass
class Rehearsal:
    """One cloud, the image as that has it, and what earlier tests noted for later ones."""

    instance: Instance
    image: Image
    folder: Path
    notes: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def up(
        self, name: str, instance: Instance, drives: tuple[Drive, ...] | None = None
    ) -> Iterator[tuple[Guest, Shell]]:
        """A boot of the machine ``name`` as ``instance``, whose key is a new one, and a shell of
        its operator by that key; with other ``drives``, if there are any.
        """
        folder = self.folder / name
        keys = Keys.generate(folder / instance.id)
        known = replace(instance, key=keys.public.strip())
        machine = QemuMachine(self.image, folder, blank_drives(), firmware="uefi", instance=known)
        if drives:
            machine.carrier.replace(drives)
        with machine.boot() as guest:
            guest.wait_for_root(MOST_SECONDS)
            guest.wait_for_ssh(MOST_SECONDS)
            yield guest, Shell("operator", guest.ssh_port, keys, folder)

    def asked(self, name: str) -> list[str]:
        """A line an answer: status, method, address with path."""
        return (self.folder / name / ASKED).read_text().splitlines()


@pytest.fixture(scope="module", params=SOURCES, ids=lambda instance: instance.cloud)
def rehearsal(request: pytest.FixtureRequest, new_machine: Callable[..., Rehearsal]) -> Rehearsal:
    instance: Instance = request.param

    def take(image: Image, folder: Path, _: tuple[Drive, ...]) -> Rehearsal:
        own = folder / instance.cloud
        own.mkdir()
        packed = own / CLOUDS[instance.cloud].file
        CLOUDS[instance.cloud].pack(image.disk, packed)
        return Rehearsal(instance, replace(image, disk=unpacked(instance.cloud, packed)), own)

    return new_machine(take, ())


def identity(guest: Guest) -> list[str]:
    """Machine id and host key."""
    return guest.root.sh("cat /etc/machine-id /etc/ssh/ssh_host_ed25519_key.pub").splitlines()


def test_a_machine_has_what_its_cloud_tells(rehearsal: Rehearsal) -> None:
    instance = rehearsal.instance
    with rehearsal.up("one", instance) as (guest, operator):
        state = guest.wait_for_outcome()
        assert state["outcome"] == "mounted", state
        machine = state["inventory"]["machine"]
        assert (machine["provider"], machine["machine_type"], machine["type_doubt"]) == (
            instance.cloud, instance.machine_type, "",
        )  # fmt: skip
        said = guest.root.run(["cloud-init", "status", "--wait", "--long"], check=False).stdout
        assert f"detail: {SOURCES[instance]}" in said, said
        assert operator.sh("id -un").strip() == "operator"
        assert guest.root.sh("hostname").strip() == instance.host_name
        assert guest.root.sh("cat /root/from-user-data") == "hello"
        assert guest.root.sh("cat /var/lib/cloud/data/instance-id").strip() == instance.id
        assert guest.root.sh("systemctl --failed --no-legend --plain") == ""
        path, status = REFUSED[instance.cloud]
        assert guest.root.run(["python3", "-c", BARE, path]).stdout.strip() == status
        # The metadata is root's.
        assert operator.run(["python3", "-c", BARE, path], check=False).returncode != 0
        rehearsal.notes["one"] = identity(guest)
        guest.shutdown()
    # That one, and no other.
    refused = [line.split()[0] for line in rehearsal.asked("one") if line.startswith("40")]
    assert [code for code in refused if code != "404"] == [status]


def test_another_instance_of_the_image_is_another_machine(rehearsal: Rehearsal) -> None:
    with rehearsal.up("two", another(rehearsal.instance)) as (guest, operator):
        assert guest.wait_for_outcome()["outcome"] == "mounted"
        assert operator.sh("hostname").strip() == "second"
        pairs = list(zip(rehearsal.notes["one"], identity(guest), strict=True))
        assert len(pairs) == 2
        assert all(one != two for one, two in pairs), pairs


def test_started_elsewhere_it_is_another_instance_with_other_disks(rehearsal: Rehearsal) -> None:
    """Its root disk is the first one's."""
    drives = blank_drives(prefix="NEW")
    with rehearsal.up("one", another(rehearsal.instance), drives) as (guest, operator):
        state = guest.wait_for_outcome()
        assert (state["outcome"], state["volumes"][0]["decision"]) == ("mounted", "create"), state
        # Where disks may share a controller, the namespace stands behind its serial.
        serials = "\n".join(disk["serial"] for disk in state["inventory"]["disks"])
        assert all(drive.serial in serials for drive in drives), serials
        assert operator.sh("hostname").strip() == "second"


@pytest.mark.parametrize("mood", ["absent", "slow", "endless", "garbled"])
def test_metadata_that_misbehaves_stops_nothing(rehearsal: Rehearsal, mood: str) -> None:
    with rehearsal.up(mood, replace(rehearsal.instance, mood=mood)) as (guest, operator):
        assert guest.wait_for_outcome()["outcome"] == "mounted"
        seconds = time.monotonic() - guest.started
        print(f"\n{rehearsal.instance.cloud}, {mood}: mounted and SSH after {seconds:.0f} s")
        if mood != "endless":
            # Also after a first stage that was late, which takes its address away at its end.
            # Azure's goes on asking for longer than that.
            wait = ["timeout", "240", "cloud-init", "status", "--wait"]
            guest.root.run(wait, check=False)
            guest.root.close()
            guest.wait_for_root()
        late = "goes on without it" in guest.root.sh("journalctl -b -u cloud-init-local")
        # Of EC2 cloud-init asks some twenty things in that stage, of the others few.
        if (mood, rehearsal.instance.cloud) in (("endless", "aws"), ("slow", "aws")):
            assert late
        if mood == "slow":
            assert operator.sh("id -un").strip() == "operator"
