"""Asking root: a request is left, a fixed unit is started, and what it left is read."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from appliance import paths
from appliance.errors import EXIT_FAILED, OperatorError, Refused, StalePlan, UsageError
from appliance.storage.execute.request_spool import Store
from appliance.system import services

_KINDS: Mapping[object, type[OperatorError]] = {
    kind.exit_code: kind for kind in (UsageError, Refused, StalePlan)
}


def store() -> Store:
    """Root's plans, for everybody to read."""
    return Store(paths.PLANS_DIR, paths.DIGESTS_DIR)


def units_are_here(template: str) -> bool:
    """Whether a unit of ``template`` can be asked: systemd runs here and has the file."""
    return services.systemd_is_running() and services.is_installed(template)


def ask(leave: Callable[[], str], unit_of: str, missing: str) -> dict[str, Any]:
    """``leave`` a request, whose name it returns, and run the unit ``unit_of`` it to its end.

    Returns what the unit left. Raises root's own error, and :class:`OperatorError` saying
    ``missing`` without an answer to this request.
    """
    asked_at = time.monotonic()
    name = leave()
    unit = unit_of.format(request=name)
    services.start_and_wait(unit)
    document = store().plan(name)
    if document is None or is_older(document, asked_at):
        raise OperatorError(missing, see_journal(unit))
    raise_error(document)
    return document


def is_older(document: Mapping[str, Any], asked_at_monotonic_s: float) -> bool:
    """Whether root left this before it was asked: it is of an earlier request."""
    return float(document.get("at_monotonic_s", 0.0)) < asked_at_monotonic_s


def see_journal(unit: str) -> str:
    """The hint where a unit says more than it left."""
    return f"look at: journalctl -b -u {unit}"


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
