"""``drift confirm`` and ``drift accept``: runs that are made to judge, and the verdict."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from appliance import paths, text
from appliance.commands.running import ProgressBar
from appliance.drift.acceptance import Acceptance
from appliance.errors import EXIT_DRIFT, EXIT_FAILED, EXIT_OK
from appliance.model import Confirmation, Fact, Verdict

_VERDICTS = {
    Verdict.CONFIRMED: "▲ confirmed",
    Verdict.NOT_REPEATED: "● not repeated",
    Verdict.MACHINE: "▲ confirmed, and it is the machine",
    Verdict.UNCLEAR: "◆ unclear",
}


def confirm(db: Path, *, as_json: bool) -> int:
    """Repeat the suspects of ``db`` and print what came of it.

    0 also where they have to wait (foreign load, another run): a later check asks again. 1 if
    the runs were stopped, or one failed.
    """
    from appliance.drift import check, judging, repeating

    if db.absolute() == paths.HISTORY_DB:
        # First: what becomes suspect from now on asks for itself.
        paths.CONFIRM_WANTED.unlink(missing_ok=True)
    show = ProgressBar()
    found = repeating.repeat_suspects(db, on_progress=show.show)
    if found.made:
        show.finish()
        check.keep_performance(db, judging.facts_of(db, now=time.time()))
    if as_json:
        document = {
            "confirmations": [_to_json(one) for one in found.made],
            "waiting": [
                {"code": fact.code, "subject": fact.subject, "why": why}
                for fact, why in found.waits
            ],
        }
        print(json.dumps(document, indent=2))
    else:
        for one in found.made:
            _print(f"{one.code} {one.subject}: {_VERDICTS[one.verdict]}: {one.words}")
        for fact, why in found.waits:
            _print(f"{fact.code} {fact.subject} waits: {why}")
        if not found.made and not found.waits:
            print("nothing is suspect")
    return EXIT_FAILED if found.stopped or found.failed else EXIT_OK


def accept(db: Path, *, as_json: bool) -> int:
    """Judge the latest smoke run of this epoch; make one if there is none.

    5 if a disk is behind the others or the stripe behind what is published.
    """
    from appliance.drift import accepting, check, judging

    show = ProgressBar()
    found = accepting.accept(db, on_progress=show.show)
    check.keep_performance(db, judging.facts_of(db, now=time.time()))
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
