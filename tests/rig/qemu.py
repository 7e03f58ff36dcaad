"""Boot the built image in QEMU: by firmware, from NVMe, with the cloud's own kernel.

A boot that hangs is an error: console, registers and a dump of its memory are kept. Without
hardware virtualisation the machine has one processor, because of a fault that the dumps showed:
see :func:`acceleration`.

Three ways to boot the same image. By firmware, as cloud machines do: UEFI starts the unified kernel
image, BIOS starts GRUB, and both have an initrd. The *fast* path hands the image's kernel to QEMU
and needs neither, because the cloud kernel has NVMe, GPT and ext4 built in.

Credentials lie in the machine's SMBIOS tables.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.rig import processors, tools
from tests.rig.architecture import AMD64, ARM64, Architecture
from tests.rig.build import ROOT, tools_tree
from tests.rig.buses import Bus, Nvme
from tests.rig.cloud_link import CloudLink
from tests.rig.drives import Drive
from tests.rig.errors import RigError
from tests.rig.machine import ROOT_BYTES, Guest, Machine
from tests.rig.metadata import Instance
from tests.rig.secure_boot import enrolled

# Machine types with four instance-store disks (appliance/data has the same number).
FOUR_DISK_TYPE = "i4i.16xlarge"
_FOUR_DISK_TYPES = {AMD64: FOUR_DISK_TYPE, ARM64: "i4g.16xlarge"}
# Under software emulation everything in user space is ten to thirty times slower.
PATIENCE = "systemd.default_timeout_start_sec=600 systemd.default_device_timeout_sec=600"
# What the kernel does against Meltdown empties the emulated TLB at each system call.
EMULATED = "mitigations=off"
# By architecture, and whether with Secure Boot: EDK II's code, and its empty store of variables.
_FIRMWARE = {
    ("amd64", False): ("OVMF/OVMF_CODE_4M.fd", "OVMF/OVMF_VARS_4M.fd"),
    ("amd64", True): ("OVMF/OVMF_CODE_4M.secboot.fd", "OVMF/OVMF_VARS_4M.fd"),
    ("arm64", False): ("AAVMF/AAVMF_CODE.no-secboot.fd", "AAVMF/AAVMF_VARS.fd"),
}
# How the root disk is attached; its serial and place in the boot order are added to the last.
ROOT_BUSES = {
    "nvme": ("-device", "nvme,drive=root"),
    "virtio": ("-device", "virtio-blk-pci,drive=root"),
    "scsi": ("-device", "virtio-scsi-pci", "-device", "scsi-hd,drive=root"),
}


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


def acceleration(architecture: Architecture) -> list[str]:
    """QEMU's options for how the processors run.

    With software emulation there is one. A kernel patches its own text while it runs (static
    keys): it writes int3 over an instruction, waits for the other processors, writes the rest.
    QEMU's multi-threaded emulation lets another processor run the int3 after that is over, which
    the kernel takes for a fault of its own and panics ("Oops: int3"). Seen with QEMU 7.2 and 10.0
    within a minute of toggling a static key, each time; never with one processor, nor with one
    thread (docs/measurements.md has the figures, tests/rig/text_patching.py the program).
    """
    if architecture == ARM64:
        # Graviton2's. Emulation of later ones signs each return address, which it does slowly.
        return ["-accel", "tcg,thread=single", "-cpu", "neoverse-n1", "-smp", "1"]
    if kvm_works():
        return ["-accel", "kvm", "-cpu", "host", "-smp", "2"]
    return ["-accel", "tcg,thread=single", "-cpu", "Nehalem", "-smp", "1"]


@dataclass(slots=True)
class QemuMachine(Machine):
    """``machine_type`` is what DMI says it is, one with four disks unless it is given. ``plugged``
    are NVMe drives that QEMU emulates itself, each in a slot of its own, from which it can be
    pulled, and whose speed can be limited; their model is QEMU's, whatever they say. With
    ``local_bus`` ``scsi`` they are SCSI disks with Google's names, and DMI says that it is Google's
    machine. ``firmware`` is ``uefi``, ``bios``, or empty for the fast path, for which the root disk
    must be an NVMe drive; ``root_bus`` is one of ROOT_BUSES.
    ``instance`` is what it is in a cloud, if it is in one; it then tells its own type and key.
    With keys for ``secure_boot`` (tests/rig/secure_boot.py) UEFI starts only what they signed.
    """

    machine_type: str = ""
    plugged: tuple[Drive, ...] = ()
    local_bus: str = "nvme"
    extra: tuple[str, ...] = ()
    firmware: str = ""
    root_bus: str = "nvme"
    instance: Instance | None = None
    secure_boot: Path | None = None
    overlay: Path = field(init=False)

    def __post_init__(self, drives: tuple[Drive, ...]) -> None:
        Machine.__post_init__(self, drives)
        self.machine_type = self.machine_type or _FOUR_DISK_TYPES[self.image.architecture]
        self.overlay = self.folder / "root.qcow2"
        if not self.overlay.exists():
            _qemu_img(
                "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(self.image.disk),
                str(self.overlay), str(ROOT_BYTES),
            )  # fmt: skip
        for number, drive in enumerate(self.plugged):
            with self.plugged_file(number).open("wb") as file:
                file.truncate(drive.size_bytes)

    @property
    def bus(self) -> Bus:
        return Nvme(self.instance.drive_model()) if self.instance else Nvme()

    def plugged_file(self, number: int) -> Path:
        return self.folder / f"plugged{number}.raw"

    def credentials(self) -> dict[str, str]:
        given = Machine.credentials(self)
        if self.instance is not None:
            del given["ssh.authorized_keys.operator"]
        return given

    def boot(self, *, extra_cmdline: str = "") -> QemuGuest:
        return QemuGuest(self, extra_cmdline)


class QemuGuest(Guest):
    """One boot of a :class:`QemuMachine`."""

    machine: QemuMachine

    def __init__(self, machine: QemuMachine, extra_cmdline: str) -> None:
        super().__init__(machine)
        self._qmp_path = machine.folder / "qmp"
        self._qmp_path.unlink(missing_ok=True)
        self._qmp: _Qmp | None = None
        ports = {self.ssh_port: 22, self.root_port: 2222}
        instance = machine.instance
        self._link = CloudLink(instance, machine.folder, ports) if instance else None
        self._processor = None if kvm_works() else processors.take()
        self._errors = machine.folder / f"qemu-{machine.boots}.log"
        with self._errors.open("ab") as sink:
            self.process = subprocess.Popen(
                [*self._pinned(), *self._argv(extra_cmdline)],
                env=tools.environment(machine.image.architecture),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
            )

    def _pinned(self) -> list[str]:
        processor = self._processor
        inside = self._link.inside() if self._link else []
        if processor is None:
            return inside
        return [*inside, "taskset", "--cpu-list", str(processor.number)]

    def _argv(self, extra_cmdline: str) -> list[str]:
        machine = self.machine
        cmdline = "nvme_core.multipath=N systemd.show_status=yes "
        words = (PATIENCE, "" if kvm_works() else EMULATED, extra_cmdline)
        cmdline += " ".join(word for word in words if word)
        if machine.instance is not None:
            smbios = machine.instance.smbios()
        elif machine.local_bus == "scsi":
            smbios = ["type=1,manufacturer=Google,product=Google Compute Engine"]
        else:
            smbios = [f"type=1,manufacturer=Amazon EC2,product={machine.machine_type}"]
        smbios += [
            "type=11,value=io.systemd.credential.binary:"
            f"{name}={base64.b64encode(text.encode()).decode()}"
            for name, text in machine.credentials().items()
        ]
        if machine.firmware == "uefi":
            smbios.append(f"type=11,value=io.systemd.stub.kernel-cmdline-extra={cmdline}")
        secure = machine.secure_boot is not None
        architecture = machine.image.architecture
        board = "virt" if architecture == ARM64 else "q35,smm=on" if secure else "q35"
        argv = [*tools.qemu(architecture), "-machine", board, *acceleration(architecture)]
        argv += ["-m", str(machine.memory_mib), "-display", "none", "-nodefaults"]
        argv += [
            # The image below is only read, also by guests of the lab, which lock it.
            "-drive", f"if=none,id=root,file={machine.overlay},format=qcow2,discard=unmap"
            ",backing.file.locking=off",
            *ROOT_BUSES[machine.root_bus][:-1],
            f"{ROOT_BUSES[machine.root_bus][-1]},serial=rig-root"
            + (",bootindex=0" if machine.firmware else ""),
            "-drive", f"if=none,id=carrier,file={machine.carrier.disk},format=raw",
            "-device", "virtio-blk-pci,drive=carrier,serial=rig-carrier",
            "-netdev", self._link.device() if self._link else self._user_network(),
            "-device", "virtio-net-pci,netdev=net,romfile=",
            "-device", "virtio-rng-pci",
            "-serial", f"file:{self.console}",
            "-qmp", f"unix:{self._qmp_path},server=on,wait=off",
        ]  # fmt: skip
        if machine.seed is not None:
            argv += ["-drive", f"if=none,id=seed,file={machine.seed},format=raw,readonly=on"]
            argv += ["-device", "virtio-blk-pci,drive=seed"]
        argv += self._plugged()
        for value in smbios:
            argv += ["-smbios", value]
        argv += machine.extra
        if machine.firmware == "uefi":
            firmware = tools_tree(architecture) / "usr" / "share"
            code, blank = _FIRMWARE[architecture.name, secure]
            variables = machine.folder / "efivars.fd"
            if machine.secure_boot is not None and not variables.exists():
                enrolled(machine.secure_boot, variables)
            if not variables.exists():
                variables.write_bytes((firmware / blank).read_bytes())
            argv += [
                "-drive", f"if=pflash,unit=0,format=raw,readonly=on,file={firmware}/{code}",
                "-drive", f"if=pflash,unit=1,format=raw,file={variables}",
            ]  # fmt: skip
            if secure:
                # Only system management mode writes to the variables, as on a real machine.
                argv += ["-global", "driver=cfi.pflash01,property=secure,value=on"]
        elif not machine.firmware:
            append = f"console=ttyS0 root={ROOT} rootwait rw quiet {cmdline}"
            argv += ["-kernel", str(machine.image.kernel), "-append", append]
        return argv

    def _plugged(self) -> list[str]:
        """The drives that QEMU emulates."""
        machine = self.machine
        argv = ["-device", "virtio-scsi-pci,id=local"] if machine.local_bus == "scsi" else []
        for number, drive in enumerate(machine.plugged):
            file = f"file={machine.plugged_file(number)},format=raw,discard=unmap"
            argv += ["-drive", f"if=none,id=plugged{number},{file}"]
            said = f"drive=plugged{number},serial={drive.serial}"
            if machine.local_bus == "scsi":
                said += f",scsi-id={number + 1},vendor=Google,product=EphemeralDisk"
                argv += ["-device", f"scsi-hd,bus=local.0,{said}"]
            else:
                place = f"id=slot{number},chassis={number + 1},slot={number + 1}"
                argv += ["-device", f"pcie-root-port,{place}"]
                argv += ["-device", f"nvme,id=nvme{number},bus=slot{number},{said}"]
        return argv

    def _user_network(self) -> str:
        """Nothing leaves the machine; only SSH comes in, from this host."""
        return (
            "user,id=net,restrict=on"
            f",hostfwd=tcp:127.0.0.1:{self.ssh_port}-:22"
            f",hostfwd=tcp:127.0.0.1:{self.root_port}-:2222"
        )

    def _look_into(self, kept: Path) -> None:
        qmp = self._connect()
        qmp.execute("stop")
        registers = qmp.execute("human-monitor-command", **{"command-line": "info registers -a"})
        (kept / "registers.txt").write_text(str(registers))
        qmp.execute(
            "dump-guest-memory", paging=False, format="kdump-zlib", protocol=f"file:{kept}/memory"
        )

    def _last_words(self) -> str:
        last = self._errors.read_text(errors="replace").strip()[-500:]
        return f"QEMU said: {last}; its console is {self.console}"

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

    def _press_power(self) -> None:
        self._connect().execute("system_powerdown")

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self._processor is not None:
            self._processor.give_back()
        if self._link is not None:
            self._link.close()

    def _connect(self) -> _Qmp:
        if self._qmp is None:
            self._qmp = _Qmp(self._qmp_path)
        return self._qmp


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
