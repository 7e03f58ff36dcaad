"""``doctor --cloud``: what only a real cloud shows, as a report to attach to an issue.

It reads, without privilege as far as that goes; what it cannot see it says. It holds no key,
user-data or token: of keys the number, of cloud-init's errors the module and the kind.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from appliance import __version__, paths, text
from appliance.cli.output import Check, Verdict
from appliance.errors import OperatorError

if TYPE_CHECKING:
    from appliance.clouds.provider import Dmi, Provider
    from appliance.data import InstanceType
    from appliance.model.disks import Disk, Machine
    from appliance.system.kernel import Kernel

_SECURE_BOOT = "firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
# Its first bytes are the variable's attributes (efivarfs).
_ATTRIBUTE_BYTES = 4
_CLOUD_INIT = "run/cloud-init"
_STAGES = ("init-local", "init", "modules-config", "modules-final")
_MAX_BYTES = 4 * 1024 * 1024
# What cloud-init says of a module that failed: ('scripts_user', RuntimeError('…')).
_FAILED_MODULE = re.compile(r"\('(\w{1,40})', (\w{1,40})\(", re.ASCII)
_KEYS = ("etc/ssh/authorized_keys.d/operator", "run/authorized_keys.d/operator")
_CLOCK = "devices/system/clocksource/clocksource0"
_MOST = 100
_NEEDS_ROOT = "not seen: needs root"

# What was found, empty if it is not known, and what is in doubt about it.
_Said = tuple[str, str]


class _Here(NamedTuple):
    kernel: Kernel
    dmi: Dmi
    machine: Machine
    provider: Provider | None
    sold: InstanceType | None
    disks: Callable[[], tuple[Disk, ...]]
    db: Path

    def read(self, path: str) -> bytes:
        """A file below ``/``; :class:`OSError` if it cannot be read."""
        from appliance.system import files

        return files.read_bounded(self.kernel.root / path, _MAX_BYTES, follow=True)

    def sysfs(self, path: str) -> str:
        from appliance.system.kernel import read_text

        return read_text(self.kernel.sys_root / path)

    def local_disks(self) -> list[Disk]:
        from appliance.model.disks import DiskKind

        return [disk for disk in self.disks() if disk.kind is DiskKind.INSTANCE_STORE]


def examine(*, db: Path, kernel: Kernel | None = None) -> list[Check]:
    """The whole report. Never raises for what it finds or does not find."""
    from appliance.clouds.machine import read_dmi, read_machine
    from appliance.clouds.provider import provider
    from appliance.data import instance_type
    from appliance.system.kernel import Kernel

    kernel = kernel or Kernel()
    machine = read_machine(sys_root=kernel.sys_root, proc_root=kernel.proc_root, root=kernel.root)
    here = _Here(
        kernel=kernel,
        dmi=read_dmi(kernel.sys_root),
        machine=machine,
        provider=provider(machine.provider),
        sold=instance_type(machine.machine_type),
        disks=cache(lambda: _disks(kernel)),
        db=db,
    )
    checks = [_check(name, look, here) for name, look in _LOOKS.items()]
    # Where there are none to be had, "local disks" says why.
    with contextlib.suppress(Exception):
        checks += [
            _check(f"disk {_name(disk)}", partial(_disk, disk), here) for disk in here.disks()
        ]
    return checks


def _check(name: str, look: Callable[[_Here], _Said], here: _Here) -> Check:
    try:
        found, doubt = look(here)
    except PermissionError:
        return Check(name, Verdict.UNKNOWN, _NEEDS_ROOT)
    except OperatorError as error:
        return Check(name, Verdict.UNKNOWN, error.message, error.hint)
    except OSError as error:
        return Check(name, Verdict.UNKNOWN, f"not seen: {error.strerror or type(error).__name__}")
    # What comes from outside may have any shape, and one row must not cost the others.
    except Exception as error:
        return Check(name, Verdict.UNKNOWN, f"not understood: {type(error).__name__}")
    if doubt:
        return Check(name, Verdict.WARN, found, doubt)
    return Check(name, Verdict.OK if found else Verdict.UNKNOWN, found or "unknown")


def _disks(kernel: Kernel) -> tuple[Disk, ...]:
    """As an operator sees them, also for root: no disk is opened."""
    from appliance.storage.policy.layout import DEFAULT_LAYOUT, load_layout
    from appliance.storage.probe.devices import probe

    try:
        layout = load_layout(kernel.root / paths.LAYOUT_FILE.relative_to("/"))
    except OperatorError:
        layout = DEFAULT_LAYOUT
    return probe(layout=layout, kernel=kernel, privileged=False).disks


# ------------------------------------------------------------------------------- the machine


def _report(_: _Here) -> _Said:
    return f"stripewright {__version__}, {text.moment(time.time())}", ""


def _dmi(here: _Here) -> _Said:
    told = (here.dmi.vendor, here.dmi.product_name, here.dmi.product_version)
    return ", ".join(text.bounded(one, _MOST) for one in told if one), ""


def _metadata(here: _Here) -> _Said:
    """The type as the metadata has it, whatever DMI says; of Google, the owner's attribute."""
    from appliance.clouds.machine import INSTANCE_DATA, metadata
    from appliance.clouds.provider import Dmi

    told = metadata(here.read(INSTANCE_DATA))
    # Without DMI's own word no provider prefers that.
    named = here.provider.told_type(Dmi(), told) if here.provider else None
    if not isinstance(named, str):
        return "no machine type", ""
    taken_for = here.machine.machine_type
    differs = f"the machine is taken for {text.bounded(taken_for, _MOST)}"
    return text.bounded(named, _MOST), differs if named != taken_for else ""


def _machine(here: _Here) -> _Said:
    machine = here.machine
    if here.provider is None:
        return "no known provider", "DMI names no known cloud"
    found = f"{machine.provider} {text.bounded(machine.machine_type, _MOST) or 'of no type'}"
    by = "DMI" if machine.machine_type == here.dmi.product_name else "metadata"
    if machine.type_doubt or here.provider.has_type(machine.machine_type):
        return f"{found} (by {by})", machine.type_doubt
    return f"{found} (by {by})", "nothing is known of this type: see 'stripewright types'"


def _firmware(here: _Here) -> _Said:
    found = "uefi" if (here.kernel.sys_root / "firmware/efi").is_dir() else "bios"
    modes = here.sold.boot_modes if here.sold else ()
    doubt = f"the type boots by {' or '.join(modes)}" if modes and found not in modes else ""
    return found, doubt


def _secure_boot(here: _Here) -> _Said:
    if not (here.kernel.sys_root / "firmware/efi").is_dir():
        return "none: BIOS", ""
    variable = here.kernel.sys_root / _SECURE_BOOT
    try:
        state = variable.read_bytes()
    except FileNotFoundError:
        # Where the variables are not mounted there is none at all.
        return "not offered by the firmware" if any(variable.parent.glob("*")) else "", ""
    return {b"\0": "off", b"\1": "on"}.get(state[_ATTRIBUTE_BYTES:], ""), ""


def _kernel(_: _Here) -> _Said:
    system = os.uname()
    return f"{system.release} {system.machine}", ""


def _hypervisor(here: _Here) -> _Said:
    said = here.sysfs("hypervisor/type")
    sold = here.sold.hypervisor if here.sold else ""
    of_type = f"{sold} (the type's)" if sold else ""
    return ", ".join(filter(None, (f"{said} (the kernel's)" if said else "", of_type))), ""


def _clock(here: _Here) -> _Said:
    current = here.sysfs(f"{_CLOCK}/current_clocksource").strip()
    available = here.sysfs(f"{_CLOCK}/available_clocksource").strip()
    return f"{current}, of {available}" if current else "", ""


# ----------------------------------------------------------------------------------- disks


def _name(disk: Disk) -> str:
    return disk.path.rpartition("/")[2]


def _words(disk: Disk) -> str:
    bus = disk.transport or "of no known bus"
    return f"{bus}, '{text.bounded(disk.model, _MOST)}', {text.size(disk.size_bytes)}"


def _root_disk(here: _Here) -> _Said:
    found = [disk for disk in here.disks() if disk.holds_root]
    return "; ".join(f"{disk.path}: {_words(disk)}" for disk in found), ""


def _local_disks(here: _Here) -> _Said:
    from appliance.cli.types import sold_disks
    from appliance.storage.policy import identity

    found = here.local_disks()
    sold, expected = here.sold, here.machine.expected_disks
    counted = f"{len(found)} found"
    if sold is None:
        return f"{counted}; what the type is sold with is not known", ""
    unchecked = ", not checked: the number is chosen, or in doubt" if expected is None else ""
    doubts = [f"{len(found)} of {expected}"] if expected not in {None, len(found)} else []
    doubts += [
        f"{disk.path} has {text.size(disk.size_bytes)}"
        for disk in found
        if sold.disk_size_bytes and not identity.has_size(disk, sold)
    ]
    return f"{counted}; sold with {sold_disks(sold) or 'an unknown number'}{unchecked}", "; ".join(
        doubts
    )


def _disk(disk: Disk, here: _Here) -> _Said:
    from appliance.model.disks import DiskKind
    from appliance.storage.policy import identity

    rule = identity.data_rule(disk)
    milliseconds = here.kernel.attribute(_name(disk), "queue/io_timeout")
    timeout = f", io_timeout {milliseconds} ms" if milliseconds else ""
    found = f"{disk.kind}, {_words(disk)}{timeout}; rule: {rule.what if rule else 'none'}"
    known = rule is not None or disk.holds_root or disk.kind is not DiskKind.UNKNOWN
    return found, "" if known else disk.reason


def _nvme_timeouts(here: _Here) -> _Said:
    module = "module/nvme_core/parameters"
    found = ((name, here.sysfs(f"{module}/{name}")) for name in ("io_timeout", "admin_timeout"))
    return ", ".join(f"{name} {seconds} s" for name, seconds in found if seconds), ""


def _atomic_writes(here: _Here) -> _Said:
    from appliance.system.kernel import whole_number

    told = {
        _name(disk): here.kernel.attribute(_name(disk), "queue/atomic_write_max_bytes")
        for disk in here.local_disks()
    }
    published = here.sold.atomic_write_bytes if here.sold else None
    sizes = [
        f"{name} {text.size(whole_number(size)) if size else '?'}" for name, size in told.items()
    ]
    less = [name for name, size in told.items() if size and whole_number(size) < (published or 0)]
    return (
        f"published {text.size(published) if published else 'nothing'};"
        f" the kernel: {', '.join(sizes) or 'no local disk'}",
        f"less than published: {', '.join(less)}" if less else "",
    )


def _log_pages(here: _Here) -> _Said:
    """The provider's own counters: read by root's last look, and in the last run."""
    from appliance.bench import log_page
    from appliance.clouds.provider import provider
    from appliance.history import queries
    from appliance.storage.policy import identity

    having = []
    for disk in here.disks():
        rule = identity.data_rule(disk)
        cloud = provider(rule.provider) if rule else None
        if cloud and cloud.log_page and disk.transport == "nvme":
            having.append(_name(disk))
    if not having:
        return "no disk here has one", ""
    seen = log_page.recorded(here.kernel.root / paths.SEEN_FILE.relative_to("/"), 0.0)
    read = ", ".join(name for name in having if name in (seen or {})) or "none"
    looked = (
        f"root's last look read {read}" if seen is not None else "root has not looked since boot"
    )
    found = f"{', '.join(having)}; {looked}"
    try:
        with queries.open_readonly(here.db) as reader:
            last = [reader.results(run.id, histograms=False) for run in reader.runs(1)]
    except OperatorError:
        last = []
    if not last:
        return f"{found}; no run is on record", ""
    counted = any(one.provisioned or one.device_latencies for one in last[0])
    return f"{found}; the last run has {'its' if counted else 'no'} counters", ""


# ------------------------------------------------------------------------------- cloud-init


def _cloud_init(here: _Here) -> _Said:
    status = _v1(here.read(f"{_CLOUD_INIT}/status.json"))
    # NoCloud's has the address of its seed behind it, which may hold a password.
    source = str(status.get("datasource") or "").partition(" ")[0]
    stage = status.get("stage")
    stages = [one for name in _STAGES if isinstance(one := status.get(name), dict)]
    errors = [error for one in stages for error in _list(one.get("errors"))]
    recoverable = sum(
        len(_list(said))
        for one in stages
        if isinstance(levels := one.get("recoverable_errors"), dict)
        for said in levels.values()
    )
    done = (here.kernel.root / _CLOUD_INIT / "result.json").exists()
    state = "done" if done else f"at {stage}" if isinstance(stage, str) else "not done"
    found = f"{text.bounded(source or 'no data source', _MOST)}, {state}"
    found += f", {recoverable} recoverable errors" if recoverable else ""
    doubts = [_error(one) for one in errors]
    wanted = here.provider.datasource if here.provider else ""
    if wanted and f"DataSource{wanted}" not in source:
        doubts.append(f"the data source is not {wanted}")
    return found, "; ".join(doubts)


def _v1(raw: bytes) -> Mapping[str, Any]:
    import json

    document = json.loads(raw)["v1"]
    if not isinstance(document, dict):
        raise TypeError
    return document


def _list(found: object) -> list[object]:
    return found if isinstance(found, list) else []


def _error(said: object) -> str:
    """The module and the kind of error: the rest may quote user-data."""
    found = _FAILED_MODULE.match(str(said))
    return f"{found[1]} failed ({found[2]})" if found else "an error, see the journal as root"


def _keys(here: _Here) -> _Said:
    """How many keys the operator may log in with."""
    count, missing = 0, 0
    for path in _KEYS:
        try:
            lines = here.read(path).splitlines()
        except FileNotFoundError:
            missing += 1
            continue
        count += sum(1 for line in lines if line.strip() and not line.startswith(b"#"))
    if missing == len(_KEYS):
        return "", ""
    return str(count), "" if count else "no key has arrived: no operator can log in"


# ----------------------------------------------------------------------------------- figures


def _published(here: _Here) -> _Said:
    """What the type is sold with, and the last valid result of each job as a share of that."""
    from appliance.clouds.capability import percent_of_published
    from appliance.history import queries

    with queries.open_readonly(here.db) as reader:
        results = [one for _, one in reader.latest_results()]
    shares = [(one, percent_of_published(one)) for one in results]
    found = [
        f"{one.job} {one.direction}{f' on {one.member}' if one.member else ''}:"
        f" {text.count(one.iops)} IOPS, {share:.0f} % of what is published"
        for one, share in shares
        if share is not None
    ]
    sold = here.sold
    if sold and sold.read_iops and sold.write_iops:
        of_all = f"read {text.count(sold.read_iops)}, write {text.count(sold.write_iops)} IOPS"
        found.insert(0, f"{of_all} of all local disks of the type")
    return "; ".join(found), ""


_LOOKS: Mapping[str, Callable[[_Here], _Said]] = {
    "report": _report,
    "DMI": _dmi,
    "metadata": _metadata,
    "machine": _machine,
    "firmware": _firmware,
    "secure boot": _secure_boot,
    "kernel": _kernel,
    "hypervisor": _hypervisor,
    "clock source": _clock,
    "root disk": _root_disk,
    "local disks": _local_disks,
    "nvme_core": _nvme_timeouts,
    "atomic writes": _atomic_writes,
    "log page": _log_pages,
    "cloud-init": _cloud_init,
    "operator's keys": _keys,
    "published": _published,
}
