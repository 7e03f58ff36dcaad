"""Suites by name, and out of an operator's own file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from appliance.bench.suite import load_suite, parse_suite, suite_names
from appliance.errors import UsageError
from appliance.model import CONFIRM_SUITE, Suite

_MAX_BYTES = 64 * 1024
_ENDING = ".toml"


def find_suite(text: str) -> Suite:
    """The suite called ``text``, or the one in that file if it ends in ``.toml``.

    The file's name is the suite's. :class:`UsageError` for a file that cannot be read, and
    for one with the name of a suite that comes with the program: their results would be
    taken for one another's.
    """
    if not text.endswith(_ENDING):
        return load_suite(text)
    path = Path(text)
    name = path.name.removesuffix(_ENDING)
    if name in {*suite_names(), CONFIRM_SUITE}:
        raise UsageError(
            f"{text}: a suite called {name!r} comes with the program", "give the file another name"
        )
    return parse_suite(name, _read(path))


def _read(path: Path) -> str:
    try:
        # Non-blocking, so that a pipe in the file's place cannot hold us up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise UsageError(f"suite file {path} is not a file", "give a file with a suite")
            content = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        said = os.strerror(error.errno or 0) if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"cannot read suite file {path}: {said}",
            "give a file that you may read, or the name of a suite: stripewright suites",
        ) from error
    if len(content) > _MAX_BYTES:
        raise UsageError(
            f"suite file {path} is larger than {_MAX_BYTES // 1024} KiB", "no suite needs that"
        )
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"suite file {path} is not UTF-8", "correct the file") from error
