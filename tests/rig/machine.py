"""A machine that boots the built image, and one boot of it, whatever runs it: QEMU or User Mode
Linux (qemu.py, uml_machine.py).

Nothing of the rig is in the image: the units that make the drives and the root access of the
tests are handed over as systemd credentials.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import Any

from tests.rig.build import TREE, Image, cache_root, forget_old, say
from tests.rig.buses import Bus
from tests.rig.drives import CARRIER_LABEL, Carrier, Drive
from tests.rig.errors import RigError
from tests.rig.ssh import Keys, Shell, banner

# A boot says something every few seconds until it is done, and SSH is there before that.
_SILENT_SECONDS = 240.0
KEEP_HANGS = 3
# The guest's root disk grows to it at its first boot.
ROOT_BYTES = 6 << 30

_CARRIER_DEVICE = "dev-disk-by\\x2dlabel-" + CARRIER_LABEL.replace("-", "\\x2d") + ".device"

_DRIVES_UNIT = f"""[Unit]
Description=Emulated instance storage (test rig)
DefaultDependencies=no
After=systemd-udevd.service systemd-modules-load.service {_CARRIER_DEVICE}
Wants={_CARRIER_DEVICE}
Before=stripewright-assemble.service mnt-scratch.mount
Conflicts=shutdown.target
Before=shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh /run/credentials/@system/rig.drives
ExecStop=/bin/sh /run/credentials/@system/rig.teardown
"""

_ROOT_UNIT = """[Unit]
Description=Root shell of the test rig
After=stripewright-hostkey.service network.target nftables.service

[Service]
ExecStartPre=/usr/bin/mkdir -p /run/sshd
# Without packet filter (User Mode Linux) there is nothing to open.
ExecStartPre=-/usr/sbin/nft add rule inet stripewright input tcp dport 2222 accept
ExecStart=/usr/sbin/sshd -D -f /dev/null -p 2222 -h /etc/ssh/ssh_host_ed25519_key \\
  -o PermitRootLogin=prohibit-password -o PasswordAuthentication=no -o StrictModes=no \\
  -o UsePAM=yes -o AuthorizedKeysFile=/run/credentials/@system/rig.root_key
"""

_WANTS = "[Unit]\nWants=rig-drives.service rig-root.service\n"


def _scaled(time_factor: float) -> str:
    """A drop-in that has suites run with ``--time-factor``, which marks their results."""
    unit = (TREE / "units" / "systemd" / "stripewright-bench@.service").read_text()
    (command,) = re.findall(r"^ExecStart=(.+)$", unit, re.M)
    return f"[Service]\nExecStart=\nExecStart={command} --time-factor {time_factor}\n"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(slots=True)
class Machine(ABC):
    """A machine that outlives its boots: root disk, drives, keys.

    ``folder`` holds its disks and logs. ``seed`` is a disk with cloud metadata, if there is any.
    ``layout`` is the layout.toml of its first boot; ``time_factor`` scales the suites' run times,
    for tests that need runs and not their figures.
    """

    image: Image
    folder: Path
    drives: InitVar[tuple[Drive, ...]]
    memory_mib: int = 2048
    seed: Path | None = None
    layout: str = ""
    time_factor: float | None = None
    may_panic: bool = False
    keys: Keys = field(init=False)
    carrier: Carrier = field(init=False)
    boots: int = 0

    def __post_init__(self, drives: tuple[Drive, ...]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.keys = Keys.generate(self.folder)
        self.carrier = Carrier(self.folder / "carrier.raw", drives, self.bus)

    @property
    @abstractmethod
    def bus(self) -> Bus:
        """What its drives are attached to."""

    @abstractmethod
    def boot(self, *, extra_cmdline: str = "") -> Guest:
        """Start it; returns at once. See :meth:`Guest.wait_for_ssh`."""

    @contextmanager
    def up(self) -> Iterator[Guest]:
        """A boot of which the stripe is mounted and SSH answers; killed at the end."""
        with self.boot() as guest:
            guest.wait_until_mounted()
            yield guest

    def credentials(self) -> dict[str, str]:
        """What is handed to the guest: the operator's key, and the rig's own units."""
        given = {}
        if self.layout:
            # systemd-tmpfiles has a word for a file with content, and takes lines by credential.
            content = base64.b64encode(self.layout.encode()).decode()
            line = f"f~ /etc/stripewright/layout.toml 0644 root root - {content}\n"
            given["tmpfiles.extra"] = line
        if self.time_factor is not None:
            given["systemd.unit-dropin.stripewright-bench@.service"] = _scaled(self.time_factor)
        return {
            **given,
            "ssh.authorized_keys.operator": self.keys.public,
            "rig.root_key": self.keys.public,
            "rig.drives": self.carrier.setup_script(),
            "rig.teardown": self.carrier.teardown_script(),
            "systemd.extra-unit.rig-drives.service": _DRIVES_UNIT,
            "systemd.extra-unit.rig-root.service": _ROOT_UNIT,
            "systemd.unit-dropin.multi-user.target": _WANTS,
        }


class Guest(ABC):
    """One boot of a :class:`Machine`."""

    process: subprocess.Popen[bytes]

    def __init__(self, machine: Machine) -> None:
        machine.boots += 1
        self.machine = machine
        self.console = machine.folder / f"console-{machine.boots}.log"
        self.ssh_port = free_port()
        self.root_port = free_port()
        self.started = time.monotonic()
        self.root = Shell("root", self.root_port, machine.keys, machine.folder, shared=True)
        self.operator = Shell("operator", self.ssh_port, machine.keys, machine.folder)

    @contextmanager
    def operator_connected(self) -> Iterator[Shell]:
        """The operator's shell by one connection: a handshake takes an emulated machine seconds."""
        keys, folder = self.machine.keys, self.machine.folder
        shell = Shell("operator", self.ssh_port, keys, folder, shared=True)
        try:
            yield shell
        finally:
            shell.close()

    def wait_for_ssh(self, deadline_seconds: float = 900) -> float:
        """Wait until the operator's SSH answers; seconds since power-on as this host saw it."""
        return self._wait_for_banner(self.ssh_port, "SSH", deadline_seconds)

    def wait_for_root(self, deadline_seconds: float = 900) -> None:
        """Wait for the rig's own root access."""
        self._wait_for_banner(self.root_port, "the rig's root shell", deadline_seconds)

    def wait_until_mounted(self) -> None:
        """Wait until the stripe is mounted and SSH answers."""
        self.wait_for_root()
        state = self.wait_for_outcome()
        if state["outcome"] != "mounted":
            raise RigError(f"the boot unit ended with {state['outcome']}", str(state))
        self.wait_for_ssh()

    def _wait_for_banner(self, port: int, what: str, deadline_seconds: float) -> float:
        began = shown = time.monotonic()
        while not banner(port):
            self._must_run(what)
            waited = time.monotonic() - self.started
            silent = time.monotonic() - began > _SILENT_SECONDS and self._console_is_silent()
            if silent or waited > deadline_seconds:
                kept = self._keep_what_hangs()
                raise RigError(
                    f"no {what} after {waited:.0f} s; {self._last_of_the_console()}",
                    f"what there is to see of it is in {kept}",
                )
            if time.monotonic() - shown > 20:
                shown = time.monotonic()
                say(f"booting ({waited:.0f} s)")
            time.sleep(0.3)
        return time.monotonic() - self.started

    def _keep_what_hangs(self) -> Path:
        """What there is to see of a boot that does not come up, beside the images."""
        hangs = cache_root() / "hangs"
        kept = hangs / f"{time.time():.0f}"
        kept.mkdir(parents=True)
        if self.console.exists():
            shutil.copy(self.console, kept / "console.log")
        self._look_into(kept)
        forget_old(hangs, KEEP_HANGS)
        return kept

    def _look_into(self, kept: Path) -> None:  # noqa: B027
        """Write to ``kept`` what else can be seen of a guest that hangs, if anything can."""

    def _console_is_silent(self) -> bool:
        try:
            said_at = self.console.stat().st_mtime
        except OSError:
            return False
        return time.time() - said_at > _SILENT_SECONDS

    def _console_bytes(self) -> bytes:
        try:
            return self.console.read_bytes()
        except OSError:
            return b""

    def _last_of_the_console(self) -> str:
        """What the guest said at last: elsewhere, its console log is gone with the machine."""
        lines = self._console_bytes().decode(errors="replace").splitlines()
        return "\n".join([f"the last lines of {self.console.name}:", *lines[-25:]])

    def wait_until_idle(self) -> None:
        """Wait until the boot is over for systemd, too."""
        self.root.run(["systemctl", "is-system-running", "--wait"], check=False)

    def _must_run(self, waiting_for: str) -> None:
        # The appliance starts again by itself after a panic: as a success it would go unnoticed.
        if not self.machine.may_panic and b"Kernel panic" in self._console_bytes():
            kept = self._keep_what_hangs()
            raise RigError(f"the kernel panicked while waiting for {waiting_for}", f"see {kept}")
        if self.process.poll() is not None:
            raise RigError(f"the machine ended while waiting for {waiting_for}", self._last_words())

    @abstractmethod
    def _last_words(self) -> str:
        """What its program said at last, and where the rest is."""

    def state(self) -> dict[str, Any]:
        """The state file of the boot unit (``{}`` while there is none)."""
        text = self.root.run(["cat", "/run/stripewright/state.json"], check=False).stdout
        document: dict[str, Any] = json.loads(text) if text.strip() else {}
        return document

    def wait_for_outcome(self, deadline_seconds: float = 600) -> dict[str, Any]:
        """Wait until the boot unit has decided; its state document."""
        began = time.monotonic()
        # One session that waits in the guest: a new one for each look takes it half a second.
        waiting = (
            "for _ in {1..20}; do [[ $(< /run/stripewright/state.json)"
            ' =~ \'"outcome": "\'(mounted|refused|failed|nothing) ]] && exit; sleep 1; done 2>&-'
        )
        while True:
            self.root.run(["bash", "-c", waiting], check=False)
            state = self.state()
            if state.get("outcome") in ("mounted", "refused", "failed", "nothing"):
                return state
            self._must_run("the boot decision")
            waited = time.monotonic() - began
            if waited > deadline_seconds:
                status = self.root.run(
                    ["journalctl", "-b", "--no-pager", "-u", "stripewright-assemble"], check=False
                ).stdout
                raise RigError(f"no boot decision in {waited:.0f} s: {state}", status[-2000:])
            say(f"waiting for the stripe ({waited:.0f} s): {state.get('message', '')}")
            time.sleep(1)

    def node(self, serial: str) -> str:
        """The kernel's name of a drive."""
        rows = self.root.sh("lsblk -dno NAME,SERIAL").splitlines()
        (name,) = (row.split()[0] for row in rows if row.split()[1:] == [serial])
        return name

    # ------------------------------------------------------------------ stopping

    def shutdown(self, deadline_seconds: float = 240) -> None:
        """Have it power off, and wait until it is off."""
        self._press_power()
        self.root.close()
        self._wait_off(deadline_seconds)

    @abstractmethod
    def _press_power(self) -> None: ...

    def _wait_off(self, deadline_seconds: float) -> None:
        try:
            self.process.wait(deadline_seconds)
        except subprocess.TimeoutExpired:
            raise RigError(
                f"the machine was not off after {deadline_seconds:.0f} s", f"look at {self.console}"
            ) from None
        finally:
            # Its processor and its network are for the next one.
            self.kill()

    def power_cut(self) -> None:
        """Off, now: what the guest had not written is lost."""
        self.root.close()
        self.kill()

    @abstractmethod
    def kill(self) -> None:
        """End it between two instructions."""

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *_: object) -> None:
        self.root.close()
        self.kill()
