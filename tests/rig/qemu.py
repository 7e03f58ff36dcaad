"""Start the built image in QEMU, talk to it, and stop it: cleanly or not.

A boot that hangs is an error: console, registers and a dump of its memory are kept. Without
hardware virtualisation the machine has one processor, because of a fault that the dumps showed:
see :func:`acceleration`.

Two ways to boot the same image. The *full* path is what a cloud machine does: UEFI,
unified kernel image, initrd. The *fast* path hands the image's kernel to QEMU and needs
neither firmware nor initrd, because the cloud kernel has NVMe, GPT and ext4 built in.

Nothing of the rig is in the image: the units that make the drives and the root access of
the tests are handed over as systemd credentials in the machine's SMBIOS tables.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.rig import tools
from tests.rig.build import TREE, Image, cache_root, forget_old, say, tools_tree
from tests.rig.drives import CARRIER_LABEL, Carrier, Drive
from tests.rig.errors import RigError
from tests.rig.ssh import Keys, Shell, banner

# A machine type with four instance-store disks (appliance/data has the same number).
FOUR_DISK_TYPE = "i4i.16xlarge"
# Under software emulation everything in user space is ten to thirty times slower.
PATIENCE = "systemd.default_timeout_start_sec=600 systemd.default_device_timeout_sec=600"
# What the kernel does against Meltdown empties the emulated TLB at each system call.
EMULATED = "mitigations=off"

# A boot says something every few seconds until it is done, and SSH is there before that.
_SILENT_SECONDS = 240.0
KEEP_HANGS = 3

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
ExecStartPre=/usr/sbin/nft add rule inet stripewright input tcp dport 2222 accept
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


def kvm_works() -> bool:
    """Whether hardware virtualisation is there and really runs (/dev/kvm alone says nothing)."""
    flags = Path("/proc/cpuinfo").read_text().split()
    if not {"vmx", "svm"} & set(flags) or not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    probe = subprocess.run(
        [*tools.qemu(), "-accel", "kvm", "-machine", "q35", "-display", "none",
         "-nodefaults", "-S", "-qmp", "stdio"],
        input=b'{"execute":"qmp_capabilities"}{"execute":"quit"}', env=tools.environment(),
        capture_output=True, timeout=30, check=False,
    )  # fmt: skip
    return probe.returncode == 0


def acceleration() -> list[str]:
    """QEMU's options for how the processors run.

    With software emulation there is one. A kernel patches its own text while it runs (static
    keys): it writes int3 over an instruction, waits for the other processors, writes the rest.
    QEMU's multi-threaded emulation lets another processor run the int3 after that is over, which
    the kernel takes for a fault of its own and panics ("Oops: int3"). Seen with QEMU 7.2 and 10.0
    within a minute of toggling a static key, each time; never with one processor, nor with one
    thread (docs/measurements.md has the figures, tests/rig/text_patching.py the program).
    """
    if kvm_works():
        return ["-accel", "kvm", "-cpu", "host", "-smp", "2"]
    return ["-accel", "tcg,thread=single", "-cpu", "Nehalem", "-smp", "1"]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(slots=True)
class Machine:
    """A machine that outlives its boots: root disk overlay, drives, keys, type.

    ``folder`` holds its disks and logs. ``machine_type`` is what DMI says it is; ``seed``
    is a disk with cloud metadata, if there is any. ``plugged`` are NVMe drives that QEMU emulates
    itself, each in a slot of its own, from which it can be pulled, and whose speed can be limited;
    their model is QEMU's, whatever they say. ``layout`` is the layout.toml of its first boot;
    ``time_factor`` scales the suites' run times, for tests that need runs and not their figures.
    ``root_device`` is what the root disk is to the guest; the kernel finds nothing but NVMe by
    itself, so that another one needs the full path.
    """

    image: Image
    folder: Path
    carrier: Carrier
    machine_type: str = FOUR_DISK_TYPE
    memory_mib: int = 2048
    seed: Path | None = None
    plugged: tuple[Drive, ...] = ()
    layout: str = ""
    extra: tuple[str, ...] = ()
    keys: Keys = field(init=False)
    overlay: Path = field(init=False)
    time_factor: float | None = None
    root_device: str = "nvme"
    may_panic: bool = False
    boots: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.keys = Keys.generate(self.folder)
        self.overlay = self.folder / "root.qcow2"
        if not self.overlay.exists():
            _qemu_img(
                "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(self.image.disk),
                str(self.overlay), "6G",
            )  # fmt: skip
        for number, drive in enumerate(self.plugged):
            with self.plugged_file(number).open("wb") as file:
                file.truncate(drive.size_bytes)

    def plugged_file(self, number: int) -> Path:
        return self.folder / f"plugged{number}.raw"

    def boot(
        self, *, full_path: bool = False, extra_cmdline: str = "", memory: Path | None = None
    ) -> Guest:
        """Start it; returns at once. See :meth:`Guest.wait_for_ssh`. With ``memory``, what
        :meth:`Guest.save` kept, it goes on from there (tests/rig/snapshot.py).
        """
        self.boots += 1
        return Guest(self, full_path=full_path, extra_cmdline=extra_cmdline, memory=memory)

    @contextmanager
    def up(self, *, full_path: bool = False) -> Iterator[Guest]:
        """A boot of which the stripe is mounted and SSH answers; killed at the end."""
        with self.boot(full_path=full_path) as guest:
            guest.wait_for_root()
            state = guest.wait_for_outcome()
            if state["outcome"] != "mounted":
                raise RigError(f"the boot unit ended with {state['outcome']}", str(state))
            guest.wait_for_ssh()
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


class Guest:
    """One boot of a :class:`Machine`."""

    def __init__(
        self, machine: Machine, *, full_path: bool, extra_cmdline: str, memory: Path | None
    ) -> None:
        self.machine = machine
        self.console = machine.folder / f"console-{machine.boots}.log"
        self.ssh_port = free_port()
        self.root_port = free_port()
        self._qmp_path = machine.folder / "qmp"
        self._qmp_path.unlink(missing_ok=True)
        self._qmp: _Qmp | None = None
        self.started = time.monotonic()
        self._command = self._argv(full_path, extra_cmdline)
        if memory is not None:
            self._command += ["-incoming", f"exec:cat {shlex.quote(str(memory))}"]
        self._errors = machine.folder / f"qemu-{machine.boots}.log"
        self.process = self._start()
        if memory is not None:
            self._go_on()
        self.root = Shell("root", self.root_port, machine.keys, machine.folder, shared=True)
        self.operator = Shell("operator", self.ssh_port, machine.keys, machine.folder)

    def _start(self) -> subprocess.Popen[bytes]:
        with self._errors.open("ab") as sink:
            return subprocess.Popen(
                self._command,
                env=tools.environment(),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
            )

    def _go_on(self) -> None:
        """Wait until the memory is loaded; it was saved while the machine stood still."""
        deadline = time.monotonic() + 120
        while not self._qmp_path.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        while self._connect().execute("query-status")["status"] == "inmigrate":
            self._must_run("its memory")
            time.sleep(0.05)
        self._connect().execute("cont")

    def _argv(self, full_path: bool, extra_cmdline: str) -> list[str]:
        machine = self.machine
        cmdline = "nvme_core.multipath=N systemd.show_status=yes "
        words = (PATIENCE, "" if kvm_works() else EMULATED, extra_cmdline)
        cmdline += " ".join(word for word in words if word)
        smbios = [f"type=1,manufacturer=Amazon EC2,product={machine.machine_type}"]
        smbios += [
            "type=11,value=io.systemd.credential.binary:"
            f"{name}={base64.b64encode(text.encode()).decode()}"
            for name, text in machine.credentials().items()
        ]
        if full_path:
            smbios.append(f"type=11,value=io.systemd.stub.kernel-cmdline-extra={cmdline}")
        argv = [*tools.qemu(), "-machine", "q35", *acceleration()]
        argv += ["-m", str(machine.memory_mib), "-display", "none", "-nodefaults"]
        argv += [
            # The image below is only read, also by guests of the lab, which lock it.
            "-drive", f"if=none,id=root,file={machine.overlay},format=qcow2,discard=unmap"
            ",backing.file.locking=off",
            "-device", f"{machine.root_device},drive=root,serial=rig-root"
            + (",bootindex=0" if full_path else ""),
            "-drive", f"if=none,id=carrier,file={machine.carrier.disk},format=raw",
            "-device", "virtio-blk-pci,drive=carrier,serial=rig-carrier",
            # Nothing leaves this machine; only SSH comes in, from this host.
            "-netdev", "user,id=net,restrict=on"
            f",hostfwd=tcp:127.0.0.1:{self.ssh_port}-:22"
            f",hostfwd=tcp:127.0.0.1:{self.root_port}-:2222",
            "-device", "virtio-net-pci,netdev=net,romfile=",
            "-device", "virtio-rng-pci",
            "-serial", f"file:{self.console}",
            "-qmp", f"unix:{self._qmp_path},server=on,wait=off",
        ]  # fmt: skip
        if machine.seed is not None:
            argv += ["-drive", f"if=none,id=seed,file={machine.seed},format=raw,readonly=on"]
            argv += ["-device", "virtio-blk-pci,drive=seed"]
        for number, drive in enumerate(machine.plugged):
            argv += [
                "-drive",
                f"if=none,id=plugged{number},file={machine.plugged_file(number)},format=raw"
                ",discard=unmap",
                "-device", f"pcie-root-port,id=slot{number},chassis={number + 1},slot={number + 1}",
                "-device",
                f"nvme,id=nvme{number},bus=slot{number},drive=plugged{number}"
                f",serial={drive.serial}",
            ]  # fmt: skip
        for value in smbios:
            argv += ["-smbios", value]
        argv += machine.extra
        if full_path:
            firmware = tools_tree() / "usr" / "share" / "OVMF"
            variables = machine.folder / "efivars.fd"
            if not variables.exists():
                variables.write_bytes((firmware / "OVMF_VARS_4M.fd").read_bytes())
            argv += [
                "-drive",
                f"if=pflash,unit=0,format=raw,readonly=on,file={firmware}/OVMF_CODE_4M.fd",
                "-drive", f"if=pflash,unit=1,format=raw,file={variables}",
            ]  # fmt: skip
        else:
            # By its label, because NVMe drives are numbered as they answer.
            root = "PARTLABEL=stripewright-root rootwait" if machine.plugged else "/dev/nvme0n1p2"
            append = f"console=ttyS0 root={root} rw quiet {cmdline}"
            argv += ["-kernel", str(machine.image.kernel), "-append", append]
        return argv

    # ------------------------------------------------------------------- talking

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
                    f"console, registers and memory are in {kept}",
                )
            if time.monotonic() - shown > 20:
                shown = time.monotonic()
                say(f"booting ({waited:.0f} s)")
            time.sleep(1)
        return time.monotonic() - self.started

    def _keep_what_hangs(self) -> Path:
        """What there is to see of a boot that does not come up, beside the images."""
        hangs = cache_root() / "hangs"
        kept = hangs / f"{time.time():.0f}"
        kept.mkdir(parents=True)
        if self.console.exists():
            shutil.copy(self.console, kept / "console.log")
        qmp = self._connect()
        qmp.execute("stop")
        registers = qmp.execute("human-monitor-command", **{"command-line": "info registers -a"})
        (kept / "registers.txt").write_text(str(registers))
        qmp.execute(
            "dump-guest-memory", paging=False, format="kdump-zlib", protocol=f"file:{kept}/memory"
        )
        forget_old(hangs, KEEP_HANGS)
        return kept

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
            last = self._errors.read_text(errors="replace").strip()[-500:]
            raise RigError(f"QEMU ended while waiting for {waiting_for}: {last}", str(self.console))

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

    # ------------------------------------------------------------------ its drives

    def pull(self, number: int) -> None:
        """Take a plugged drive out while the machine runs."""
        self._connect().execute("device_del", id=f"nvme{number}")

    def limit(self, number: int, bytes_per_second: int) -> None:
        """Let a plugged drive read and write no more than that; 0 for no limit."""
        rates = dict.fromkeys(("bps_rd", "bps_wr", "iops", "iops_rd", "iops_wr"), 0)
        self._connect().execute(
            "block_set_io_throttle", id=f"nvme{number}", bps=bytes_per_second, **rates
        )

    # ------------------------------------------------------------------ stopping

    def save(self, memory: Path) -> None:
        """Stop it where it is, write its memory to ``memory`` and end QEMU; its disks stay."""
        self.root.close()
        qmp = self._connect()
        qmp.execute("stop")
        qmp.execute("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
        qmp.execute("migrate", uri=f"exec:cat > {shlex.quote(str(memory))}")
        while (state := qmp.execute("query-migrate")["status"]) != "completed":
            if state == "failed":
                raise RigError("QEMU could not save the machine", str(self._errors))
            time.sleep(0.2)
        qmp.execute("quit")
        self._wait_off(60)

    def shutdown(self, deadline_seconds: float = 240) -> None:
        """Press the power button and wait for the machine to be off."""
        self.root.close()
        self._connect().execute("system_powerdown")
        self._wait_off(deadline_seconds)

    def _wait_off(self, deadline_seconds: float) -> None:
        try:
            self.process.wait(deadline_seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise RigError(
                f"the machine was not off after {deadline_seconds:.0f} s", f"look at {self.console}"
            ) from None

    def power_cut(self) -> None:
        """Off, now: what the guest had not written is lost."""
        self.root.close()
        self.kill()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def _connect(self) -> _Qmp:
        if self._qmp is None:
            self._qmp = _Qmp(self._qmp_path)
        return self._qmp

    def __enter__(self) -> Guest:
        return self

    def __exit__(self, *_: object) -> None:
        self.root.close()
        self.kill()


class _Qmp:
    """QEMU's machine protocol, as far as it is needed."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(120)
        self._socket.connect(str(path))
        self._stream = self._socket.makefile("rwb")
        self._stream.readline()
        self.execute("qmp_capabilities")

    def execute(self, command: str, **arguments: str | int) -> Any:
        asked = {"execute": command, **({"arguments": arguments} if arguments else {})}
        self._stream.write(json.dumps(asked).encode() + b"\n")
        self._stream.flush()
        while True:
            answer = json.loads(self._stream.readline() or b'{"error": "closed"}')
            if "error" in answer:
                raise RigError(f"QEMU refuses {command}: {answer['error']}", "a defect of the rig")
            if "return" in answer:
                return answer["return"]


def _qemu_img(*arguments: str) -> None:
    done: subprocess.CompletedProcess[str] = subprocess.run(
        [*tools.argv("qemu-img"), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RigError(f"qemu-img failed: {done.stderr.strip()}", "is the disk full?")
