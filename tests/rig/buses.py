"""How a guest's kernel turns files into drives: shell lines that root runs in it.

A QEMU guest has the kernel's own NVMe target, looped back, with the cloud's model strings. User
Mode Linux has no NVMe; its drives are SCSI disks of the kernel's SCSI target, with Google's names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

AMAZON_MODEL = "Amazon EC2 NVMe Instance Storage"


class Bus(Protocol):
    """Each method gives lines of a script that runs with ``set -e``. ``kind`` is "instance-store"
    or "network", as in appliance/data/disk_models.toml; ``file`` is the guest's.
    """

    def begin(self) -> list[str]: ...
    def attach(self, number: int, kind: str, serial: str, file: str) -> list[str]: ...
    def detach(self, number: int) -> list[str]: ...
    def enlarged(self, number: int, size_bytes: int) -> list[str]: ...
    def end(self) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class Nvme:
    """NVMe drives. ``nvme-loop`` and ``nvmet`` are modules of Debian's cloud kernel. ``model`` is
    that of instance storage.
    """

    model: str = AMAZON_MODEL
    _top: ClassVar[str] = "/sys/kernel/config/nvmet"

    def _subsystem(self, number: int | str) -> str:
        return f"{self._top}/subsystems/ec2-{number}"

    def begin(self) -> list[str]:
        port = f"{self._top}/ports/1"
        return [
            "modprobe -a nvmet nvme-loop",
            f"mkdir -p {port}",
            f"echo loop > {port}/addr_trtype",
        ]

    def attach(self, number: int, kind: str, serial: str, file: str) -> list[str]:
        subsystem = self._subsystem(number)
        model = self.model if kind == "instance-store" else "Amazon Elastic Block Store"
        return [
            f"mkdir {subsystem}",
            f"echo 1 > {subsystem}/attr_allow_any_host",
            f"printf %s {quoted(model)} > {subsystem}/attr_model",
            f"printf %s {quoted(serial)} > {subsystem}/attr_serial",
            f"mkdir {subsystem}/namespaces/1",
            f"printf %s {file} > {subsystem}/namespaces/1/device_path",
            f"echo 1 > {subsystem}/namespaces/1/enable",
            f"ln -s {subsystem} {self._top}/ports/1/subsystems/",
            f"nvme connect -t loop -n ec2-{number}",
        ]

    def detach(self, number: int) -> list[str]:
        subsystem = self._subsystem(number)
        return [
            f"nvme disconnect -n ec2-{number}",
            f"rm {self._top}/ports/1/subsystems/ec2-{number}",
            f"echo 0 > {subsystem}/namespaces/1/enable",
            f"rmdir {subsystem}/namespaces/1 {subsystem}",
        ]

    def enlarged(self, number: int, size_bytes: int) -> list[str]:
        return [f"echo 1 > {self._subsystem(number)}/namespaces/1/revalidate_size"]

    def end(self) -> list[str]:
        return [
            "nvme disconnect-all",
            f"rm -f {self._top}/ports/1/subsystems/*",
            f"for n in {self._subsystem('*')}; do echo 0 > $n/namespaces/1/enable; done",
        ]


class Scsi:
    """SCSI disks: LIO's file backend over its loopback fabric, as in tests/lab/rack.py."""

    _products: Mapping[str, str] = {"instance-store": "EphemeralDisk", "network": "PersistentDisk"}
    _top = "/sys/kernel/config/target"

    def _store(self, number: int | str) -> str:
        return f"{self._top}/core/fileio_0/drive{number}"

    def _port(self, number: int) -> str:
        return f"{self._top}/loopback/{self._name(number)}/tpgt_1"

    def _name(self, number: int) -> str:
        return f"naa.60014050000000{number + 1:02x}"

    def begin(self) -> list[str]:
        return [
            "modprobe -a configfs sd_mod target_core_file tcm_loop",
            "mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config",
        ]

    def attach(self, number: int, kind: str, serial: str, file: str) -> list[str]:
        store, port = self._store(number), self._port(number)
        size = f"$(stat -c %s {file})"
        return [
            f"mkdir -p {store} {port}/lun/lun_0",
            f"printf %s fd_dev_name={file},fd_dev_size={size},fd_buffered_io=1 > {store}/control",
            f"echo Google > {store}/wwn/vendor_id",
            f"echo {self._products[kind]} > {store}/wwn/product_id",
            f"printf %s {quoted(serial)} > {store}/wwn/vpd_unit_serial",
            f"echo 1 > {store}/enable",
            # It discards by WRITE SAME, of as many blocks as sd asks for: see tests/lab/rack.py.
            f"echo 1 > {store}/attrib/emulate_tpws",
            f"echo 1 > {store}/attrib/unmap_zeroes_data",
            f"echo {1 << 16} > {store}/attrib/max_write_same_len",
            # In sectors. The default, 8 MiB, would be LVM's and XFS's alignment.
            f"echo 128 > {store}/attrib/optimal_sectors",
            f"echo {self._name(number)} > {port}/nexus",
            f"ln -s {store} {port}/lun/lun_0/disk",
        ]

    def detach(self, number: int) -> list[str]:
        port = self._port(number)
        return [
            f"rm {port}/lun/lun_0/disk",
            f"rmdir {port}/lun/lun_0 {port} {port.rpartition('/')[0]} {self._store(number)}",
        ]

    def enlarged(self, number: int, size_bytes: int) -> list[str]:
        address = f"$(cut -d: -f1 {self._port(number)}/address):0:1:0"
        return [
            f"printf %s fd_dev_size={size_bytes} > {self._store(number)}/control",
            f"echo 1 > /sys/class/scsi_device/{address}/device/rescan",
        ]

    def end(self) -> list[str]:
        return [
            f"rm -f {self._top}/loopback/naa.*/tpgt_1/lun/lun_0/disk",
            f"rmdir {self._store('*')}",
        ]


def quoted(text: str) -> str:
    """``text`` as one word of a shell."""
    return "'" + text.replace("'", "'\\''") + "'"
