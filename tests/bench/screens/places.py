"""Where the made-up machine is: what the measured program has to know, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Places:
    """All in ``folder``; ``root`` stands for ``/``."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def sys_block(self) -> Path:
        return self.folder / "block"

    @property
    def mountinfo(self) -> Path:
        return self.folder / "mountinfo"

    @property
    def history(self) -> Path:
        return self.root / "var/lib/stripewright/history.db"
