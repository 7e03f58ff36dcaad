"""What an operator asks for, on its way to root and back.

The operator's ``plan`` leaves a request in the spool under the SHA-256 of its content and
starts ``stripewright-plan@<that hash>``. Everything in the spool is hostile: it is opened
without following links and without waiting, must be a regular file with one name and few
bytes, must have the hash that it is called by, and must be exactly what :func:`encode` would
write of it. What root planned goes into root's own directories, by the request's hash for
whoever asked, by the plan's digest for ``apply``, which never reads the spool.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.errors import OperatorError, StalePlan, UsageError
from appliance.model.plans import VOLUME_NAME
from appliance.state import codec
from appliance.state.codec import bounded
from appliance.system import files, spools

# A layout of 64 KiB is at most three times as long in JSON (two bytes of UTF-8 as \u00e9).
MAX_REQUEST_BYTES = 256 * 1024
# Of each kind in /run: enough for operators who compare plans, too little to fill memory.
KEPT = 16
# How long a plan can be confirmed after it was last made: what it showed is remembered so long.
PLAN_LIFETIME_SECONDS = 900.0
TOO_OLD = f"older than {PLAN_LIFETIME_SECONDS / 60:g} min"
# A request is read seconds after it was written; what is older was left by a crash, or on purpose.
MAX_AGE_SECONDS = 3600.0
_MAX_NAMES = 64
# So many names of the spool are looked at in one go: a full one must not hold a plan up.
_MAX_SWEEP = 20_000

_HASH = re.compile(r"[0-9a-f]{64}", re.ASCII)
# JSON can write half a surrogate, no file can hold it.
_CHARACTER = r"[^\0\ud800-\udfff]"
_AGAIN = "ask again: stripewright plan"
_PLAN_AGAIN = "plan again and confirm the digest that is shown: stripewright plan"


@dataclass(frozen=True, slots=True)
class Request:
    """``layout_text`` is a whole layout.toml, ``None`` for the installed one; ``remove`` are
    volumes, ``erase`` serials.
    """

    layout_text: str | None = bounded(
        default=None, max_chars=MAX_REQUEST_BYTES, pattern=f"{_CHARACTER}*"
    )
    remove: tuple[str, ...] = bounded(default=(), max_items=_MAX_NAMES, pattern=VOLUME_NAME)
    erase: tuple[str, ...] = bounded(
        default=(), max_items=_MAX_NAMES, pattern=f"{_CHARACTER}{{1,256}}"
    )


def boot_seconds() -> float:
    """Seconds since boot, those asleep among them; unlike the time of day it is never set."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def is_hash(text: str) -> bool:
    """Whether ``text`` can name a request or a plan: 64 hexadecimal digits, small letters."""
    return _HASH.fullmatch(text) is not None


def encode(request: Request) -> bytes:
    """The one way in which a request is written."""
    document = {
        "layout": request.layout_text,
        "remove": list(request.remove),
        "erase": list(request.erase),
    }
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode("ascii")


def decode(raw: bytes) -> Request:
    """The request in ``raw``; :class:`UsageError` if :func:`encode` would not write just that."""
    if len(raw) > MAX_REQUEST_BYTES:
        raise _not_a_request("it is too long")
    try:
        document = json.loads(raw.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise _not_a_request("it is not JSON") from error
    if not isinstance(document, dict):
        raise _not_a_request("it is not an object")
    try:
        named = {"layout_text": document.get("layout"), **document}
        request = codec.decode(Request, named)
    except codec.DecodeError as error:
        raise _not_a_request(str(error)) from error
    for names in (request.remove, request.erase):
        if len(set(names)) < len(names):
            raise _not_a_request("it has a name twice")
    # Also no other keys, and no other order of them.
    if encode(request) != raw:
        raise _not_a_request("it is not written as requests are")
    return request


def _not_a_request(why: str) -> UsageError:
    return UsageError(f"the request cannot be used: {why}", _AGAIN)


# ------------------------------------------------------------------------- the spool


def leave(spool: Path, request: Request) -> str:
    """Write ``request`` into the spool, as an operator; returns its hash."""
    raw = encode(request)
    if len(raw) > MAX_REQUEST_BYTES:
        raise UsageError(
            f"the layout is larger than {MAX_REQUEST_BYTES // 1024 - 1} KiB", "make it shorter"
        )
    return leave_bytes(spool, raw)


def leave_bytes(spool: Path, raw: bytes) -> str:
    """Write what is asked for into the spool under the hash of it, which is returned."""
    name = hashlib.sha256(raw).hexdigest()
    path = spool / f"{name}.json"
    with contextlib.suppress(OSError):
        path.unlink()  # our own, from a request that was interrupted
    try:
        descriptor = os.open(path, spools.CREATE, 0o640)
    except FileExistsError:
        return name  # another operator asks for the very same
    except OSError as error:
        raise OperatorError(
            f"the request cannot be left in {spool}: {error.strerror}",
            "operators are the members of group stripewright-operators",
        ) from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(raw)
    return name


def take(spool: Path, name: str) -> Request:
    """Read the request called ``name`` and remove it from the spool, as root.

    Raises :class:`UsageError` for whatever else is there by that name.
    """
    return decode(take_bytes(spool, name))


def take_bytes(spool: Path, name: str) -> bytes:
    """What lies in the spool under its own hash ``name``, at most :data:`MAX_REQUEST_BYTES`.

    It is removed, whatever it is. Raises :class:`UsageError` as :func:`take` does.
    """
    if not is_hash(name):
        raise _not_a_request("its name is not a hash")
    try:
        with spools.opened(spool) as folder:
            try:
                raw, _ = spools.read(folder, f"{name}.json", MAX_REQUEST_BYTES)
            finally:
                spools.remove(folder, f"{name}.json")
                sweep(folder)
    except spools.Unusable as error:
        raise _not_a_request(f"it {error.why}") from error
    except OSError as error:
        raise OperatorError(f"{spool}: {error.strerror}", "systemd-tmpfiles makes it") from error
    if hashlib.sha256(raw).hexdigest() != name:
        raise _not_a_request("its content has another hash than its name")
    return raw


def sweep(folder: int, *, now: float | None = None) -> None:
    """Remove what has lain in the spool (an open directory) for too long; never follows a link."""
    limit = (time.time() if now is None else now) - MAX_AGE_SECONDS
    with os.scandir(folder) as entries:
        for count, entry in enumerate(entries):
            if count >= _MAX_SWEEP:
                break
            with contextlib.suppress(OSError):
                if entry.stat(follow_symlinks=False).st_ctime < limit:
                    spools.remove(folder, entry.name)


# --------------------------------------------------------------------- root's own files


@dataclass(frozen=True, slots=True)
class Store:
    """Where root keeps what it planned: below /run, root's, for everybody to read."""

    plans: Path
    digests: Path

    def keep_plan(self, name: str, document: Mapping[str, Any]) -> None:
        """What came of the request ``name``: its plan, or why there is none."""
        _keep(self.plans, name, document)

    def plan(self, name: str) -> dict[str, Any] | None:
        return _load(self.plans / f"{name}.json")

    def recent(self) -> list[dict[str, Any]]:
        """What came of the last requests, the latest first; also answers that are no plans."""
        kept = sorted(self.plans.glob("*.json"), key=_changed_ns, reverse=True)
        return [document for path in kept if (document := _load(path)) is not None]

    def keep_request(self, digest: str, request: Request) -> None:
        """Remember which request led to the plan with ``digest``, and when."""
        document = {"request": encode(request).decode("ascii"), "at_boot_s": boot_seconds()}
        _keep(self.digests, digest, document)

    def request(self, digest: str) -> Request:
        """The request that led to the plan with ``digest``; :class:`StalePlan` if it is not kept,
        or was made more than :data:`PLAN_LIFETIME_SECONDS` ago.
        """
        if not is_hash(digest):
            raise UsageError(
                f"{digest!r} is not the digest of a plan",
                "it is the 64 digits that 'stripewright plan' prints",
            )
        found = _load(self.digests / f"{digest}.json")
        if found is None:
            raise StalePlan(
                f"no plan with the digest {digest[:12]}… is kept: it was made before the last boot,"
                " or many others were made since; nothing was written",
                _PLAN_AGAIN,
            )
        made_at = found.get("at_boot_s")
        age_seconds = boot_seconds() - made_at if isinstance(made_at, float) else -1.0
        if not 0 <= age_seconds <= PLAN_LIFETIME_SECONDS:
            raise StalePlan(
                f"the plan {digest[:12]}… is {TOO_OLD}; nothing was written",
                _PLAN_AGAIN,
            )
        return decode(str(found.get("request", "")).encode("ascii", "replace"))

    def keep_result(self, digest: str, document: Mapping[str, Any]) -> None:
        """How the carrying out of a plan ended."""
        _keep(self.digests, f"{digest}.result", document)

    def result(self, digest: str) -> dict[str, Any] | None:
        return _load(self.digests / f"{digest}.result.json")


def _keep(folder: Path, name: str, document: Mapping[str, Any]) -> None:
    files.replace_json(folder / f"{name}.json", document)
    # Another one of these prunes at the same time: a file may be gone at any moment, and that what
    # was asked for is kept must not depend on it.
    with contextlib.suppress(OSError):
        for old in sorted(folder.glob("*.json"), key=_changed_ns)[: -2 * KEPT]:
            with contextlib.suppress(OSError):
                old.unlink()


def _changed_ns(path: Path) -> int:
    """When ``path`` was written; one that is gone sorts first, and so does one from a clock that
    was ahead.
    """
    try:
        found = path.stat().st_mtime_ns
    except OSError:
        return 0
    return found if found <= time.time_ns() else 0


def _load(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
