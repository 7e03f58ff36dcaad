"""The volumes as they are, as declared, and as the draft would have them, side by side. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum

from appliance.client.machine_status import Status, VolumeStatus
from appliance.model.plans import Layout, Volume
from appliance.storage.policy.layout_draft import Draft
from appliance.storage.policy.preview import Preview, VolumePreview


class Change(StrEnum):
    """What the draft does to a volume."""

    NONE = ""
    NEW = "new"
    CHANGED = "changed"
    REMOVED = "removed"
    LATER = "later"
    UNDECLARED = "undeclared"


@dataclass(frozen=True, slots=True)
class VolumeRow:
    """``before`` is the installed declaration, ``after`` the draft's; ``now`` what is there."""

    name: str
    change: Change
    before: Volume | None = None
    after: Volume | None = None
    now: VolumeStatus | None = None
    comes_to: VolumePreview | None = None

    @property
    def volume(self) -> Volume | None:
        return self.after or self.before


def volume_rows(
    base: Layout,
    draft: Draft,
    status: Status | None,
    preview: Preview | None,
    carried: Collection[str] = (),
) -> tuple[VolumeRow, ...]:
    """Volumes of the installed layout first, then those of the draft, then what only disks know."""
    now = {} if status is None else {one.name: one for one in status.volumes}
    comes_to = {} if preview is None else {one.name: one for one in preview.volumes}
    before = {one.name: one for one in base.volumes}
    after = {one.name: one for one in draft.layout(base).volumes}
    later = {one.name: one for one in draft.later}
    names = dict.fromkeys((*before, *after, *draft.removed, *now, *sorted(carried)))
    rows = []
    for name in names:
        if name in draft.removed:
            change = Change.LATER if name in later else Change.REMOVED
        elif name not in before:
            change = Change.NEW if name in after else Change.UNDECLARED
        else:
            change = Change.NONE if before[name] == after.get(name) else Change.CHANGED
        rows.append(
            VolumeRow(
                name,
                change,
                before.get(name),
                later.get(name, after.get(name)),
                now.get(name),
                comes_to.get(name),
            )
        )
    return tuple(rows)
