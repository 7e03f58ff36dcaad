"""Machine, layout and conditions in words, from a run and the epoch it belongs to. Pure."""

from __future__ import annotations

from appliance import text
from appliance.model import EpochRecord, RunRecord
from appliance.model.layout_words import BETWEEN_VOLUMES, filesystem_words, stripe_words
from appliance.report.markup import clipped
from appliance.report.page import NAME, FactGroup

_TARGETS = {
    "filesystem": "files in a directory",
    "raw-read": "the raw device, read only",
    "raw-write": "the raw device, overwritten",
}


def summary(run: RunRecord, epoch: EpochRecord | None) -> str:
    """What was measured, in one line."""
    own = _own_volume(run, epoch)
    parts = [
        run.machine_type or "machine type not known",
        stripe_words(own["stripe"]) if own.get("stripe") else run.device,
        filesystem_words(own.get("filesystem", "")),
    ]
    return ", ".join(clipped(part, NAME) for part in parts if part)


def facts(run: RunRecord, epoch: EpochRecord | None, host: str) -> tuple[FactGroup, ...]:
    """Everything that is recorded of the surroundings; what is not known is left out."""
    own = _own_volume(run, epoch)
    machine = [
        ("Type", run.machine_type or "not known"),
        ("Host", host),
        ("Kernel", own.get("kernel", "")),
        ("fio", run.fio_version or own.get("fio", "")),
        ("Engine", run.engine),
    ]
    layout = [
        ("Device", run.device or "not known"),
        ("Stripe", stripe_words(own.get("stripe", ""))),
        ("Filesystem", filesystem_words(own.get("filesystem", ""))),
        ("Mount options", own.get("mount_options", "")),
        *_members(run, own.get("serials", "")),
    ]
    took = "" if run.ended_at is None else text.duration(run.ended_at - run.started_at)
    measured = [
        ("Suite", run.suite),
        ("State", run.state.value),
        ("Began", text.moment(run.started_at)),
        ("Took", took),
        ("Target", run.target),
        ("Target kind", _TARGETS.get(run.target_kind, run.target_kind)),
        ("Time factor", f"{run.time_factor:g}" if run.scaled else ""),
    ]
    groups = [
        ("Machine", machine),
        ("Layout", layout),
        ("Run", measured),
        ("Conditions", list(run.conditions.items())),
        ("Epoch", _epoch(epoch)),
    ]
    return tuple(
        FactGroup(title, tuple((clipped(label, NAME), value) for label, value in pairs if value))
        for title, pairs in groups
        if any(value for _, value in pairs)
    )


def _own_volume(run: RunRecord, epoch: EpochRecord | None) -> dict[str, str]:
    """The fingerprint, narrowed to the run's own volume if only one can be it."""
    if epoch is None:
        return {}
    found = dict(epoch.fingerprint)
    serials = found.get("serials", "").split(BETWEEN_VOLUMES)
    fitting = [
        index
        for index, each in enumerate(serials)
        if len(serials) > 1 and len(each.split(",")) == len(run.members)
    ]
    if len(fitting) == 1:
        for key in ("serials", "stripe", "filesystem", "mount_options"):
            parts = found.get(key, "").split(BETWEEN_VOLUMES)
            if len(parts) == len(serials):
                found[key] = parts[fitting[0]]
    return found


def _members(run: RunRecord, serials: str) -> list[tuple[str, str]]:
    """Each member with its serial where they can be told to belong together."""
    known = serials.split(",") if serials else []
    if len(known) == len(run.members):
        return [
            (f"Member {slot}", f"{member}, serial {serial}" if serial else member)
            for slot, (member, serial) in enumerate(zip(run.members, known, strict=True))
        ]
    return [("Members", ", ".join(run.members)), ("Serials", serials)]


def _epoch(epoch: EpochRecord | None) -> list[tuple[str, str]]:
    if epoch is None:
        return []
    return [
        ("Number", str(epoch.id)),
        ("Since", text.moment(epoch.opened_at)),
        *(
            (f"Changed: {key}", f"{before or 'none'} → {after or 'none'}")
            for key, (before, after) in epoch.changed.items()
        ),
    ]
