"""``drift confirm`` and ``drift accept``: runs that are made to judge, and the verdict."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import paths
from appliance.cli.bench_run import progress_on
from appliance.cli.command import Command
from appliance.cli.output import StatusLine, print_json, say, wait_for
from appliance.errors import EXIT_DRIFT, EXIT_FAILED, EXIT_OK
from appliance.text import fields

if TYPE_CHECKING:
    from appliance.model.confirmations import Repeated

# By appliance.model.Verdict.
_VERDICTS = {
    "confirmed": "▲ confirmed",
    "not_repeated": "● not repeated",
    "machine": "▲ confirmed, and the machine changed too",
    "unclear": "◆ unclear",
}
_HEALTHY = {None: "◆ nothing to judge by", True: "● healthy", False: "✗ not healthy"}


def confirm(*, db: Path, as_json: bool) -> int:
    """Repeat the suspects of ``db`` and print what came of it.

    Where another user owns the history its unit does it. 0 also where they have to wait (foreign
    load, another run): a later check asks again. 1 if the runs were stopped, or one failed.
    """
    from appliance.client import finding_actions

    if finding_actions.has_a_unit_for(db) and not finding_actions.is_ours_to_write(db):
        return _print(_have_confirmed(db), as_json=as_json)
    from appliance.drift import check
    from appliance.drift.series import evaluate, remeasure
    from appliance.history import published

    if published.is_own(db):
        # First: what becomes suspect from now on asks for itself.
        paths.CONFIRM_WANTED.unlink(missing_ok=True)
    line = StatusLine()
    found = remeasure.repeat_suspects(db, on_progress=progress_on(line))
    line.finish()
    if found.made:
        check.keep_performance(db, evaluate.facts_of(db, now=time.time()))
    return _print(found, as_json=as_json)


def _have_confirmed(db: Path) -> Repeated:
    from appliance.client import finding_actions
    from appliance.system.services import CONFIRM_UNIT

    asked = finding_actions.confirm_now(db)
    print(f"{CONFIRM_UNIT} makes the runs, as its own user", file=sys.stderr)
    return wait_for(
        lambda: finding_actions.poll_confirm(asked),
        CONFIRM_UNIT,
        then="What came of it: stripewright drift list",
    )


def _print(found: Repeated, *, as_json: bool) -> int:
    if as_json:
        document = {
            "confirmations": [
                {
                    **fields(one, "code subject target verdict words"),
                    "run": one.run_id,
                    "repeats_iops": one.repeats,
                    "control_iops": one.control,
                }
                for one in found.made
            ],
            "waiting": [{**fields(fact, "code subject"), "why": why} for fact, why in found.waits],
        }
        print_json(document)
    else:
        for one in found.made:
            say(f"{one.code} {one.subject}: {_VERDICTS[one.verdict]}: {one.words}")
        for fact, why in found.waits:
            say(f"{fact.code} {fact.subject} waits: {why}")
        if not found.made and not found.waits:
            print("nothing is suspect")
    return EXIT_FAILED if found.failed else EXIT_OK


def accept(*, db: Path, as_json: bool) -> int:
    """Judge the latest smoke run of this epoch; make one if there is none.

    5 if a disk is behind the others or the stripe behind what is published.
    """
    from appliance.drift import check
    from appliance.drift.series import evaluate, remeasure

    line = StatusLine()
    found = remeasure.accept(db, on_progress=progress_on(line))
    line.finish()
    check.keep_performance(db, evaluate.facts_of(db, now=time.time()))
    if as_json:
        document = {
            "healthy": found.healthy,
            "run": found.run_id,
            "facts": [
                {
                    **fields(fact, "code severity subject member summary"),
                    "evidence": dict(fact.evidence),
                    "next_step": fact.next_step,
                }
                for fact in found.facts
            ],
            "notes": list(found.notes),
        }
        print_json(document)
    else:
        say(f"{_HEALTHY[found.healthy]} (run {found.run_id})")
        for fact in found.facts:
            say(f"{fact.code} {fact.subject}: {fact.summary}")
        for note in found.notes:
            say(note)
    return EXIT_DRIFT if found.facts else EXIT_OK


COMMANDS = (
    Command("drift confirm", confirm, "repeat suspect jobs, beside one that touches no disk",
        "drift confirm", db=True,
        more="It takes minutes: each suspect job runs five times, for as long as in its suite "
        "(30 s in smoke), at most three of them in one call, after their files were laid out. It "
        f"writes where the suspect run did, in {paths.BENCH_DIR_NAME} of that directory or volume, "
        "and removes its files. It is skipped while something else uses the disks."),
    Command("drift accept", accept,
        "judge the latest smoke run on these disks by the published limits", "drift accept --json",
        db=True,
        more="If there is none since the disks last changed, the suite is run first: about three "
        f"minutes in {paths.BENCH_DIR_NAME} of the first mounted volume. Exit status 5 if a disk "
        "is behind the others, or the stripe behind what is published."),
)  # fmt: skip
