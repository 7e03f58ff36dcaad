"""The text of the Layout screen: one volume in full, the draft, and what others plan. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rich.cells import cell_len
from textual.content import Content

from appliance.client.plan_requests import ApplyProgress, PlanNote
from appliance.client.volume_rows import Change, VolumeRow
from appliance.model.plans import Decision, Destruction, Volume
from appliance.model.toml_fields import size_text
from appliance.storage.policy.layout_draft import differences, disks_words
from appliance.storage.policy.preview import Preview, VolumePreview
from appliance.text import duration, size
from tui import marks
from tui.marks import Glyphs, Mark
from tui.screens.sheet import Item
from tui.widgets.panel import Line, cell, clean, labelled, section, wrapped

_LOST_ROWS = 8
_NOTES = 3
# The planner's word for a disk on which nothing was found.
BLANK = "blank"


def decision_mark(decision: Decision, glyphs: Glyphs) -> Mark:
    """What becomes of a volume, as glyph, word and colour."""
    return {
        Decision.CREATE: Mark(glyphs.label, "created", marks.BUSY),
        Decision.RECREATE: Mark(glyphs.bad, "recreated, empty", marks.BAD),
        Decision.REMOVE: Mark(glyphs.bad, "removed", marks.BAD),
        Decision.GROW: Mark(glyphs.label, "grown", marks.BUSY),
        Decision.ASSEMBLE: Mark(glyphs.good, "brought up", marks.GOOD),
        Decision.NOTHING: Mark(glyphs.good, "unchanged", marks.GOOD),
        Decision.WAIT: Mark(glyphs.busy, "waits for disks", marks.WARN),
        Decision.REFUSE: Mark(glyphs.warn, "refused", marks.WARN),
    }[decision]


def now_mark(row: VolumeRow, glyphs: Glyphs) -> Mark:
    """Whether the volume is there."""
    now = row.now
    if now is None:
        return Mark(glyphs.idle, "absent", marks.MUTED)
    if now.is_up:
        word = "mounted" if now.mounted else "up"
        lacks = now.degraded or now.problem
        return Mark(
            glyphs.warn if lacks else glyphs.good, word, marks.WARN if lacks else marks.GOOD
        )
    if now.outcome == "failed":
        return Mark(glyphs.bad, "failed", marks.BAD)
    return Mark(glyphs.warn, clean(now.outcome)[:10] or "not up", marks.WARN)


def change_mark(row: VolumeRow, glyphs: Glyphs) -> Mark:
    """What the draft does to the volume; no word where it does nothing."""
    refused = row.comes_to is not None and row.comes_to.decision is Decision.REFUSE
    if row.change is Change.REMOVED:
        return Mark(glyphs.bad, "removed", marks.BAD)
    if row.change is Change.LATER:
        return Mark(glyphs.bad, "two plans", marks.BAD)
    if row.change is Change.UNDECLARED:
        return Mark(glyphs.unknown, "undeclared", marks.WARN)
    if refused:
        return Mark(glyphs.warn, "refused", marks.WARN)
    if row.change is Change.NONE:
        return Mark("", "", "")
    return Mark(glyphs.label, row.change.value, marks.BUSY)


def declared_words(volume: Volume, glyphs: Glyphs) -> str:
    """A declaration in one line."""
    parts = [disks_words(volume.select), volume.stripe]
    if volume.stripe != "single":
        parts.append(f"chunk {size_text(volume.chunk_bytes)}")
    parts += [volume.filesystem, volume.mount or "not mounted"]
    parts += [f"on_short {volume.on_short}", f"on_loss {volume.on_loss}"]
    parts.append(f"wait {round(volume.patience_seconds)}s")
    if volume.mount_options:
        parts.append(" ".join(volume.mount_options))
    return f" {glyphs.dot} ".join(parts)


def geometry_words(preview: VolumePreview, glyphs: Glyphs) -> str:
    """Capacity and geometry in a line; empty where there is nothing to say."""
    parts = []
    if preview.capacity_bytes is not None:
        parts.append(f"{size(preview.capacity_bytes)} before the filesystem's own")
    if preview.disks:
        word = "disk" if len(preview.disks) == 1 else "disks"
        parts.append(f"{len(preview.disks)} {word}")
    if preview.chunk_bytes is not None:
        parts.append(f"chunk {size(preview.chunk_bytes)}")
    if preview.sunit_bytes is not None and preview.swidth_bytes is not None:
        parts.append(f"sunit {size(preview.sunit_bytes)}, swidth {size(preview.swidth_bytes)}")
    return f" {glyphs.dot} ".join(parts)


def verdict_lines(preview: VolumePreview, width: int, glyphs: Glyphs) -> list[Line]:
    """A declaration's preview: decision and reason, next step, capacity and geometry.

    The disks of one that is removed are listed with all that is overwritten.
    """
    mark = decision_mark(preview.decision, glyphs)
    if preview.decision is Decision.REMOVE:
        text = "its data is destroyed, its disks are freed"
        return labelled("would be", f"{mark.text}: {text}", width, mark.style)
    lines = labelled("would be", f"{mark.text}: {preview.reason}", width, mark.style)
    if preview.hint:
        lines += labelled("next", preview.hint, width)
    if words := geometry_words(preview, glyphs):
        lines += labelled("gives", words, width)
    if preview.unread:
        names = ", ".join(_short(path) for path in preview.unread)
        lines += labelled("unread", f"{names}: taken as blank; the plan reads it", width)
    return lines


def volume_lines(row: VolumeRow, width: int, glyphs: Glyphs) -> list[Line]:
    """The volume under the cursor: now, as declared, changed, and the preview."""
    mark = now_mark(row, glyphs)
    title = section(clean(row.name), Content.styled(mark.text, mark.style), width, glyphs)
    lines = [title]
    if row.now is not None:
        lines += labelled("now", _now_words(row, glyphs), width)
    if row.before is not None:
        lines += labelled("declared", declared_words(row.before, glyphs), width)
    lines += _change_lines(row, width, glyphs)
    if row.comes_to is not None:
        lines += verdict_lines(row.comes_to, width, glyphs)
    return lines


def _now_words(row: VolumeRow, glyphs: Glyphs) -> str:
    now = row.now
    if now is None:
        return ""
    parts = []
    if now.level:
        parts.append(f"{now.level} {glyphs.times} {len(now.members)}")
    elif now.members:
        parts.append(f"{len(now.members)} disk")
    if now.chunk_bytes:
        parts.append(f"chunk {size(now.chunk_bytes)}")
    if now.size_bytes:
        parts.append(size(now.size_bytes))
    if now.mount:
        parts.append(f"{'at' if now.mounted else 'not mounted at'} {now.mount}")
    if now.problem or not now.is_up:
        parts.append(now.problem or now.reason)
    return f" {glyphs.dot} ".join(parts)


def _change_lines(row: VolumeRow, width: int, glyphs: Glyphs) -> list[Line]:
    arrow = "->" if glyphs is marks.ASCII else "→"
    if row.change is Change.NEW and row.after is not None:
        return labelled("draft", f"new: {declared_words(row.after, glyphs)}", width)
    if row.change is Change.CHANGED and row.before is not None and row.after is not None:
        words = ", ".join(differences(row.before, row.after, arrow))
        return labelled("draft", words, width, marks.BUSY)
    if row.change is Change.REMOVED:
        return [] if row.comes_to else labelled("draft", "removed", width, marks.BAD)
    if row.change is Change.LATER and row.after is not None:
        changed = "" if row.before is None else ", ".join(differences(row.before, row.after, arrow))
        text = f"two plans: the first removes it and its data, the second recreates it, {changed}"
        return labelled("draft", text, width, marks.BAD)
    if row.change is Change.UNDECLARED:
        return labelled(
            "draft", "on the disks, but not declared in the layout; - removes it", width
        )
    return []


def outcome_lines(preview: Preview | None, why_none: str, width: int, glyphs: Glyphs) -> list[Line]:
    """What the draft as a whole destroys and leaves unused, from what boot saw of the disks."""
    if preview is None:
        why = wrapped(clean(why_none) or "reading", width=width, style=marks.MUTED, rows=4)
        return [section("PREVIEW", Content(""), width, glyphs), *why]
    lost = [one for one in preview.destroys if is_loss(one)]
    lines = [destroyed_heading("WOULD BE DESTROYED", len(lost), width, glyphs)]
    lines += destroyed_lines(lost[:_LOST_ROWS], width, glyphs)
    if len(lost) > _LOST_ROWS:
        words = f"  and {len(lost) - _LOST_ROWS} more disks: the plan lists them"
        lines.append(Content.styled(words, marks.BAD))
    paths = {one.path for one in lost}
    for disk in (one for one in preview.unused if one.path not in paths):
        lead = f"{glyphs.idle} {_short(disk.path):<9} {clean(disk.serial):<20}"
        text = f"{size(disk.size_bytes):>8}  unused: {clean(disk.reason)}"
        lines += wrapped(text, first=Content(lead), indent=33, width=width, style=marks.MUTED)
    return lines


def destroyed_heading(title: str, disks: int, width: int, glyphs: Glyphs) -> Line:
    """How many disks lose what they hold."""
    style = marks.BAD if disks else marks.GOOD
    words = f"{disks} {'disk' if disks == 1 else 'disks'}" if disks else "nothing"
    note = Content.styled(f"{glyphs.bad if disks else glyphs.good} {words}", style)
    return section(title, note, width, glyphs, style=f"bold {style}")


def destroyed_lines(found: Sequence[Destruction], width: int, glyphs: Glyphs) -> list[Line]:
    """Each disk that is overwritten: its name, serial and size, and what it holds now."""
    lines: list[Line] = []
    for one in found:
        glyph, style = (glyphs.bad, marks.BAD) if is_loss(one) else (glyphs.label, marks.BUSY)
        lead = f"{glyph} {clean(_short(one.path)):<9} {clean(one.serial) or '-':<20}"
        lines += wrapped(
            f"{size(one.size_bytes):>8}  {clean(one.holds)}",
            first=Content.styled(lead, style),
            indent=max(33, cell_len(lead) + 1),
            width=width,
        )
    return lines


def is_loss(one: Destruction) -> bool:
    """Whether something is overwritten that was there."""
    return one.holds != BLANK


def plan_items(
    notes: Sequence[PlanNote],
    *,
    mine: Collection[str],
    stale: Mapping[str, str],
    now: float,
    width: int,
    glyphs: Glyphs,
) -> list[Item]:
    """Each plan: whether it can still be confirmed, whose and how old it is, and what it does; why
    it is stale in a second line.
    """
    return [
        Item(
            note.digest,
            below(
                _note_line(note, mine=mine, stale=stale, now=now, glyphs=glyphs),
                clean(stale.get(note.digest) or note.words),
                width,
            ),
        )
        for note in notes
    ]


def below(name: Content, about: str, width: int) -> Content:
    """The name of an item with more words below it, on a terminal ``width`` cells wide."""
    room = min(72, width - 8)
    lines = wrapped(about, indent=2, width=room, style=marks.MUTED)
    return Content("\n").join([name, *lines])


def plans_lines(
    notes: Sequence[PlanNote],
    *,
    mine: Collection[str],
    stale: Mapping[str, str],
    now: float,
    width: int,
    glyphs: Glyphs,
) -> list[Line]:
    """The latest plans of all operators; nothing where there are none."""
    if not notes:
        return []
    hint = Content.styled("P lists them", marks.MUTED)
    return [
        section("PLANS SINCE BOOT", hint, width, glyphs),
        *(
            Content.assemble(
                _note_line(note, mine=mine, stale=stale, now=now, glyphs=glyphs),
                f"  {clean(note.words)}",
            )
            for note in notes[:_NOTES]
        ),
    ]


def _note_line(
    note: PlanNote,
    *,
    mine: Collection[str],
    stale: Mapping[str, str],
    now: float,
    glyphs: Glyphs,
) -> Line:
    mark = stale_mark(note, stale, glyphs)
    ago = duration(max(0.0, now - note.made_at_monotonic_s))
    steps = "no steps" if not note.steps else f"{note.steps} steps"
    return Content.assemble(
        (mark.text.ljust(10), mark.style),
        ("yours   " if note.digest in mine else "theirs  ", marks.MUTED),
        f"{ago} ago  {clean(note.digest[:12])}  {steps}",
    )


def stale_mark(note: PlanNote, stale: Mapping[str, str], glyphs: Glyphs) -> Mark:
    """Whether a plan can still be confirmed."""
    if note.decision is Decision.REFUSE:
        return Mark(glyphs.warn, "refused", marks.WARN)
    if stale.get(note.digest):
        return Mark(glyphs.warn, "stale", marks.WARN)
    if not note.steps:
        return Mark(glyphs.good, "nothing", marks.MUTED)
    return Mark(glyphs.label, "plan", marks.BUSY)


def applying_line(progress: ApplyProgress, now: float, width: int, glyphs: Glyphs) -> Line:
    """The plan that is being carried out, in a line."""
    seconds = duration(max(0.0, now - progress.at_monotonic_s))
    text = f"step {progress.step} of {progress.steps}: {clean(progress.why)}, {seconds}"
    lead = f"{glyphs.pointer} APPLYING "
    return Content.assemble(
        (lead, f"bold {marks.BUSY}"),
        cell(text, max(0, width - len(lead) - 12), glyphs),
        "  w shows it",
    )


def clipped(lines: Sequence[Line], width: int, glyphs: Glyphs) -> list[Line]:
    """``lines``, those that are too long cut with the ellipsis of these glyphs."""
    return [
        line
        if line.cell_length <= width
        else Content.assemble(line.truncate(max(0, width - 1)), glyphs.ellipsis)
        for line in lines
    ]


def _short(path: str) -> str:
    return path.removeprefix("/dev/")
