"""The volumes as an operator wants them, before planning: changes to the layout. Pure.

A draft is not a layout but a set of changes to one, so that it stays valid when another
operator's plan changes the installed layout. A volume cannot be removed and recreated under its
name in one plan; the second half is kept ``later`` until the first plan has been carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from appliance.model.disks import Inventory
from appliance.model.plans import Layout, Selector, Volume
from appliance.model.toml_fields import size_text
from appliance.storage.formats import md
from appliance.storage.policy.layout import render_layout

_GROUP = "stripewright-"


@dataclass(frozen=True, slots=True)
class Draft:
    """``edits`` are volumes that are new or take the place of the one with their name,
    ``removed`` the names of those that are taken down, ``later`` what is made after that.
    """

    edits: tuple[Volume, ...] = ()
    removed: tuple[str, ...] = ()
    later: tuple[Volume, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.edits or self.removed or self.later)

    def exceeds(self, planned: Draft) -> bool:
        """Whether something of it is left to do when the plan of ``planned`` is carried out."""
        edits, removed = set(self.edits), set(self.removed)
        return bool(self.later or edits.difference(planned.edits) or removed - {*planned.removed})

    def layout(self, base: Layout) -> Layout:
        """``base`` with the changes."""
        edits = {volume.name: volume for volume in self.edits}
        kept = [
            edits.pop(volume.name, volume)
            for volume in base.volumes
            if volume.name not in self.removed
        ]
        return replace(base, volumes=(*kept, *edits.values()))

    def with_volume(self, base: Layout, volume: Volume, *, instead_of: str = "") -> Draft:
        """``volume`` new or changed; ``instead_of`` is the name that it had before.

        A volume that gets another name is another volume: the one of ``base`` is removed.
        """
        draft = self
        if instead_of and instead_of != volume.name:
            draft = draft.without(base, instead_of)
        others = tuple(one for one in draft.edits if one.name != volume.name)
        if volume in base.volumes:
            return replace(draft, edits=others)
        at = next((n for n, one in enumerate(draft.edits) if one.name == volume.name), len(others))
        return replace(draft, edits=(*others[:at], volume, *others[at:]))

    def without(self, base: Layout, name: str, *, carried: Collection[str] = ()) -> Draft:
        """Remove the volume ``name``, or drop it if only this draft has it.

        ``carried`` are the names that disks carry, declared or not.
        """
        left = replace(
            self,
            edits=tuple(one for one in self.edits if one.name != name),
            later=tuple(one for one in self.later if one.name != name),
        )
        if name not in base.volume_names and name not in carried:
            return left
        return replace(left, removed=tuple(dict.fromkeys((*self.removed, name))))

    def keeping(self, name: str) -> Draft:
        """Undo the removal of the volume ``name``."""
        return replace(
            self,
            removed=tuple(one for one in self.removed if one != name),
            later=tuple(one for one in self.later if one.name != name),
        )

    def in_two_plans(self, base: Layout, volume: Volume) -> Draft:
        """Remove the volume of that name by this plan and recreate it by the next."""
        draft = self.without(base, volume.name, carried=(volume.name,))
        return replace(draft, later=(*draft.later, volume))

    def carried_on(self, base: Layout, carried: Collection[str]) -> Draft:
        """What is left to do now that ``base`` is installed and disks carry ``carried``."""
        there = {*base.volume_names, *carried}
        due = tuple(volume for volume in self.later if volume.name not in there)
        edits = tuple(volume for volume in (*self.edits, *due) if volume not in base.volumes)
        return Draft(
            edits=edits,
            removed=tuple(name for name in self.removed if name in there),
            later=tuple(volume for volume in self.later if volume.name in there),
        )


def wanted(base: Layout, draft: Draft) -> tuple[str | None, tuple[str, ...]]:
    """What to ask root for: the text of the layout (``None``: the installed one), and the
    volumes to be taken down.
    """
    layout = draft.layout(base)
    text = None if layout.volumes == base.volumes else render_layout(layout)
    return text, draft.removed


def carried_names(inventory: Inventory | None) -> frozenset[str]:
    """Names of volumes that arrays and volume groups carry, declared or not."""
    if inventory is None:
        return frozenset()
    arrays = [one.name for one in inventory.arrays]
    arrays += [disk.md_member.array_name for disk in inventory.disks if disk.md_member]
    groups = [one.name for one in inventory.groups if one.name.startswith(_GROUP)]
    names = {md.volume_of(name) for name in arrays}
    return frozenset(
        {name for name in names if name} | {name.removeprefix(_GROUP) for name in groups}
    )


# ------------------------------------------------------------------------------ in words

_WORDS: tuple[tuple[str, Callable[[Volume], str]], ...] = (
    ("disks", lambda one: disks_words(one.select)),
    ("stripe", lambda one: one.stripe),
    ("chunk", lambda one: "none" if one.stripe == "single" else size_text(one.chunk_bytes)),
    ("raid10 layout", lambda one: one.raid10_layout),
    ("LVM extent", lambda one: size_text(one.lvm_extent_bytes)),
    ("filesystem", lambda one: one.filesystem),
    ("mount", lambda one: one.mount or "none"),
    ("on_short", lambda one: one.on_short),
    ("on_loss", lambda one: one.on_loss),
    ("wait", lambda one: f"{round(one.patience_seconds)}s"),
    ("mount options", lambda one: " ".join(one.mount_options) or "none"),
)


def disks_words(select: Selector) -> str:
    """Which disks are taken, in words."""
    if select.serials:
        number = len(select.serials)
        return f"{number} by serial: {', '.join(select.serials)}"
    what = f"of role {select.role}" if select.role else "instance storage"
    return f"all {what}" if select.count is None else f"{select.count} {what}"


def differences(before: Volume, after: Volume, arrow: str) -> tuple[str, ...]:
    """What is not the same in ``after``, each in a few words."""
    found = [
        f"{what} {words(before)} {arrow} {words(after)}"
        for what, words in _WORDS
        if words(before) != words(after)
    ]
    if before.options != after.options:
        found.append(f"{after.filesystem} options")
    if before.initialise_rate_bytes != after.initialise_rate_bytes:
        found.append("initialise_rate")
    return tuple(found)


def is_another_shape(before: Volume, after: Volume) -> bool:
    """Whether only recreating turns ``before`` into ``after``, as far as the layout tells; the
    planner knows about added and removed disks.
    """
    return (
        before.stripe != after.stripe
        or (after.stripe != "single" and before.chunk_bytes != after.chunk_bytes)
        or before.raid10_layout != after.raid10_layout
        or before.lvm_extent_bytes != after.lvm_extent_bytes
        or before.filesystem != after.filesystem
        or before.select != after.select
    )
