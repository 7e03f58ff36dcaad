"""Removing the files that killed runs left: gigabytes that nobody else would look for.

Whoever opens the history marks a killed run, but only its own user may remove its files.
The row keeps that they may be left, until a process of that user has looked.
"""

from __future__ import annotations

from pathlib import Path

from appliance.bench.directory import private_directory
from appliance.errors import OperatorError
from appliance.history.store import History
from appliance.paths import BENCH_DIR_NAME


def clean(history: History, *, held: Path | None = None) -> None:
    """Clean up after every killed run that this user may clean up after.

    ``held`` is the directory that this process is in already: entering it removed what was
    there. The paths come from the file, which another user may have written; a private
    directory is entered only if it belongs to this user, through no link, by its one name.
    """
    for target in history.left_behind():
        path = Path(target)
        if path.name != BENCH_DIR_NAME or not path.is_absolute():
            continue
        if held != path:
            try:
                with private_directory(path):
                    pass  # entering it removes what is left
            except OperatorError:
                # Another user's, in use, or gone with its stripe (which may come back).
                continue
        history.mark_cleaned(target)
