"""What disks say of their own condition, as root's look reads it from the NVMe SMART log. Pure.

Fields and bits: NVM Express Base Specification 2.0, SMART / Health Information (log page 02h).
"""

from __future__ import annotations

from collections.abc import Mapping

from appliance.drift.facts import fact
from appliance.drift.observation import Health, Observation
from appliance.model import DriftSeverity, Fact
from appliance.model import surroundings as names
from appliance.state.boot_state import BootMember, BootVolume

_CRITICAL_WARNING = (
    "its spare blocks have fallen below the threshold",
    "its temperature is outside of the limits",
    "its reliability is degraded by media or internal errors",
    "it has made itself read-only",
    "its volatile memory backup has failed",
    "its persistent memory region is read-only or unreliable",
)
_TEMPERATURE = 2
_REPLACE = "copy what matters off the volume and replace the disk"


def judge(seen: Observation, before: Mapping[str, str]) -> list[Fact]:
    """Facts of the members of volumes. ``before`` is as for :func:`environment.judge`."""
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
    facts = []
    if health.warning:
        said = [
            words for bit, words in enumerate(_CRITICAL_WARNING) if health.warning & (1 << bit)
        ] or ["a warning that this version does not know"]
        # Heat passes; the rest does not.
        hot = health.warning == _TEMPERATURE
        facts.append(
            _fact(
                volume,
                member,
                "; ".join(said),
                expected="critical_warning 0x00",
                observed=f"critical_warning 0x{health.warning:02x}",
                severity=DriftSeverity.WARNING if hot else DriftSeverity.CRITICAL,
                remedy="see to the cooling" if hot else _REPLACE,
            )
        )
    if health.used_percent >= 100:
        facts.append(
            _fact(
                volume,
                member,
                f"it has used {health.used_percent} % of the life it is rated for",
                expected="percentage_used below 100 %",
                observed=f"percentage_used {health.used_percent} %",
                identity="percentage_used",
            )
        )
    # Bit 0 says the same where the disk sets it.
    spare, least = health.spare_percent, health.spare_threshold_percent
    if spare < least and not health.warning & 1:
        facts.append(
            _fact(
                volume,
                member,
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
            _fact(
                volume,
                member,
                f"{more} more media errors ({health.media_errors} in all)",
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


def _fact(
    volume: BootVolume,
    member: BootMember,
    said: str,
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
        f"disk {member.name} of volume {volume.name} warns: {said}",
        expected=expected,
        observed=observed,
        identity=identity or observed,
        next_step=f"{remedy}; its own words, as root: nvme smart-log {member.path}",
        volume=volume.name,
        member=member.name,
        severity=severity,
        evidence={"device": member.path},
    )
