"""What is asked of a cloud provider, and which providers there are. Pure.

To add one: a module here with a ``PROVIDER``, rules in ``data/disk_models.toml`` that name that
module, and its machine types in ``data/instance_types.csv``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from appliance.data import DiskRule, disk_rules, instance_type
from appliance.model.disks import DiskKind

if TYPE_CHECKING:
    # Boot asks for no limits: a tenth of its imports.
    from appliance.model.measurement import Capability, Exceeded

# ``ds.meta_data`` of cloud-init's instance data: what the provider told at this boot.
Metadata = Mapping[str, object]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Dmi:
    """What the hypervisor wrote into the DMI tables."""

    vendor: str = ""
    product_name: str = ""
    product_version: str = ""
    asset_tag: str = ""


@dataclass(frozen=True, slots=True)
class NetworkLimits:
    """All network volumes of a machine together. Baseline and most differ where credits are."""

    baseline_iops: int
    max_iops: int
    baseline_bytes_per_s: int
    max_bytes_per_s: int
    source: str


@dataclass(frozen=True, slots=True)
class Attached:
    """What a provider may name a disk by. The NVMe identify pages are empty where the device
    does not give them; ``address`` is the SCSI LUN and the ``device_id`` (VMBus) of every
    device above the disk, nearest first.
    """

    rule: DiskRule
    namespace: int
    short_serial: str
    controller_page: Callable[[], bytes]
    namespace_page: Callable[[], bytes]
    address: Callable[[], tuple[str, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class LogPage:
    """A vendor's NVMe log page of exceeded limits; ``sizes_bytes`` to ask for, by the disk's
    kind, the longest first.
    """

    page_id: int
    sizes_bytes: Callable[[DiskKind], tuple[int, ...]]
    decode: Callable[[bytes], Exceeded | None]


@dataclass(frozen=True, slots=True)
class Agent:
    """A provider's agent that formats disks: its configuration below ``/``, and what that
    claims, as the disks' cloud names and where it says so.
    """

    file: str
    claims: Callable[[str], Iterator[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Provider:
    """One cloud.

    ``machine_type_pattern`` is the form of its machine types, for texts that mention one.
    ``told_type`` is a machine type that metadata tells better than DMI, of any type and not yet
    checked; if operators name it, in ``type_attribute``, only one of this provider's counts.
    ``told_disks`` are kernel names of instance storage that only metadata tells, and
    ``told_disk`` what such a disk is, in words. ``is_type`` knows machine types beside those of
    :func:`appliance.data.instance_types`, ``local`` published limits of so many local disks in one
    direction where the type alone does not tell; ``network`` those of all network volumes.
    ``describe`` says what a disk is better than its rule does, or nothing. ``datasource`` is its
    name in cloud-init (``Ec2``).
    """

    name: str
    is_here: Callable[[Dmi], bool]
    disk_name: Callable[[Attached], str]
    machine_type_pattern: str
    is_type: Callable[[str], bool] = lambda _: False
    local: Callable[[str, int, str], Capability | None] = lambda *_: None
    network: Callable[[str], NetworkLimits | None] = lambda _: None
    told_type: Callable[[Dmi, Metadata], object] = lambda *_: None
    type_attribute: str = ""
    told_disks: Callable[[str, Metadata], tuple[str, ...]] = lambda *_: ()
    told_disk: str = ""
    describe: Callable[[DiskRule, str], str] = lambda *_: ""
    datasource: str = ""
    log_page: LogPage | None = None
    agent: Agent | None = None

    def has_type(self, name: str) -> bool:
        """Whether anything is known of a machine type of this provider's."""
        found = instance_type(name)
        return self.is_type(name) or (found is not None and found.provider == self.name)


@cache
def providers() -> tuple[Provider, ...]:
    """Every provider, in the order of the rules for disks."""
    names = dict.fromkeys(rule.provider for rule in disk_rules())
    return tuple(import_module(f"{__package__}.{name}").PROVIDER for name in names)


def provider(name: str) -> Provider | None:
    """The provider that a machine or a rule names; ``None`` for ``unknown``."""
    return next((one for one in providers() if one.name == name), None)


def disk_count(machine_type: str) -> int | None:
    """How many instance-storage disks each machine of a type has, of any provider, if known."""
    found = instance_type(machine_type)
    return found.disk_count if found and not (found.chosen or found.in_doubt) else None


def is_type(machine_type: str) -> bool:
    """Whether anything is known of this machine type: of a mistyped one nothing is."""
    return instance_type(machine_type) is not None or any(
        one.is_type(machine_type) for one in providers()
    )


def page_text(raw: bytes) -> str:
    """ASCII text in a device's page, up to its first null byte."""
    return raw.split(b"\0", 1)[0].decode("ascii", errors="replace")


def plain_name(name: str) -> str:
    """``name`` if it is plain, else empty: a fabric target can say anything."""
    return name if _NAME.fullmatch(name) else ""
