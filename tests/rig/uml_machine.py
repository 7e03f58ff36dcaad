"""Boot the built image in User Mode Linux: its user space, systemd and all, in seconds.

Its kernel is Debian's for User Mode Linux and not the image's. It has no firmware, no NVMe, no
packet filter of the ``inet`` family and no processor of its own to be emulated: what depends on
these is shown with QEMU (qemu.py).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.rig import tools, uml
from tests.rig.build import Image, cache_root, forget_old, locked
from tests.rig.buses import Bus, Scsi
from tests.rig.drives import Drive
from tests.rig.errors import RigError
from tests.rig.machine import ROOT_BYTES, Guest, Machine

# The watchdog of User Mode Linux is a program of the host that it cannot find.
_CMDLINE = ("systemd.show_status=yes", "systemd.watchdog_sec=0", "console=tty0")
_RIG = Path(__file__).parent
_KEEP = 4
_IN_USE_SECONDS = 3600
_NO_PACKET_FILTER = "[Unit]\nConditionVirtualization=!uml\n"


@dataclass(slots=True)
class UmlMachine(Machine):
    """A machine with Google's SCSI disks, of a type that is not known."""

    def __post_init__(self, drives: tuple[Drive, ...]) -> None:
        Machine.__post_init__(self, drives)
        if not self.root_disk.exists():
            argv = ["cp", "--sparse=always", str(self.image.disk), str(self.root_disk)]
            subprocess.run(argv, check=True)
            with self.root_disk.open("r+b") as file:
                file.truncate(ROOT_BYTES)

    @property
    def bus(self) -> Bus:
        return Scsi()

    @property
    def root_disk(self) -> Path:
        return self.folder / "root.raw"

    def credentials(self) -> dict[str, str]:
        given = Machine.credentials(self)
        return {**given, "systemd.unit-dropin.nftables.service": _NO_PACKET_FILTER}

    def boot(self, *, extra_cmdline: str = "") -> UmlGuest:
        return UmlGuest(self, extra_cmdline)


def striped(image: Image, folder: Path, drives: tuple[Drive, ...]) -> UmlMachine:
    """A machine in ``folder`` that was booted once, made a stripe of ``drives`` and was shut down.

    Its disks are a copy of those that are kept beside the images, for one build of the image and
    one version of the rig.
    """
    digest = hashlib.sha256(repr((image.key, drives)).encode())
    for path in sorted(_RIG.glob("*.py")):
        digest.update(path.read_bytes())
    kept = cache_root() / "striped"
    final = kept / digest.hexdigest()[:16]
    with locked(kept / f"{final.name}.lock"):
        if not final.exists():
            partial = final.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            with UmlMachine(image, partial, drives).up() as guest:
                guest.wait_until_idle()
                guest.shutdown()
            partial.rename(final)
        os.utime(final)
    forget_old(kept, _KEEP, unused_seconds=_IN_USE_SECONDS)
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("root.raw", "carrier.raw", "key", "key.pub"):
        subprocess.run(["cp", "--sparse=always", final / name, folder / name], check=True)
    return UmlMachine(image, folder, drives)


class UmlGuest(Guest):
    """One boot of a :class:`UmlMachine`."""

    machine: UmlMachine

    def __init__(self, machine: UmlMachine, extra_cmdline: str) -> None:
        super().__init__(machine)
        handed = machine.folder / "credentials"
        shutil.rmtree(handed, ignore_errors=True)
        handed.mkdir(mode=0o700)
        for name, text in machine.credentials().items():
            (handed / name).write_text(text)
        disks = [f"ubd0={machine.root_disk}", f"ubd1={machine.carrier.disk}"]
        if machine.seed is not None:
            disks.append(f"ubd2r={machine.seed}")
        init = (
            f"mount -t hostfs none /mnt -o hostfs={_RIG};"
            f" exec /bin/sh /mnt/uml_init.sh {uml.modules()} {handed}"
        )
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        with ours, theirs:
            self._network = self._forward(ours.fileno())
            self._uml = uml.Process(
                machine.folder,
                self.console,
                [
                    *disks,
                    f"vec0:transport=fd,fd={theirs.fileno()}",
                    *_CMDLINE,
                    *extra_cmdline.split(),
                    *uml.init_with(init),
                ],
                descriptors=[theirs.fileno()],
            )
        self.process = self._uml.popen

    def _forward(self, descriptor: int) -> subprocess.Popen[bytes]:
        """QEMU without a machine: its user-mode network, behind which nothing but SSH is reached,
        from this host alone.
        """
        argv = [
            *tools.qemu(), "-machine", "none", "-nodefaults", "-display", "none",
            "-netdev", "user,id=user,restrict=on"
            f",hostfwd=tcp:127.0.0.1:{self.ssh_port}-:22"
            f",hostfwd=tcp:127.0.0.1:{self.root_port}-:2222",
            "-netdev", f"socket,id=guest,fd={descriptor}",
            "-netdev", "hubport,hubid=0,id=port0,netdev=user",
            "-netdev", "hubport,hubid=0,id=port1,netdev=guest",
        ]  # fmt: skip
        log = self.machine.folder / f"network-{self.machine.boots}.log"
        with log.open("wb") as sink:
            return subprocess.Popen(
                argv, env=tools.environment(), pass_fds=[descriptor],
                stdin=subprocess.DEVNULL, stdout=sink, stderr=sink,
            )  # fmt: skip

    def _must_run(self, waiting_for: str) -> None:
        super()._must_run(waiting_for)
        if self._network.poll() is not None:
            raise RigError("the guest's network ended", f"see {self.machine.folder}")

    def _last_words(self) -> str:
        return self._last_of_the_console()

    def _press_power(self) -> None:
        # The connection may be gone before its answer is here.
        with suppress(RigError):
            self.root.run(["systemctl", "poweroff"], check=False, timeout_seconds=60)

    def kill(self) -> None:
        self._uml.kill()
        if self._network.poll() is None:
            self._network.kill()
            self._network.wait()
