"""``drift confirm`` and ``drift accept``: runs that are made to judge, and the verdict."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from appliance import paths, text
from appliance.cli.bench_run import ProgressBar
from appliance.client import finding_actions
from appliance.client.finding_actions import ConfirmEnd
from appliance.drift.acceptance import Acceptance
from appliance.errors import EXIT_DRIFT, EXIT_FAILED, EXIT_OK
from appliance.model import Confirmation, Fact, Verdict
from appliance.system import services

_POLL_SECONDS = 1.0
_INTERRUPTED = 130
_VERDICTS = {
    Verdict.CONFIRMED: "▲ confirmed",
    Verdict.NOT_REPEATED: "● not repeated",
    Verdict.MACHINE: "▲ confirmed, and the machine changed too",
    Verdict.UNCLEAR: "◆ unclear",
}


def confirm(db: Path, *, as_json: bool) -> int:
    """Repeat the suspects of ``db`` and print what came of it.

    Where another user owns the history its unit does it. 0 also where they have to wait (foreign
    load, another run): a later check asks again. 1 if the runs were stopped, or one failed.
    """
    if finding_actions.has_a_unit_for(db) and not finding_actions.is_ours_to_write(db):
        end = _have_confirmed(db)
        return _tell(end.made, end.waits, failed=end.failed, as_json=as_json)
    from appliance.drift import check, evaluate, repeating

    if db.absolute() == paths.HISTORY_DB:
        # First: what becomes suspect from now on asks for itself.
        paths.CONFIRM_WANTED.unlink(missing_ok=True)
    show = ProgressBar()
    found = repeating.repeat_suspects(db, on_progress=show.show)
    if found.made:
        show.finish()
        check.keep_performance(db, evaluate.facts_of(db, now=time.time()))
    return _tell(found.made, found.waits, failed=found.stopped or found.failed, as_json=as_json)


def _have_confirmed(db: Path) -> ConfirmEnd:
    asked = finding_actions.confirm_now(db)
    print(f"{services.CONFIRM_UNIT} makes the runs, as its own user", file=sys.stderr)
    try:
        while (end := finding_actions.poll_confirm(asked)) is None:
            time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        print(
            f"not waiting any longer; {services.CONFIRM_UNIT} goes on."
            " What came of it: stripewright drift list",
            file=sys.stderr,
        )
        raise SystemExit(_INTERRUPTED) from None
    return end


def _tell(
    made: Sequence[Confirmation],
    waits: Sequence[tuple[Fact, str]],
    *,
    failed: bool,
    as_json: bool,
) -> int:
    if as_json:
        document = {
            "confirmations": [_to_json(one) for one in made],
            "waiting": [
                {"code": fact.code, "subject": fact.subject, "why": why} for fact, why in waits
            ],
        }
        print(json.dumps(document, indent=2))
    else:
        for one in made:
            _print(f"{one.code} {one.subject}: {_VERDICTS[one.verdict]}: {one.words}")
        for fact, why in waits:
            _print(f"{fact.code} {fact.subject} waits: {why}")
        if not made and not waits:
            print("nothing is suspect")
    return EXIT_FAILED if failed else EXIT_OK


def accept(db: Path, *, as_json: bool) -> int:
    """Judge the latest smoke run of this epoch; make one if there is none.

    5 if a disk is behind the others or the stripe behind what is published.
    """
    from appliance.drift import accepting, check, evaluate

    show = ProgressBar()
    found = accepting.accept(db, on_progress=show.show)
    check.keep_performance(db, evaluate.facts_of(db, now=time.time()))
    if as_json:
        document = {
            "healthy": found.healthy,
            "run": found.run_id,
            "facts": [_fact_to_json(fact) for fact in found.facts],
            "notes": list(found.notes),
        }
        print(json.dumps(document, indent=2))
    else:
        _print(f"{_healthy(found)} (run {found.run_id})")
        for fact in found.facts:
            _print(f"{fact.code} {fact.subject}: {fact.summary}")
        for note in found.notes:
            _print(note)
    return EXIT_DRIFT if found.facts else EXIT_OK


def _healthy(found: Acceptance) -> str:
    if found.healthy is None:
        return "◆ nothing to judge by"
    return "● healthy" if found.healthy else "✗ not healthy"


def _to_json(one: Confirmation) -> dict[str, Any]:
    return {
        "code": one.code,
        "subject": one.subject,
        "target": one.target,
        "verdict": one.verdict.value,
        "words": one.words,
        "run": one.run_id,
        "repeats_iops": list(one.repeats),
        "control_iops": list(one.control),
    }


def _fact_to_json(fact: Fact) -> dict[str, Any]:
    return {
        "code": fact.code,
        "severity": fact.severity.value,
        "subject": fact.subject,
        "member": fact.member,
        "summary": fact.summary,
        "evidence": dict(fact.evidence),
        "next_step": fact.next_step,
    }


def _print(sentence: str) -> None:
    print("\n".join(text.wrapped(text.printable(sentence), indent="  ")))
