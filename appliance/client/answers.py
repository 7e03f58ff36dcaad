"""What root left for whoever asked: its answer to a request, and an error as its own kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from appliance import paths
from appliance.errors import (
    EXIT_FAILED,
    EXIT_REFUSED,
    EXIT_STALE,
    EXIT_USAGE,
    OperatorError,
    Refused,
    StalePlan,
    UsageError,
)
from appliance.storage.execute.request_spool import Store
from appliance.system import services

_KINDS: Mapping[object, type[OperatorError]] = {
    EXIT_USAGE: UsageError,
    EXIT_REFUSED: Refused,
    EXIT_STALE: StalePlan,
}


def store() -> Store:
    """Root's plans, for everybody to read."""
    return Store(paths.PLANS_DIR, paths.DIGESTS_DIR)


def units_are_here(template: str) -> bool:
    """Whether a unit of ``template`` can be asked: systemd runs here and has the file."""
    return services.systemd_is_running() and services.is_installed(template)


def answer_of(unit: str, name: str, *, since_s: float, missing: str) -> dict[str, Any]:
    """Run ``unit`` to its end; what it then left for the request called ``name``.

    ``since_s`` is when the request was made, in seconds of ``time.monotonic()``: an older answer
    is none. Raises root's own error, and :class:`OperatorError` saying ``missing`` without an
    answer.
    """
    services.start_and_wait(unit)
    document = store().plan(name)
    if document is None or document.get("at_monotonic_s", 0.0) < since_s:
        raise OperatorError(missing, f"look at: journalctl -b -u {unit}")
    raise_error(document)
    return document


def raise_error(document: Mapping[str, Any]) -> None:
    """Raise the error that root left in its answer, if there is one, as its own kind."""
    error = document.get("error")
    if isinstance(error, dict):
        raise as_error(
            error.get("exit_code", EXIT_FAILED), error.get("message", ""), error.get("hint", "")
        )


def as_error(exit_code: object, message: object, hint: object) -> OperatorError:
    """The error that ends a command with ``exit_code``."""
    return _KINDS.get(exit_code, OperatorError)(str(message), str(hint))
