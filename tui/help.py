"""Help, generated from the bindings that work on the present screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.binding import ActiveBinding, Binding
from textual.content import Content

from tui import marks
from tui.marks import Glyphs

_KEY_CELLS = 10
_NAME_CELLS = 16


def help_text(bindings: Iterable[tuple[str, Binding, str]], glyphs: Glyphs) -> Content:
    """Write a line for each (key as shown, binding, why disabled or ``''``), and the legend."""
    rows = list(bindings)
    screens = [f"{key} {binding.description}" for key, binding, _ in rows if _is_screen(binding)]
    lines = [Content("  ".join(screens))] if screens else []
    for key, binding, why_not in rows:
        if _is_screen(binding):
            continue
        lines.append(
            Content.assemble(
                (key.ljust(_KEY_CELLS), "bold" if not why_not else marks.MUTED),
                binding.description.capitalize().ljust(_NAME_CELLS),
                (binding.tooltip or "", marks.MUTED),
            )
        )
        if why_not:
            note = f"{'':{_KEY_CELLS + _NAME_CELLS}}not now: {why_not}"
            lines.append(Content.styled(note, marks.WARN))
    lines += [Content(""), *_legend(glyphs)]
    return Content("\n").join(lines)


def _is_screen(binding: Binding) -> bool:
    """Whether the key shows another screen: those are a line together."""
    return binding.action.startswith("app.show(")


def _legend(glyphs: Glyphs) -> list[Content]:
    """Say what the verdict marks mean."""
    return [
        Content.styled("verdicts of a result", marks.MUTED),
        Content.assemble(
            (f"{glyphs.good} valid", marks.GOOD), "          the number may be quoted and compared"
        ),
        Content.assemble((f"{glyphs.warn} CODE", marks.WARN), "           valid, with a warning"),
        Content.assemble(
            (f"{glyphs.label} CODE", marks.BUSY), "           valid; a named limit applied"
        ),
        Content.assemble(
            (f"{glyphs.bad} CODE", marks.BAD), "           cannot be true as measured; r says why"
        ),
    ]


def described(active: Mapping[str, ActiveBinding]) -> list[ActiveBinding]:
    """Pick the bindings that have our name and help text, each action once, in order."""
    seen = set()
    found = []
    for entry in active.values():
        action = entry.binding.action
        ours = entry.binding.id is not None or action.endswith("command_palette")
        identity = entry.binding.id or action
        if not ours or identity in seen or not entry.binding.tooltip:
            continue
        seen.add(identity)
        found.append(entry)
    return found
