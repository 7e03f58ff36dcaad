"""``plan``: what would be done to the disks. Root's side of it is ``plan-request``.

Root plans in this process. An operator leaves a request and has the fixed units plan it and
carry it out; the text is the same. Where neither is possible (a laptop, a document from
elsewhere) the plan is a preview, and says that it cannot be confirmed.
"""

from __future__ import annotations

import shlex
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appliance import paths, text
from appliance.cli.command import Command, name_argument, volume_name
from appliance.cli.output import print_json
from appliance.errors import EXIT_OK, EXIT_REFUSED, OperatorError

if TYPE_CHECKING:
    from appliance.client.plan_requests import PlannedHere
    from appliance.model.disks import Inventory
    from appliance.model.plans import Plan
    from appliance.storage.execute.request_spool import Request


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--inventory", type=Path, metavar="FILE", help="plan for this inventory document"
    )
    parser.add_argument("--layout", type=Path, metavar="FILE", help="plan for this layout.toml")
    parser.add_argument(
        "--remove",
        type=volume_name,
        action="append",
        default=[],
        metavar="NAME",
        help="take this volume down and release its disks",
    )
    parser.add_argument(
        "--erase",
        action="append",
        default=[],
        metavar="SERIAL",
        help="give up what is on the disk with this serial",
    )


def plan(
    *,
    inventory: Path | None,
    layout: Path | None,
    remove: Sequence[str],
    erase: Sequence[str],
    as_json: bool,
) -> int:
    """Print what would be done. Exit 3 if that is a refusal."""
    from appliance.client import plan_requests

    content, source = None, "layout"
    if layout is not None:
        from appliance.storage.policy.layout import load_layout

        # A layout that was named must exist; the appliance's own may be absent.
        load_layout(layout, must_exist=True)
        content, source = layout.read_text(encoding="utf-8"), str(layout)
    request = plan_requests.make_request(content, remove=remove, erase=erase, source=source)
    if inventory is not None:
        made = plan_requests.plan_document(request, inventory)
    else:
        made = plan_requests.ask_plan(request, as_root=answer)
    code = _print(made, made.plan, as_json=as_json)
    if made.late is not None and not as_json:
        print("\n== what the boot unit does if no more disks come ==\n")
        _print(made, made.late, as_json=False)
    return code


def _print(made: PlannedHere, planned: Plan, *, as_json: bool) -> int:
    if as_json:
        from dataclasses import asdict

        disks = _disk_reasons(planned, made.inventory)
        print_json({**asdict(planned), "disks": disks, "confirmable": made.confirmable})
    else:
        print(_plan_text(planned, made.inventory))
        print(f"\n{_last_line(made, planned)}")
    return EXIT_REFUSED if planned.decision == "refuse" else EXIT_OK


def _last_line(made: PlannedHere, planned: Plan) -> str:
    if planned.decision == "refuse":
        return "nothing can be confirmed: the plan is a refusal"
    if not planned.steps:
        return "nothing to confirm"
    if made.confirmable:
        return f"to do exactly this: stripewright apply --confirm {planned.digest}"
    return f"this plan cannot be confirmed: {made.why_not}"


def _disk_reasons(made: Plan, found: Inventory) -> list[dict[str, Any]]:
    """Every disk: which volume takes it in, and why it is or is not in."""
    taken = {path: one.name for one in made.volumes for path in one.disks}
    return [
        {
            **text.fields(disk, "path serial size_bytes kind"),
            "volume": taken.get(disk.path, ""),
            "reason": disk.reason,
        }
        for disk in found.disks
    ]


def _plan_text(made: Plan, found: Inventory) -> str:
    """Decisions, steps with their commands, and every disk."""
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
    rows = [
        (one["path"], one["serial"], text.size(one["size_bytes"]), one["volume"] or "-",
         one["reason"])
        for one in _disk_reasons(made, found)
    ]  # fmt: skip
    return "\n".join([*lines, "", text.table([("DISK", "SERIAL", "SIZE", "FOR", "WHY"), *rows])])


# -------------------------------------------------------------------------------------- root


def plan_request(*, name: str) -> int:
    """Plan the request ``name`` of the spool and leave the plan, or why there is none."""
    from appliance.client.answers import store
    from appliance.storage.execute import request_spool
    from appliance.system import journal

    try:
        document = answer(request_spool.take(paths.SPOOL_DIR, name))
    except OperatorError as error:
        journal.event(
            journal.Event.PLAN_REJECTED,
            f"request {name[:12]}…: {error.message}",
            priority=journal.Priority.WARNING,
            request=name,
        )
        document = _failed(error)
    if request_spool.is_hash(name):
        store().keep_plan(name, document)
    return EXIT_OK


def answer(request: Request) -> dict[str, Any]:
    """The plan for ``request`` as a document; its digest leads back to the request."""
    from dataclasses import asdict

    from appliance.client.answers import store
    from appliance.storage.execute import executor

    try:
        made = executor.plan_request(request)
    except OperatorError as error:
        return _failed(error)
    store().keep_request(made.plan.digest, request)
    return {
        "at_monotonic_s": time.monotonic(),
        "request": asdict(request),
        "inventory": asdict(made.inventory),
        "plan": asdict(made.plan),
        "error": None,
    }


def _failed(error: OperatorError) -> dict[str, Any]:
    return {"at_monotonic_s": time.monotonic(), "error": error.to_json()}


COMMANDS = (
    Command("plan", plan, "show what would be done to the disks, and why",
        "plan --layout layout.toml", _arguments,
        more="Nothing is changed; 'apply' carries out a plan by its digest."),
    Command("plan-request", plan_request, arguments=name_argument, root=True),
)  # fmt: skip
