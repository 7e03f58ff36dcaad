"""``apply``: carry out a confirmed plan. Root's side of it is ``apply-request``."""

from __future__ import annotations

import contextlib
import os
import time
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from appliance import paths, text
from appliance.cli.command import Command, name_argument
from appliance.cli.output import StatusLine, print_json, wait_for
from appliance.errors import EXIT_FAILED, EXIT_OK, OperatorError, Refused

if TYPE_CHECKING:
    from appliance.client.plan_requests import ApplyEnd, ApplyProgress
    from appliance.model.plans import Plan, Step

# A look of the boot unit at a disk that has just come takes seconds.
_PATIENCE_SECONDS = 120.0


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--confirm", required=True, metavar="DIGEST", help="the digest that 'plan' printed"
    )


def apply(*, confirm: str, as_json: bool) -> int:
    """Carry out the plan that was confirmed by its digest; 4 if it is not today's plan."""
    from appliance.client.answers import raise_error, store
    from appliance.client.plan_requests import ApplyProgress
    from appliance.state import codec

    store().request(confirm)
    line = StatusLine()
    if os.geteuid() == 0:
        show = _shown_on(line)
        result = carry_out(confirm, show=lambda step: show(codec.decode(ApplyProgress, step)))
    else:
        result = _have_applied(confirm, _shown_on(line))
    line.finish()
    if as_json:
        print_json(result)
        return int(result["exit_code"])
    raise_error({"error": result if result["exit_code"] else None})
    print(result["message"])
    return EXIT_OK


def _shown_on(line: StatusLine) -> Callable[[ApplyProgress], None]:
    def show(progress: ApplyProgress) -> None:
        words = f"step {progress.step} of {progress.steps}: {text.printable(progress.why)}"
        seconds = time.monotonic() - progress.at_monotonic_s
        line.show(progress.step, words, f", {seconds:.0f} s")

    return show


def _have_applied(digest: str, show: Callable[[ApplyProgress], None]) -> dict[str, Any]:
    from dataclasses import asdict

    from appliance.client import plan_requests

    asked = plan_requests.start_apply(digest)

    def poll() -> ApplyEnd | None:
        found = plan_requests.poll_apply(asked)
        if found is None or isinstance(found, plan_requests.ApplyEnd):
            return found
        show(found)
        return None

    return asdict(wait_for(poll, asked.unit, then="Follow it with: stripewright status"))


# -------------------------------------------------------------------------------------- root


def apply_request(*, name: str) -> int:
    """What the apply unit runs: carry out the plan with digest ``name``, leave how it ended."""
    return int(carry_out(name, show=lambda _: None)["exit_code"])


def carry_out(digest: str, *, show: Callable[[Mapping[str, Any]], None]) -> dict[str, Any]:
    """Carry out a plan; how it ended, as a document."""
    from appliance.client.answers import store
    from appliance.storage.execute import executor, record, request_spool
    from appliance.system import journal

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
        ended = {"exit_code": code, "message": "a volume is not as declared",
                 "hint": "see 'stripewright status'"}  # fmt: skip
        if code == EXIT_OK:
            took = f"done in {time.monotonic() - began:.0f} s"
            ended |= {"message": f"{took}; see 'stripewright status'", "hint": ""}
    except OperatorError as error:
        if not request_spool.is_hash(digest):
            raise  # no name for a file
        ended = error.to_json()
        if isinstance(error, Refused):
            journal.event(
                journal.Event.PLAN_REJECTED,
                f"plan {digest[:12]}… is not carried out: {error.message}",
                priority=journal.Priority.WARNING,
                plan_digest=digest,
            )
    except Exception as error:
        # A defect: who waits must still hear of it, and the traceback is in the journal.
        _leave(digest, {"exit_code": EXIT_FAILED, "message": repr(error), "hint": ""})
        raise
    _leave(digest, ended)
    if ended["exit_code"] == EXIT_OK:
        _start_target()
    return {"digest": digest, **ended}


def _leave(digest: str, ended: Mapping[str, Any]) -> None:
    from appliance.client.answers import store

    # Where /run takes no writes the exit status and the journal say it.
    with contextlib.suppress(OSError):
        paths.APPLY_FILE.unlink(missing_ok=True)
        store().keep_result(digest, {"at_monotonic_s": time.monotonic(), "digest": digest, **ended})


def _start_target() -> None:
    """What waits for the volumes may start now, also if they were refused at boot."""
    from appliance.system import services

    if services.systemd_is_running() and services.is_installed(services.TARGET):
        # The plan is carried out either way; the journal of systemd has what went wrong.
        with contextlib.suppress(OperatorError):
            services.start_unit(services.TARGET)


COMMANDS = (
    Command("apply", apply, "carry out a confirmed plan", f"apply --confirm {'3f' * 16}…",
        _arguments, more="Exit status 4, and nothing written, if the disks are no longer what it "
        "was made for."),
    Command("apply-request", apply_request, arguments=name_argument, root=True),
)  # fmt: skip
