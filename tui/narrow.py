"""Send to the terminal only the cells that changed.

Textual cuts what it sends of a line at the right end of the change, and begins it where the widget
begins: a clock at the end of a line sends the line (docs/decisions/0037-terminals.md).
"""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate
from textual.strip import Strip


class NarrowUpdate(ChopsUpdate):
    """An update that is cut on both sides of what changed; Textual's own cuts the right one."""

    @classmethod
    def of(cls, update: ChopsUpdate) -> NarrowUpdate:
        """Make one of Textual's own."""
        return cls(update.chops, update.spans, update.chop_ends)

    def render_segments(self, console: Console) -> str:
        """What is written to the terminal: for each span where it begins, and its cells."""
        written: list[str] = []
        for y, left, right in self.spans:
            for end, (x, strip) in zip(self.chop_ends[y], self.chops[y].items(), strict=False):
                first, last = max(x, left), min(end, right)
                if strip is None or first >= last:
                    continue
                # Half a wide character is a blank, and that wipes all of it off a terminal.
                first -= _is_within(strip, first - x)
                last += _is_within(strip, last - x)
                written.append(Control.move_to(first, y).segment.text)
                written.append(strip.crop(first - x, last - x).render(console))
        return "".join(written)


def _is_within(strip: Strip, at: int) -> bool:
    """Whether the cell ``at`` is the second one of a wide character."""
    return at > 0 and cell_len(strip.crop(at - 1, at + 1).text[:1]) > 1
