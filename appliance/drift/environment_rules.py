"""Environment drift: what the volumes work in, against the boot unit's note and the boot before.
Pure.

A kernel, fio or machine type that changed opened a new epoch, and is told for as long as that is
the current one, so that a change of figures can be explained by it. The rest is compared with
what was noted when the volumes came up, and that with the same of the boot before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from appliance import paths
from appliance.drift.codes import fact
from appliance.drift.observation import (
    Health,
    Observation,
    is_same,
    kernel_name,
)
from appliance.model import surroundings as names
from appliance.model.findings import DriftSeverity, Fact
from appliance.model.runs import EpochRecord
from appliance.state.boot_state import BootMember, BootVolume

_EPOCHS = {
    names.KERNEL: "ENV-KERNEL",
    names.FIO: "ENV-FIO",
    names.MACHINE_TYPE: "ENV-MACHINE-TYPE",
}
_PROCESSORS = {
    names.MAX_CSTATE: "intel_idle's max_cstate",
    names.IDLE_STATES: "the processors' idle states",
    names.CPU_LATENCY: "the CPU latency that suites ask for (µs)",
}
# What each disk has: code, words, unit, and the file below /sys/block that sets it.
_DISKS = {
    names.SCHEDULER: ("ENV-SCHEDULER", "I/O scheduler", "", "queue/scheduler"),
    names.IO_TIMEOUT: ("ENV-IO-TIMEOUT", "I/O timeout", " ms", "queue/io_timeout"),
    names.FIRMWARE: ("ENV-FIRMWARE", "firmware", "", ""),
}
_RELOAD = "as root: systemctl reload stripewright-assemble.service"
# The bits of the critical warning: NVM Express Base Specification 2.0, SMART / Health Information
# (log page 02h).
_CRITICAL_WARNING = (
    "spare blocks below the threshold",
    "temperature outside its limits",
    "reliability degraded by media or internal errors",
    "it has gone read-only",
    "volatile memory backup failed",
    "persistent memory region read-only or unreliable",
)
_TEMPERATURE = 2
_REPLACE = "copy what matters off the volume and replace the disk"


def judge(
    seen: Observation,
    *,
    epoch: EpochRecord | None = None,
    before: Mapping[str, str] | None = None,
) -> tuple[Fact, ...]:
    """What is other than it was.

    ``epoch`` is the current one of history; ``before`` is :attr:`Observation.surroundings` of
    the last other boot, ``None`` if nothing is known of one.
    """
    if not seen.surroundings_then:
        return ()
    before = before or {}
    return (
        *_epoch(seen, epoch),
        *_disks(seen, before),
        *_processors(seen, before),
        *_health(seen, before),
    )


# ------------------------------------------------------------------------------- the epoch


def _epoch(seen: Observation, epoch: EpochRecord | None) -> list[Fact]:
    facts = []
    for name, code in _EPOCHS.items():
        if epoch is not None and name in epoch.changed:
            old, new = epoch.changed[name]
            facts.append(
                fact(
                    code,
                    name,
                    expected=old,
                    observed=new,
                    identity=f"epoch {epoch.id}: {old} -> {new}",
                    evidence={"epoch": epoch.id},
                    since=f"before epoch {epoch.id}",
                )
            )
        then, now = seen.surroundings_then.get(name), seen.surroundings_now.get(name)
        if then and now and then != now:
            facts.append(
                fact(
                    code,
                    name,
                    expected=then,
                    observed=now,
                    since="when the volumes came up",
                    next_step=f"stripewright status; to open a new epoch, {_RELOAD}",
                )
            )
    return facts


# ------------------------------------------------------------------------------- the disks


_DECLARED = "as the layout declares"


@dataclass(frozen=True, slots=True)
class _Change:
    """``since`` says against what, in words."""

    expected: str
    observed: str
    since: str


def _change(
    seen: Observation, before: Mapping[str, str], name: str, declared: str = ""
) -> _Change | None:
    """How the value is other than declared, than at boot, or than at the boot before."""
    then, now = seen.surroundings_then.get(name), seen.surroundings_now.get(name)
    if now is None:
        return None
    if declared:
        return None if now == declared else _Change(declared, now, _DECLARED)
    if then is not None and now != then:
        return _Change(then, now, "as when the volumes came up")
    last = before.get(name)
    if last is not None and last != now:
        return _Change(last, now, "as at the boot before")
    return None


def _disks(seen: Observation, before: Mapping[str, str]) -> list[Fact]:
    """One fact for one disk; disks of a volume that changed alike are one fact together."""
    tuning = seen.layout.tuning
    timeout = tuning.io_timeout_seconds
    declared = {
        names.SCHEDULER: tuning.scheduler or "",
        names.IO_TIMEOUT: "" if timeout is None else str(timeout * 1000),
    }
    facts = []
    for name, (code, what, unit, file) in _DISKS.items():
        for volume in seen.volumes:
            alike: dict[_Change, list[BootMember]] = {}
            for member in volume.members:
                change = _change(seen, before, f"{name}{member.name}", declared.get(name, ""))
                if change is not None:
                    alike.setdefault(change, []).append(member)
            for change, members in alike.items():
                serials = [member.name for member in members]
                devices = [
                    kernel_name(disk.path)
                    for member in members
                    for disk in seen.disks
                    if is_same(member, disk)
                ]
                one = serials[0] if len(serials) == 1 else ""
                who = f"disk {one} has" if one else f"{len(serials)} disks of {volume.name} have"
                facts.append(
                    fact(
                        code,
                        one or volume.name,
                        expected=f"{what} {change.expected}{unit}",
                        observed=f"{what} {change.observed}{unit}",
                        identity=f"{','.join(serials)}: {change.expected} -> {change.observed}",
                        volume=volume.name,
                        member=one,
                        evidence={"members": ", ".join(serials), "devices": ", ".join(devices)},
                        who=who,
                        was=f"{change.expected}{unit}",
                        since=change.since,
                        restore=_restore(change, file, devices),
                    )
                )
    return facts


def _restore(change: _Change, file: str, devices: list[str]) -> str:
    if change.since == _DECLARED:
        return _RELOAD
    back = "; ".join(f"echo {change.expected} > /sys/block/{name}/{file}" for name in devices)
    return f"to set it back, as root: {back}"


# -------------------------------------------------------------------------- the processors


def _processors(seen: Observation, before: Mapping[str, str]) -> list[Fact]:
    # Another machine type has other processors; that is told already.
    if before.get(names.MACHINE_TYPE) != seen.surroundings_now.get(names.MACHINE_TYPE):
        before = {}
    facts = []
    for name, what in _PROCESSORS.items():
        change = _change(seen, before, name)
        if change is not None:
            was, now = change.expected or "none", change.observed or "none"
            facts.append(
                fact(
                    "ENV-CSTATE",
                    "processors",
                    expected=f"{what}: {was}",
                    observed=f"{what}: {now}",
                    what=what,
                    was=was,
                    now=now,
                    since=change.since,
                    look=f"cat {paths.CPU_LATENCY_FILE}; {_RELOAD}"
                    if name == names.CPU_LATENCY
                    else "cat /proc/cmdline; grep . /sys/devices/system/cpu/cpu0/cpuidle/*/disable",
                )
            )
    return facts


# ------------------------------------------------------------------------------- their health


def _health(seen: Observation, before: Mapping[str, str]) -> list[Fact]:
    """What the members of volumes say of their own condition (NVMe SMART log)."""
    if seen.seen is None:
        return []
    return [
        one
        for volume in seen.volumes
        for member in volume.members
        if (found := seen.seen.health.get(member.id)) is not None
        for one in _of_disk(volume, member, found, before)
    ]


def _of_disk(
    volume: BootVolume, member: BootMember, health: Health, before: Mapping[str, str]
) -> list[Fact]:
    def warn(
        warning: str,
        *,
        expected: str,
        observed: str,
        identity: str = "",
        severity: DriftSeverity = DriftSeverity.WARNING,
        remedy: str = _REPLACE,
    ) -> Fact:
        return fact(
            "DISK-HEALTH",
            member.name,
            expected=expected,
            observed=observed,
            identity=identity or observed,
            volume=volume.name,
            member=member.name,
            severity=severity,
            evidence={"device": member.path},
            warning=warning,
            remedy=remedy,
        )

    facts = []
    if health.critical_warning:
        said = [
            words
            for bit, words in enumerate(_CRITICAL_WARNING)
            if health.critical_warning & (1 << bit)
        ] or ["a warning that this version does not know"]
        # Heat passes; the rest does not.
        hot = health.critical_warning == _TEMPERATURE
        facts.append(
            warn(
                "; ".join(said),
                expected="critical_warning 0x00",
                observed=f"critical_warning 0x{health.critical_warning:02x}",
                severity=DriftSeverity.WARNING if hot else DriftSeverity.CRITICAL,
                remedy="check the cooling" if hot else _REPLACE,
            )
        )
    if health.percentage_used >= 100:
        facts.append(
            warn(
                f"it has used {health.percentage_used} % of its rated life",
                expected="percentage_used below 100 %",
                observed=f"percentage_used {health.percentage_used} %",
                identity="percentage_used",
            )
        )
    # Bit 0 says the same where the disk sets it.
    spare, least = health.available_spare, health.available_spare_threshold
    if spare < least and not health.critical_warning & 1:
        facts.append(
            warn(
                f"{spare} % of its spare blocks are left, the threshold is {least} %",
                expected=f"available_spare {least} % or more",
                observed=f"available_spare {spare} %",
                identity="available_spare",
                severity=DriftSeverity.CRITICAL,
            )
        )
    first = _errors_first(member, health, before)
    if health.media_errors > first:
        more = health.media_errors - first
        facts.append(
            warn(
                f"{more} new media errors ({health.media_errors} in all)",
                expected=f"{first} media errors",
                observed=f"{health.media_errors} media errors",
                identity="media_errors",
            )
        )
    return facts


def _errors_first(member: BootMember, health: Health, before: Mapping[str, str]) -> int:
    """The errors that are old news: those at the first look of this boot or of the last one."""
    text = before.get(f"{names.MEDIA_ERRORS}{member.name}", "")
    return min(health.first_media_errors, int(text) if text.isdecimal() else 2**63)
