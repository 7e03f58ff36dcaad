"""What root's units run, and what root may run by hand: plan a request, carry it out, chores."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.client.answers import store
from appliance.errors import (
    EXIT_FAILED,
    EXIT_OK,
    OperatorError,
    Refused,
    StalePlan,
    UsageError,
)
from appliance.model import Plan, Step, Volume
from appliance.storage.execute import executor, record, request_spool
from appliance.storage.execute.request_spool import Request
from appliance.storage.policy.documents import inventory_to_json, plan_to_json
from appliance.system import journal, services

# A look of the boot unit at a disk that has just come takes seconds.
_PATIENCE_SECONDS = 120.0

Show = Callable[[Mapping[str, Any]], None]


def need_root() -> None:
    if os.geteuid() != 0:
        raise OperatorError("only root can do this", "it is what units of the appliance run")


# ------------------------------------------------------------------------------- plan


def plan_request(name: str) -> int:
    """Plan the request ``name`` of the spool and leave the plan, or why there is none."""
    need_root()
    try:
        request = request_spool.take(paths.SPOOL_DIR, name)
    except OperatorError as error:
        journal.event(
            journal.Event.PLAN_REJECTED,
            f"request {name[:12]}…: {error.message}",
            priority=journal.Priority.WARNING,
            request=name,
        )
        if request_spool.is_hash(name):
            store().keep_plan(name, _failed(error))
        return EXIT_OK
    store().keep_plan(name, answer(request))
    return EXIT_OK


def answer(request: Request) -> dict[str, Any]:
    """The plan for ``request`` as a document; its digest leads back to the request."""
    try:
        made = executor.plan_request(request)
    except OperatorError as error:
        return _failed(error)
    store().keep_request(made.plan.digest, request)
    return {
        "at_monotonic_s": time.monotonic(),
        "request": request_spool.request_document(request),
        "inventory": inventory_to_json(made.inventory),
        "plan": plan_to_json(made.plan),
        "error": None,
    }


def _failed(error: OperatorError) -> dict[str, Any]:
    return {"at_monotonic_s": time.monotonic(), "error": _error(error)}


def _error(error: OperatorError) -> dict[str, Any]:
    return {"exit_code": error.exit_code, "message": error.message, "hint": error.hint}


# ------------------------------------------------------------------------------ apply


def apply_request(digest: str) -> int:
    """What the apply unit runs: carry out the plan with ``digest`` and leave how it ended."""
    need_root()
    return int(carry_out(digest, show=lambda _: None)["exit_code"])


def carry_out(digest: str, *, show: Show) -> dict[str, Any]:
    """Carry out a plan; how it ended, as a document."""
    began = time.monotonic()

    def on_step(plan: Plan, index: int, step: Step) -> None:
        progress = {
            "digest": digest,
            "step": index + 1,
            "steps": len(plan.steps),
            "why": step.why,
            "argv": list(step.argv),
            "volume": step.volume,
            "at_monotonic_s": time.monotonic(),
            "pid": os.getpid(),
        }
        record.write_state(paths.APPLY_FILE, progress)
        show(progress)

    try:
        request = store().request(digest)
        code = executor.apply_confirmed(
            request, digest, patience_seconds=_PATIENCE_SECONDS, on_step=on_step
        )
        took = time.monotonic() - began
        ended = {
            "exit_code": code,
            "message": f"done in {took:.0f} s; see 'stripewright status'"
            if code == EXIT_OK
            else "a volume is not as declared",
            "hint": "" if code == EXIT_OK else "see 'stripewright status'",
        }
    except OperatorError as error:
        if not request_spool.is_hash(digest):
            raise  # no name for a file
        ended = _error(error)
        if isinstance(error, Refused):
            journal.event(
                journal.Event.PLAN_REJECTED,
                f"plan {digest[:12]}… is not carried out: {error.message}",
                priority=journal.Priority.WARNING,
                plan_digest=digest,
            )
    except Exception as error:
        # A defect: whoever waits must still be told, and the traceback is in the journal.
        _leave(digest, {"exit_code": EXIT_FAILED, "message": repr(error), "hint": ""})
        raise
    _leave(digest, ended)
    if ended["exit_code"] == EXIT_OK:
        _bring_target_up()
    return {"digest": digest, **ended}


def _leave(digest: str, ended: Mapping[str, Any]) -> None:
    # Where /run takes no writes the exit status and the journal say it.
    with contextlib.suppress(OSError):
        paths.APPLY_FILE.unlink(missing_ok=True)
        store().keep_result(digest, {"at_monotonic_s": time.monotonic(), "digest": digest, **ended})


def _bring_target_up() -> None:
    """What waits for the volumes may start now, also if they were refused at boot."""
    if services.systemd_is_running() and services.is_installed(services.TARGET):
        # The plan is carried out either way; the journal of systemd has what went wrong.
        with contextlib.suppress(OperatorError):
            services.start_unit(services.TARGET)


# ------------------------------------------------------------------------------ chores


def chore(words: Sequence[str]) -> int:
    """Do by hand what a plan's ``stripewright chore …`` does."""
    need_root()
    from appliance.storage.execute import builtin_steps
    from appliance.storage.policy.layout import load_layout
    from appliance.storage.probe import devices

    with executor.lock(paths.LOCK_FILE):
        found = devices.probe(layout=load_layout(paths.LAYOUT_FILE))
        bench = builtin_steps.StepContext(
            disks=builtin_steps.by_path(found.disks),
            host_tag=found.machine.host_tag,
            layout_text=_declared_text(words),
        )
        if not words:
            raise UsageError("chore: give its name", "a plan shows the whole command")
        builtin_steps.run((builtin_steps.PROGRAM, "chore", *words), bench)
    return EXIT_OK


def _declared_text(words: Sequence[str]) -> str | None:
    """The layout that ``chore declare HASH`` means: it is in one of the planned requests."""
    from appliance.storage.execute.builtin_steps import sha256_of

    if list(words[:1]) != ["declare"]:
        return None
    for path in paths.DIGESTS_DIR.glob("*.json"):
        if not request_spool.is_hash(path.stem):
            continue
        with contextlib.suppress(StalePlan):
            text = store().request(path.stem).layout_text
            if text is not None and sha256_of(text) == words[-1]:
                return text
    return None


# ------------------------------------------------------------------------------- units


def watch() -> int:
    """Wait for disks that arrive, and have the boot unit look at them; and for whatever else
    changes, and have drift looked for.
    """
    from appliance.drift import watch_machine
    from appliance.storage.execute import watch as arriving

    # Apart from each other: a look of the boot unit lasts as long as the making of a volume.
    other = threading.Thread(
        target=lambda: _or_end(lambda: watch_machine.run(services.check_drift)), daemon=True
    )
    other.start()
    arriving.run(services.look_again)
    return EXIT_OK


def _or_end(work: Callable[[], None]) -> None:
    """Do ``work`` for ever. Without it the process would be half a watch: it is started again."""
    try:
        work()
    except BaseException:
        traceback.print_exc()
        os._exit(EXIT_FAILED)


def tune_undo() -> int:
    """Put every kernel setting back to what it was before."""
    need_root()
    from appliance.storage.execute import tuning

    tuning.undo(paths.TUNING_FILE)
    paths.CPU_LATENCY_FILE.unlink(missing_ok=True)
    return EXIT_OK


def hold_cpu_latency() -> int:
    """Hold the declared CPU latency until stopped."""
    from appliance.storage.execute import tuning

    return tuning.hold(paths.CPU_LATENCY_FILE)


def read_through(volume: str) -> int:
    """What the initialise unit runs: read every block of a volume."""
    from appliance.storage.execute import read_through as initialise

    declared = _declared(volume)
    folder = Path(os.environ.get("STATE_DIRECTORY", paths.INITIALISE_DIR))
    return initialise.run(volume, rate_bytes=declared.initialise_rate_bytes, folder=folder)


def bench_dir(volume: str) -> int:
    """What the unit of the benchmark directory runs: make it on the mounted ``volume``."""
    from appliance.storage.execute import bench_dir as benchdir
    from appliance.system.kernel import Kernel

    need_root()
    where = _declared(volume).mount
    mounted = Kernel().mount_at(where)
    if mounted is None:
        raise OperatorError(f"volume '{volume}' is not mounted", "see 'stripewright status'")
    benchdir.ensure(where, mounted.device)
    return EXIT_OK


def _declared(volume: str) -> Volume:
    from appliance.storage.policy.layout import load_layout

    layout = load_layout(paths.LAYOUT_FILE)
    for one in layout.volumes:
        if one.name == volume:
            return one
    raise UsageError(
        f"no volume '{volume}' is declared",
        f"there is: {', '.join(layout.volume_names) or 'none'}",
    )
