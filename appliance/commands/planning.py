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
from dataclasses import replace
from pathlib import Path
from typing import Any

from appliance import paths, text
from appliance.errors import (
    EXIT_FAILED,
    EXIT_OK,
    EXIT_REFUSED,
    EXIT_STALE,
    EXIT_USAGE,
    OperatorError,
    Refused,
    StalePlan,
    UsageError,
)
from appliance.model import Decision, Inventory, Layout, Orders, Plan
from appliance.storage.act.requests import Request, Store
from appliance.system import services

_POLL_SECONDS = 0.3
_UNIT_POLL_SECONDS = 3.0
# A unit that was asked for is 'inactive' until systemd gets to it; a slow machine takes a while.
_UNIT_GRACE_SECONDS = 20.0
INTERRUPTED = 130


def store() -> Store:
    """Root's plans, for everybody to read."""
    return Store(paths.PLANS_DIR, paths.DIGESTS_DIR)


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
    layout, request = _request(layout_file, remove, erase)
    if inventory_file is not None:
        return _preview(layout, request, inventory_file, as_json=as_json)
    if os.geteuid() == 0:
        from appliance.commands import work

        # Through JSON, as an operator reads it: one way to print a plan, not two.
        document = json.loads(json.dumps(work.answer(request)))
    elif services.systemd_is_running() and services.is_installed(services.PLAN_TEMPLATE):
        document = _ask_root(request)
    else:
        return _preview(layout, request, None, as_json=as_json)
    raise_error(document)
    from appliance.storage.document import inventory_from_json

    found = inventory_from_json(document["inventory"])
    made = plan_from_json(document["plan"])
    return _print(made, found, as_json=as_json, confirm=True)


def _request(
    layout_file: Path | None, remove: Sequence[str], erase: Sequence[str]
) -> tuple[Layout, Request]:
    """The layout that would hold, and what root is asked for. Raises what is wrong in it."""
    from appliance.storage.layout import load_layout, parse_layout
    from appliance.storage.layout_render import render_layout

    # A layout that was named must exist; the appliance's own may be absent (built-in default).
    layout = load_layout(layout_file or paths.LAYOUT_FILE, must_exist=layout_file is not None)
    content = None
    if layout_file is not None:
        content = layout_file.read_text(encoding="utf-8")
    if leaving := set(remove) & set(layout.volume_names):
        left = tuple(one for one in layout.volumes if one.name not in leaving)
        content = render_layout(replace(layout, volumes=left))
        layout = parse_layout(content, layout.source)
    return layout, Request(content, tuple(dict.fromkeys(remove)), tuple(dict.fromkeys(erase)))


def _preview(
    layout: Layout, request: Request, inventory_file: Path | None, *, as_json: bool
) -> int:
    from appliance.storage import planner
    from appliance.storage.act.chores import sha256_of

    declare = "" if request.layout_text is None else sha256_of(request.layout_text)
    orders = Orders(
        request.remove, request.erase, grow=True, declare="" if inventory_file else declare
    )
    if inventory_file is not None:
        from appliance.storage.document import load_inventory

        found = load_inventory(inventory_file, layout=layout)
        why = "it was made for a document, not for this machine"
    else:
        from appliance.storage.devices import probe

        found = probe(layout=layout)
        why = "only root can read the disks, and its units are not installed here"
    made = planner.plan(found, layout, waited=False, orders=orders)
    code = _print(made, found, as_json=as_json, cannot=why)
    if made.decision is Decision.WAIT and not as_json:
        print("\n== what the boot unit does if no more disks come ==\n")
        late = planner.plan(found, layout, waited=True, orders=orders)
        _print(late, found, as_json=False, cannot=why)
    return code


def _ask_root(request: Request) -> dict[str, Any]:
    """Have the plan unit plan ``request``, and read what it left."""
    from appliance.storage.act import requests

    asked_at = time.monotonic()
    name = requests.leave(paths.SPOOL_DIR, request)
    services.start_and_wait(services.PLAN_UNIT.format(request=name))
    document = store().plan(name)
    if document is None or document.get("at_monotonic_s", 0.0) < asked_at:
        unit = services.PLAN_UNIT.format(request=name)
        raise OperatorError("the plan unit left no plan", f"look at: journalctl -b -u {unit}")
    return document


def raise_error(document: Mapping[str, Any]) -> None:
    """Raise the error that root left in its answer, if there is one, as its own kind."""
    error = document.get("error")
    if not isinstance(error, dict):
        return
    kinds = {EXIT_USAGE: UsageError, EXIT_REFUSED: Refused, EXIT_STALE: StalePlan}
    kind = kinds.get(error.get("exit_code", EXIT_FAILED), OperatorError)
    raise kind(str(error.get("message", "")), str(error.get("hint", "")))


def plan_from_json(document: Mapping[str, Any]) -> Plan:
    """A plan out of root's own document, as it was written there."""
    from appliance.model import Destruction, Step, VolumePlan

    return Plan(
        decision=Decision(document["decision"]),
        digest=document["digest"],
        volumes=tuple(
            VolumePlan(
                **{
                    **one,
                    "decision": Decision(one["decision"]),
                    "disks": tuple(one["disks"]),
                }
            )
            for one in document["volumes"]
        ),
        steps=tuple(
            Step(
                **{
                    **one,
                    "argv": tuple(one["argv"]),
                    "destroys": tuple(Destruction(**lost) for lost in one["destroys"]),
                }
            )
            for one in document["steps"]
        ),
    )


# ------------------------------------------------------------------------------- words


def _print(
    made: Plan, found: Inventory, *, as_json: bool, confirm: bool = False, cannot: str = ""
) -> int:
    if as_json:
        from appliance.storage.document import plan_to_json

        document = {
            **plan_to_json(made),
            "disks": disk_reasons(made, found),
            "confirmable": confirm and made.decision is not Decision.REFUSE,
        }
        print(json.dumps(document, indent=2))
    else:
        print(plan_text(made, found))
        print(f"\n{_last_line(made, confirm=confirm, cannot=cannot)}")
    return EXIT_REFUSED if made.decision is Decision.REFUSE else EXIT_OK


def _last_line(made: Plan, *, confirm: bool, cannot: str) -> str:
    if made.decision is Decision.REFUSE:
        return "nothing can be confirmed: the plan is a refusal"
    if not made.steps:
        return "nothing to confirm"
    if confirm:
        return f"to do exactly this: stripewright apply --confirm {made.digest}"
    return f"this plan cannot be confirmed: {cannot}"


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
        from appliance.commands import work

        result = work.carry_out(digest, show=show)
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
    unit = services.APPLY_UNIT.format(digest=digest)
    asked_at = time.monotonic()
    services.start_unit(unit)
    try:
        return _follow(digest, unit, asked_at, show)
    except KeyboardInterrupt:
        show.finish()
        print(
            f"not waiting any longer; {unit} goes on. How far it is: stripewright status",
            file=sys.stderr,
        )
        raise SystemExit(INTERRUPTED) from None


def _follow(digest: str, unit: str, asked_at: float, show: StepLine) -> dict[str, Any]:
    """Show what the unit does until it has left its result."""
    unit_looked_at = asked_at
    while True:
        found = store().result(digest)
        if found is not None and found.get("at_monotonic_s", 0.0) >= asked_at:
            return found
        progress = _load(paths.APPLY_FILE)
        if progress.get("digest") == digest and progress.get("at_monotonic_s", 0.0) >= asked_at:
            show(progress)
        now = time.monotonic()
        if now - unit_looked_at >= _UNIT_POLL_SECONDS:
            unit_looked_at = now
            state = services.unit_state(unit)
            late = now - asked_at > _UNIT_GRACE_SECONDS
            if (
                not state.busy
                and (late or state.active == "failed")
                and store().result(digest) in (None, found)
            ):
                raise OperatorError(
                    f"{unit} ended without a result", f"look at: journalctl -b -u {unit}"
                )
        time.sleep(_POLL_SECONDS)


def _load(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class StepLine:
    """Shows which step runs: one changing line on a terminal, a line a step otherwise."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._last = 0
        self._shown = False

    def __call__(self, progress: Mapping[str, Any]) -> None:
        step, steps = int(progress.get("step", 0)), int(progress.get("steps", 0))
        line = f"step {step} of {steps}: {text.printable(str(progress.get('why', '')))}"
        seconds = time.monotonic() - float(progress.get("at_monotonic_s", 0.0))
        if self._terminal:
            print(f"\r{line}, {seconds:.0f} s\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = True
        elif step != self._last:
            self._last = step
            print(line, file=sys.stderr, flush=True)

    def finish(self) -> None:
        if self._shown:
            print(file=sys.stderr)
            self._shown = False
