"""Environment drift: what the volumes work in, against the boot unit's note and the boot before.
Pure.

A kernel, fio or machine type that changed opened a new epoch, and is a fact for as long as that
is the current one, so that a change of figures can be explained by it. The rest is compared with
what was noted when the volumes came up, and that with the same of the boot before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from appliance import paths
from appliance.drift.codes import fact
from appliance.drift.looks.observation import Health, Observation, kernel_name
from appliance.model import surroundings as names
from appliance.model.findings import DriftSeverity, Fact
from appliance.model.runs import EpochRecord
from appliance.state.boot_state import BootMember

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
_TEMPERATURE = 2
_DECLARED = "as the layout declares"
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


def _epoch(seen: Observation, epoch: EpochRecord | None) -> Iterator[Fact]:
    for name, code in _EPOCHS.items():
        if epoch is not None and name in epoch.changed:
            old, new = epoch.changed[name]
            yield fact(
                code,
                old,
                new,
                subject=name,
                identity=f"epoch {epoch.id}: {old} -> {new}",
                evidence={"epoch": epoch.id},
                since=f"before epoch {epoch.id}",
            )
        then, now = seen.surroundings_then.get(name), seen.surroundings_now.get(name)
        if then and now and then != now:
            yield fact(
                code,
                then,
                now,
                subject=name,
                since="when the volumes came up",
                next_step=f"stripewright status; to open a new epoch, {_RELOAD}",
            )


class _Change(NamedTuple):
    """``since`` says against what, in words."""

    expected: str
    observed: str
    since: str


def _change(
    seen: Observation, before: Mapping[str, str], name: str, declared: str = ""
) -> _Change | None:
    """How the value is other than declared, than at boot, or than at the boot before."""
    now = seen.surroundings_now.get(name)
    compared = (
        (seen.surroundings_then.get(name), "as when the volumes came up"),
        (before.get(name), "as at the boot before"),
    )
    for then, since in ((declared, _DECLARED),) if declared else compared:
        if then is not None and now is not None and now != then:
            return _Change(then, now, since)
    return None


def _disks(seen: Observation, before: Mapping[str, str]) -> Iterator[Fact]:
    """One fact for one disk; disks of a volume that changed alike are one fact together."""
    tuning = seen.layout.tuning
    timeout = tuning.io_timeout_seconds
    declared = {
        names.SCHEDULER: tuning.scheduler or "",
        names.IO_TIMEOUT: "" if timeout is None else str(timeout * 1000),
    }
    for name, (code, what, unit, file) in _DISKS.items():
        for volume in seen.volumes:
            alike: dict[_Change, list[BootMember]] = {}
            for member in volume.members:
                change = _change(seen, before, f"{name}{member.name}", declared.get(name, ""))
                if change is not None:
                    alike.setdefault(change, []).append(member)
            for change, members in alike.items():
                serials = [member.name for member in members]
                devices = [kernel_name(disk.path) for m in members if (disk := seen.disk(m))]
                one = serials[0] if len(serials) == 1 else ""
                yield fact(
                    code,
                    f"{what} {change.expected}{unit}",
                    f"{what} {change.observed}{unit}",
                    subject=one,
                    identity=f"{','.join(serials)}: {change.expected} -> {change.observed}",
                    volume=volume.name,
                    member=one,
                    evidence={"members": ", ".join(serials), "devices": ", ".join(devices)},
                    who=f"disk {one} has" if one else f"{len(serials)} disks of {volume.name} have",
                    was=f"{change.expected}{unit}",
                    since=change.since,
                    restore=_restore(change, file, devices),
                )


def _restore(change: _Change, file: str, devices: list[str]) -> str:
    if change.since == _DECLARED:
        return _RELOAD
    back = "; ".join(f"echo {change.expected} > /sys/block/{name}/{file}" for name in devices)
    return f"to set it back, as root: {back}"


def _processors(seen: Observation, before: Mapping[str, str]) -> Iterator[Fact]:
    # Another machine type has other processors; that is a fact already.
    if before.get(names.MACHINE_TYPE) != seen.surroundings_now.get(names.MACHINE_TYPE):
        before = {}
    for name, what in _PROCESSORS.items():
        change = _change(seen, before, name)
        if change is not None:
            was, now = change.expected or "none", change.observed or "none"
            yield fact(
                "ENV-CSTATE",
                f"{what}: {was}",
                f"{what}: {now}",
                subject="processors",
                what=what,
                was=was,
                now=now,
                since=change.since,
                look=f"cat {paths.CPU_LATENCY_FILE}; {_RELOAD}"
                if name == names.CPU_LATENCY
                else "cat /proc/cmdline; grep . /sys/devices/system/cpu/cpu0/cpuidle/*/disable",
            )


def _health(seen: Observation, before: Mapping[str, str]) -> Iterator[Fact]:
    """What the members of volumes say of their own condition (NVMe SMART log)."""
    health = seen.seen.health if seen.seen else {}
    for volume in seen.volumes:
        for member in volume.members:
            found = health.get(member.id)
            noted = before.get(f"{names.MEDIA_ERRORS}{member.name}", "")
            for one in _warnings(found, noted) if found else ():
                yield fact(
                    "DISK-HEALTH",
                    one.expected,
                    one.observed,
                    subject=member.name,
                    identity=one.identity or one.observed,
                    volume=volume.name,
                    member=member.name,
                    severity=one.severity,
                    evidence={"device": member.path},
                    warning=one.words,
                    remedy=one.remedy,
                )


class _Warning(NamedTuple):
    words: str
    expected: str
    observed: str
    identity: str = ""
    severity: DriftSeverity = DriftSeverity.WARNING
    remedy: str = _REPLACE


def _warnings(health: Health, errors_before: str) -> Iterator[_Warning]:
    """``errors_before`` are the media errors at the first look of the last boot, if known."""
    critical = health.critical_warning
    if critical:
        # Heat passes; the rest does not.
        hot = critical == _TEMPERATURE
        yield _Warning(
            "; ".join(health.warnings),
            "critical_warning 0x00",
            f"critical_warning 0x{critical:02x}",
            severity=DriftSeverity.WARNING if hot else DriftSeverity.CRITICAL,
            remedy="check the cooling" if hot else _REPLACE,
        )
    used = health.percentage_used
    if used >= 100:
        yield _Warning(
            f"it has used {used} % of its rated life",
            "percentage_used below 100 %",
            f"percentage_used {used} %",
            "percentage_used",
        )
    spare, least = health.available_spare, health.available_spare_threshold
    # Bit 0 says the same where the disk sets it.
    if spare < least and not critical & 1:
        yield _Warning(
            f"{spare} % of its spare blocks are left, the threshold is {least} %",
            f"available_spare {least} % or more",
            f"available_spare {spare} %",
            "available_spare",
            DriftSeverity.CRITICAL,
        )
    # Errors at the first look of this boot, or of the last one, are old news.
    errors, first = health.media_errors, health.first_media_errors
    if errors_before.isdecimal():
        first = min(first, int(errors_before))
    if errors > first:
        yield _Warning(
            f"{errors - first} new media errors ({errors} in all)",
            f"{first} media errors",
            f"{errors} media errors",
            "media_errors",
        )
