"""What the screens remember of an operator from one time to the next: a small TOML file.

It is a convenience: a file that cannot be read or written, or says what makes no sense, costs a
line of words and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path

from appliance.text import printable
from tui.charts.markers import Marker
from tui.terminal import THEMES

# Days that a series is shown for, the last of it; None is all of it.
ZOOMS: Mapping[str, int | None] = {
    "last 30 days": 30, "last 90 days": 90, "all time": None, "last 7 days": 7,
}  # fmt: skip
# What is remembered, and the words for it: the palette, how charts are drawn, and the span of time
# that they show.
WORDS = {"theme": tuple(THEMES), "marker": tuple(Marker), "zoom": tuple(ZOOMS)}
_MOST_BYTES = 4096
_MOST_CHARS = 40


def settings_path(environ: Mapping[str, str]) -> Path | None:
    """Where they are kept; ``None`` if nothing says where the operator's files are."""
    state, home = environ.get("XDG_STATE_HOME", ""), environ.get("HOME", "")
    # The specification has relative ones ignored.
    if state.startswith("/"):
        return Path(state, "stripewright", "tui.toml")
    return Path(home, ".local", "state", "stripewright", "tui.toml") if home else None


class Settings:
    """Words by name; those of ``path``, or of nowhere. ``problem`` says what was ignored."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._words: dict[str, str] = {}
        self.problem = ""
        if path is not None:
            self._read(path)

    def _read(self, path: Path) -> None:
        try:
            text = _text(path)
            found = {} if text is None else tomllib.loads(text)
            self._words = {name: found[name] for name in WORDS if found.get(name) in WORDS[name]}
            ignored = ", ".join(
                f"{name} = {found[name]!r}"[:_MOST_CHARS]
                for name in found
                if name not in self._words
            )
            self.problem = ignored and printable(f"settings ignored: {ignored} in {path}")
        except (OSError, ValueError, RecursionError) as error:
            self.problem = printable(f"settings ignored: {path}: {error}".splitlines()[0])

    def get(self, name: str) -> str:
        """The word for ``name``; empty if none is remembered."""
        return self._words.get(name, "")

    def set(self, name: str, word: str) -> bool:
        """Remember ``word`` from now on; whether it is another. :meth:`write` keeps it."""
        if self._words.get(name) == word:
            return False
        self._words[name] = word
        return True

    def write(self) -> None:
        """Write the file; may block, raises ``OSError``."""
        if self._path is None:
            return
        lines = [f'{name} = "{word}"\n' for name, word in sorted(self._words.items())]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        draft = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            draft.write_text("".join(lines), encoding="utf-8")
            draft.replace(self._path)
        except OSError:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise


def _text(path: Path) -> str | None:
    """The file's text, ``None`` without one; only of a small plain file, that cannot hold us up."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(file, "rb") as opened:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode) or about.st_size > _MOST_BYTES:
            raise ValueError("not a small plain file")
        return opened.read(_MOST_BYTES).decode()
