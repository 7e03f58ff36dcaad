"""Send to the terminal only the cells that changed.

Textual redraws whole widgets' lines: a clock at the right end of a line sends the line. Of a screen
that changes once a second this is a third of what goes through SSH (docs/measurements.md).
"""

from __future__ import annotations

from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate


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
                written.append(Control.move_to(first, y).segment.text)
                written.append(strip.crop(first - x, last - x).render(console))
        return "".join(written)
