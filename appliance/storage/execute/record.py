"""What the boot unit leaves behind: state.json, audit rows and the epoch.

The stripe is more important than its record. A history that cannot be opened or
written is reported once and then left alone; no error of it gets past this file. The audit
goes to root's own spool then, and into the history with the next record that works. Root
never opens the history: a clerk without privileges does, and its answers are checked here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from appliance.model import EpochRecord
from appliance.state import codec
from appliance.storage.execute import audit_spool
from appliance.storage.execute.history_proxy import Clerk, ClerkError
from appliance.system import files, journal, liveness

# Bounds of what a clerk may say: an id as SQLite has them, texts as 24 disks need them.
_MAX_ID = 2**63 - 1
_MAX_TEXT = 8192
_EPOCH_BOUNDS = codec.Bounds(max_items=32, max_chars=_MAX_TEXT)
# A step does not wait for its row longer than this; opening checks the whole file.
_AUDIT_SECONDS = 5.0


def write_state(path: Path, document: Mapping[str, Any]) -> None:
    """Replace ``path`` in one step; everybody may read it. A full /run stops no stripe."""
    try:
        files.replace_json(path, document)
    except OSError as error:
        journal.event(
            journal.Event.HISTORY_UNAVAILABLE,
            f"the state {path} is not written: {error.strerror}",
            priority=journal.Priority.WARNING,
            db=str(path),
        )


class Record:
    """The history, for as long as it works. ``problem`` says why it no longer does."""

    def __init__(self, db: Path, spools: Sequence[Path] = ()) -> None:
        """``spools``: directories of root's for the audit of a history that does not work."""
        self.problem = ""
        self._db = db
        self._spools = spools
        self._clerk: Clerk | None = None

    def __enter__(self) -> Self:
        try:
            self._clerk = Clerk(self._db)
        except OSError as error:  # no process to be had
            self._give_up(str(error))
        set_aside = self._ask("open")
        if isinstance(set_aside, str):
            self.problem = f"history was damaged and set aside as {set_aside[:_MAX_TEXT]}"
        audit_spool.merge(self._spools, self._take)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        clerk, self._clerk = self._clerk, None
        if clerk is not None:
            clerk.dismiss()

    def audit(self, digest: str, index: int, argv: Sequence[str], state: str, detail: str) -> None:
        """Note a step as ``started``, ``done`` or ``failed``; it is on the disk then."""
        row = {
            "at": time.time(),
            "boot_id": liveness.boot_id(),
            "plan_digest": digest,
            "step_index": index,
            "argv": [_storable(word) for word in argv],
            "state": state,
            "detail": _storable(detail),
        }
        if not self._take([row]) and self._spools:
            audit_spool.keep(self._spools, row, self.problem)

    def _take(self, steps: Sequence[audit_spool.Row]) -> bool:
        """Whether the history has ``steps`` now, each once, though it may have had some before."""
        return self._ask("audit", _AUDIT_SECONDS, steps=list(steps)) is True

    def current_epoch(self) -> EpochRecord | None:
        return self._epoch(self._ask("current_epoch"))

    def ensure_epoch(self, fingerprint: Mapping[str, str]) -> EpochRecord | None:
        return self._epoch(self._ask("ensure_epoch", fingerprint=dict(fingerprint)))

    def _epoch(self, answer: object) -> EpochRecord | None:
        if answer is None:
            return None
        try:
            return parse_epoch(answer)
        except ValueError as error:
            self._give_up(f"{error}")
            return None

    def _ask(self, call: str, timeout_seconds: float | None = None, **values: object) -> object:
        if self._clerk is None:
            return None
        try:
            return self._clerk.ask(call, timeout_seconds, **values)
        except ClerkError as error:
            self._give_up(str(error))
            return None

    def _give_up(self, why: str) -> None:
        self.problem = f"history is not written: {why}"
        journal.event(
            journal.Event.HISTORY_UNAVAILABLE,
            self.problem,
            priority=journal.Priority.WARNING,
            db=str(self._db),
        )
        clerk, self._clerk = self._clerk, None
        if clerk is not None:
            clerk.dismiss(kill=True)


def _storable(words: str) -> str:
    """Text that SQLite takes: a row that it never took would stand in every later one's way."""
    return words.encode(errors="backslashreplace").decode()


def parse_epoch(answer: object) -> EpochRecord:
    """An epoch as the clerk sends it. :class:`ValueError` if it is anything else."""
    epoch = codec.decode(EpochRecord, answer, "an epoch", _EPOCH_BOUNDS)
    if not 0 < epoch.id <= _MAX_ID:
        raise ValueError("an epoch without a number")
    return epoch
