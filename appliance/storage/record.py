"""What the boot unit leaves behind: state.json, audit rows and the epoch.

The stripe is more important than its record. A history that cannot be opened or
written is reported once and then left alone; no error of it gets past this file.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from appliance.errors import OperatorError
from appliance.history.store import History
from appliance.model import EpochRecord
from appliance.system import journal

_T = TypeVar("_T")


def write_state(path: Path, document: Mapping[str, Any]) -> None:
    """Replace ``path`` in one step; everybody may read it."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


class Record:
    """The history, for as long as it works. ``problem`` says why it no longer does."""

    def __init__(self, db: Path) -> None:
        self.problem = ""
        self._db = db
        self._history: History | None = None

    def __enter__(self) -> Self:
        def open_it() -> History:
            history = History.open_writable(self._db)
            return history.__enter__()

        self._history = self._try(open_it, always=True)
        if self._history is not None:
            self._try(self._hand_over)
            if self._history.set_aside is not None:
                self.problem = f"history was damaged and set aside as {self._history.set_aside}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        history, self._history = self._history, None
        if history is not None:
            with contextlib.suppress(Exception):
                history.__exit__(kind, error, trace)

    def audit(self, digest: str, index: int, argv: Sequence[str], state: str, detail: str) -> None:
        """Note a step as ``started``, ``done`` or ``failed``."""
        if history := self._history:
            self._try(
                lambda: history.audit(
                    plan_digest=digest, step_index=index, argv=argv, state=state, detail=detail
                )
            )

    def current_epoch(self) -> EpochRecord | None:
        history = self._history
        return self._try(history.current_epoch) if history else None

    def ensure_epoch(self, fingerprint: Mapping[str, str]) -> EpochRecord | None:
        history = self._history
        return self._try(lambda: history.ensure_epoch(fingerprint)) if history else None

    def _hand_over(self) -> None:
        # Made by root at boot, written by the bench unit's user: it belongs to whom its
        # directory belongs to.
        owner = self._db.parent.stat()
        if self._db.stat().st_uid != owner.st_uid:
            os.chown(self._db, owner.st_uid, owner.st_gid)

    def _try(self, work: Callable[[], _T], *, always: bool = False) -> _T | None:
        if self._history is None and not always:
            return None
        try:
            return work()
        except Exception as error:  # whatever is wrong with history, the stripe comes first
            said = error.message if isinstance(error, OperatorError) else str(error)
            self.problem = f"history is not written: {said}"
            journal.event(
                journal.Event.HISTORY_UNAVAILABLE,
                self.problem,
                priority=journal.Priority.WARNING,
                db=str(self._db),
            )
            self._history = None
            return None
