"""Environment drift: what the volumes work in, against the boot unit's note and the boot before.
Pure.

A kernel, fio or machine type that changed opened a new epoch, and is told for as long as that is
the current one, so that whoever wonders about other figures finds it. The rest is compared with
what was noted when the volumes came up, and that with the same of the boot before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from appliance import paths
from appliance.drift import health
from appliance.drift.facts import fact
from appliance.drift.observation import Observation
from appliance.model import EpochRecord, Fact
from appliance.model import surroundings as names

_EPOCHS = {
    names.KERNEL: ("ENV-KERNEL", "the kernel"),
    names.FIO: ("ENV-FIO", "fio"),
    names.MACHINE_TYPE: ("ENV-MACHINE-TYPE", "the machine type"),
}
_PROCESSORS = {
    names.MAX_CSTATE: "intel_idle's max_cstate",
    names.IDLE_STATES: "the processors' idle states",
    names.CPU_LATENCY: "the CPU latency that suites ask for (µs)",
}


@dataclass(frozen=True, slots=True)
class _OfDisks:
    """A value that each disk has; ``unit`` follows it in a sentence, ``set_by`` is a command."""

    code: str
    what: str
    unit: str
    set_by: str


_DISKS = {
    names.SCHEDULER: _OfDisks("ENV-SCHEDULER", "I/O scheduler", "", "queue/scheduler"),
    names.IO_TIMEOUT: _OfDisks("ENV-IO-TIMEOUT", "I/O timeout", " ms", "queue/io_timeout"),
    names.FIRMWARE: _OfDisks("ENV-FIRMWARE", "firmware", "", ""),
}
_AGAIN = "as root: systemctl reload stripewright-assemble.service"


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
        *health.judge(seen, before),
    )


# ------------------------------------------------------------------------------- the epoch


def _epoch(seen: Observation, epoch: EpochRecord | None) -> list[Fact]:
    facts = []
    for name, (code, what) in _EPOCHS.items():
        if epoch is not None and name in epoch.changed:
            old, new = epoch.changed[name]
            facts.append(
                fact(
                    code,
                    name,
                    f"{what} is {new}; before epoch {epoch.id} it was {old}",
                    expected=old,
                    observed=new,
                    identity=f"epoch {epoch.id}: {old} -> {new}",
                    next_step="compare the figures of both: stripewright compare A B",
                    evidence={"epoch": epoch.id},
                )
            )
        then, now = seen.surroundings_then.get(name), seen.surroundings_now.get(name)
        if then and now and then != now:
            facts.append(
                fact(
                    code,
                    name,
                    f"{what} is {now}; when the volumes came up it was {then}",
                    expected=then,
                    observed=now,
                    next_step=f"stripewright status; to open an epoch for it, {_AGAIN}",
                )
            )
    return facts


# ------------------------------------------------------------------------------- the disks


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
        return None if now == declared else _Change(declared, now, "as the layout declares")
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
    for name, of_disks in _DISKS.items():
        for volume in seen.volumes:
            alike: dict[_Change, list[str]] = {}
            for member in volume.members:
                change = _change(seen, before, f"{name}{member.name}", declared.get(name, ""))
                if change is not None:
                    alike.setdefault(change, []).append(member.name)
            facts += [
                _of_disks(seen, of_disks, volume.name, change, serials)
                for change, serials in alike.items()
            ]
    return facts


def _of_disks(
    seen: Observation, of_disks: _OfDisks, volume: str, change: _Change, serials: list[str]
) -> Fact:
    one = serials[0] if len(serials) == 1 else ""
    who = f"disk {one}" if one else f"{len(serials)} disks of volume {volume}"
    have = "has" if one else "have"
    kernel_names = [
        disk.kernel_name
        for member in serials
        for disk in seen.disks
        if disk.alive and member in {disk.serial, disk.id}
    ]
    return fact(
        of_disks.code,
        one or volume,
        f"{who} {have} {of_disks.what} {change.observed}{of_disks.unit},"
        f" not {change.expected}{of_disks.unit} {change.since}",
        expected=f"{of_disks.what} {change.expected}{of_disks.unit}",
        observed=f"{of_disks.what} {change.observed}{of_disks.unit}",
        identity=f"{','.join(serials)}: {change.expected} -> {change.observed}",
        next_step=_next_step(of_disks, change, kernel_names),
        volume=volume,
        member=one,
        evidence={"members": ", ".join(serials), "devices": ", ".join(kernel_names)},
    )


def _next_step(of_disks: _OfDisks, change: _Change, kernel_names: list[str]) -> str:
    if not of_disks.set_by:
        return "compare the figures of before and after: stripewright results"
    seen = f"grep . /sys/block/*/{of_disks.set_by}"
    if "declares" in change.since:
        return f"{seen}; {_AGAIN}"
    back = "; ".join(
        f"echo {change.expected} > /sys/block/{name}/{of_disks.set_by}" for name in kernel_names
    )
    return f"{seen}; to set it back, as root: {back}"


# -------------------------------------------------------------------------- the processors


def _processors(seen: Observation, before: Mapping[str, str]) -> list[Fact]:
    # Another machine type has other processors; that is told already.
    type_before = before.get(names.MACHINE_TYPE)
    if type_before != seen.surroundings_now.get(names.MACHINE_TYPE):
        before = {}
    facts = []
    for name, what in _PROCESSORS.items():
        change = _change(seen, before, name)
        if change is not None:
            expected, observed = change.expected or "none", change.observed or "none"
            facts.append(
                fact(
                    "ENV-CSTATE",
                    "processors",
                    f"{what}: {observed}, not {expected} {change.since}",
                    expected=f"{what}: {expected}",
                    observed=f"{what}: {observed}",
                    next_step=f"cat {paths.CPU_LATENCY_FILE}; {_AGAIN}"
                    if name == names.CPU_LATENCY
                    else "cat /proc/cmdline; grep . /sys/devices/system/cpu/cpu0/cpuidle/*/disable",
                )
            )
    return facts
