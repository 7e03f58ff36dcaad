"""``plan`` and ``apply``: what would be done to the disks, and doing exactly that.

Root plans in this process. An operator leaves a request and has the fixed units plan it and
carry it out; the text is the same. Where neither is possible (a laptop, a document from
elsewhere) the plan is a preview, and says that it cannot be confirmed.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from appliance import text
from appliance.client import plan_requests
from appliance.client.answers import raise_error, store
from appliance.client.plan_requests import ApplyEnd, ApplyProgress, AskedApply, PlannedHere
from appliance.errors import EXIT_OK, EXIT_REFUSED
from appliance.model import Decision, Inventory, Plan
from appliance.state import codec
from appliance.storage.execute.request_spool import Request

_POLL_SECONDS = 0.3
# Before the first step each look asks systemd, too.
_IDLE_POLL_SECONDS = 1.0
INTERRUPTED = 130


# -------------------------------------------------------------------------------- plan


def plan(
    *,
    inventory_file: Path | None,
    layout_file: Path | None,
    remove: Sequence[str],
    erase: Sequence[str],
    as_json: bool,
) -> int:
    """Print what would be done. Exit 3 if that is a refusal."""
    content = source = None
    if layout_file is not None:
        from appliance.storage.policy.layout import load_layout

        # A layout that was named must exist; the appliance's own may be absent.
        load_layout(layout_file, must_exist=True)
        content, source = layout_file.read_text(encoding="utf-8"), str(layout_file)
    request = plan_requests.make_request(
        content, remove=remove, erase=erase, source=source or "layout"
    )
    if inventory_file is not None:
        made = plan_requests.plan_document(request, inventory_file)
    else:
        made = plan_requests.ask_plan(request, as_root=_answer)
    code = _print(made, made.plan, as_json=as_json)
    if made.late is not None and not as_json:
        print("\n== what the boot unit does if no more disks come ==\n")
        _print(made, made.late, as_json=False)
    return code


def _answer(request: Request) -> Mapping[str, Any]:
    from appliance.cli import unit_entrypoints

    return unit_entrypoints.answer(request)


# ------------------------------------------------------------------------------- words


def _print(made: PlannedHere, planned: Plan, *, as_json: bool) -> int:
    if as_json:
        from appliance.storage.policy.documents import plan_to_json

        document = {
            **plan_to_json(planned),
            "disks": disk_reasons(planned, made.inventory),
            "confirmable": made.confirmable,
        }
        print(json.dumps(document, indent=2))
    else:
        print(plan_text(planned, made.inventory))
        print(f"\n{_last_line(made, planned)}")
    return EXIT_REFUSED if planned.decision is Decision.REFUSE else EXIT_OK


def _last_line(made: PlannedHere, planned: Plan) -> str:
    if planned.decision is Decision.REFUSE:
        return "nothing can be confirmed: the plan is a refusal"
    if not planned.steps:
        return "nothing to confirm"
    if made.confirmable:
        return f"to do exactly this: stripewright apply --confirm {planned.digest}"
    return f"this plan cannot be confirmed: {made.why_not}"


def disk_reasons(made: Plan, found: Inventory) -> list[dict[str, Any]]:
    """Every disk: which volume takes it in, and why it is or is not in."""
    taken = {path: one.name for one in made.volumes for path in one.disks}
    return [
        {
            "path": disk.path,
            "serial": disk.serial,
            "size_bytes": disk.size_bytes,
            "kind": disk.kind.value,
            "volume": taken.get(disk.path, ""),
            "reason": disk.reason,
        }
        for disk in found.disks
    ]


def plan_text(made: Plan, found: Inventory) -> str:
    """The plan for a person: decisions, steps with their commands, and every disk."""
    lines = [f"decision: {made.decision}", f"digest:   {made.digest}"]
    for volume in made.volumes:
        lines.append(f"\nvolume {text.printable(volume.name)}: {volume.decision}")
        lines.append(f"  {text.printable(volume.reason)}")
        if volume.hint:
            lines.append(f"  next: {text.printable(volume.hint)}")
    for number, step in enumerate(made.steps, 1):
        lines.append(f"\n{number}. {text.printable(step.why)}")
        lines.append(f"   $ {text.printable(shlex.join(step.argv))}")
        for gone in step.destroys:
            lines.append(
                f"   overwrites {text.printable(gone.path)} (serial {text.printable(gone.serial)},"
                f" {text.size(gone.size_bytes)}): {text.printable(gone.holds)}"
            )
    if not made.steps:
        lines.append("\nno steps: nothing will be written")
    rows: list[tuple[str, ...]] = [("DISK", "SERIAL", "SIZE", "FOR", "WHY")]
    rows += [
        (one["path"], one["serial"], text.size(one["size_bytes"]), one["volume"] or "-",
         one["reason"])
        for one in disk_reasons(made, found)
    ]  # fmt: skip
    return "\n".join([*lines, "", text.table(rows)])


# ------------------------------------------------------------------------------- apply


def apply(digest: str, *, as_json: bool) -> int:
    """Carry out the plan that was confirmed by its digest; 4 if it is not today's plan."""
    store().request(digest)
    show = StepLine()
    if os.geteuid() == 0:
        from appliance.cli import unit_entrypoints

        result = unit_entrypoints.carry_out(
            digest, show=lambda step: show(codec.decode(ApplyProgress, step))
        )
    else:
        result = _have_applied(digest, show)
    show.finish()
    if as_json:
        print(json.dumps(result, indent=2))
        return int(result["exit_code"])
    raise_error({"error": result if result["exit_code"] else None})
    print(result["message"])
    return EXIT_OK


def _have_applied(digest: str, show: StepLine) -> dict[str, Any]:
    asked = plan_requests.start_apply(digest)
    try:
        return asdict(_follow(asked, show))
    except KeyboardInterrupt:
        show.finish()
        print(
            f"not waiting any longer; {asked.unit} goes on. How far it is: stripewright status",
            file=sys.stderr,
        )
        raise SystemExit(INTERRUPTED) from None


def _follow(asked: AskedApply, show: StepLine) -> ApplyEnd:
    """Show what the unit does until it has left its result."""
    while True:
        found = plan_requests.poll_apply(asked)
        if isinstance(found, ApplyEnd):
            return found
        if found is not None:
            show(found)
        time.sleep(_IDLE_POLL_SECONDS if found is None else _POLL_SECONDS)


class StepLine:
    """Shows which step runs: one changing line on a terminal, a line a step otherwise."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last = 0
        self._shown = False

    def __call__(self, progress: ApplyProgress) -> None:
        line = f"step {progress.step} of {progress.steps}: {text.printable(progress.why)}"
        seconds = time.monotonic() - progress.at_monotonic_s
        if self._terminal:
            print(f"\r{line}, {seconds:.0f} s\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = True
        elif progress.step != self._last:
            self._last = progress.step
            print(line, file=sys.stderr, flush=True)

    def finish(self) -> None:
        if self._shown:
            print(file=sys.stderr)
            self._shown = False
