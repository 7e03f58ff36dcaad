"""A code of findings is one entry: what it takes to add one, and what a fact of it is made of."""

from __future__ import annotations

import ast
import re
import string
from pathlib import Path

import pytest

from appliance.cli.main import main
from appliance.drift.codes import CODES, fact
from appliance.errors import EXIT_DRIFT, EXIT_OK
from appliance.model.findings import Area, Code, DriftSeverity
from tests.rig.catalog import catalog, page
from tests.unit.drift_checks import Machine

DRIFT = Path(__file__).parents[2] / "appliance" / "drift"
TOY = Code(
    "TOY-TOO-LOUD", Area.LAYOUT, DriftSeverity.WARNING, "0" * 32,
    title="a toy is too loud",
    summary="{toy} of volume {volume} plays at {observed}, not {expected}",
    next_step="turn it down: echo {expected} > {knob}",
    meaning="A toy plays louder than declared. `loud` is not a unit.",
    first="Turn it down, see `stripewright drift show ID`.",
    avoid="Do not shout.",
    closes="When it is quiet.",
)  # fmt: skip


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Code:
    monkeypatch.setitem(CODES, TOY.name, TOY)  # type: ignore[arg-type] - to readers it is frozen
    return TOY


def test_a_new_code_is_told_kept_and_explained(toy: Code, watched: Machine, drift) -> None:
    made = fact(
        toy.name,
        "20 dB",
        "90 dB",
        subject="drum",
        volume="scratch",
        evidence={"toy": "a drum"},
        knob="/sys/knob",
    )
    watched.layout = [made]
    status, found = drift("check")
    assert status == EXIT_DRIFT
    (kept,) = drift("list")[1]["findings"]
    assert kept["summary"] == "a drum of volume scratch plays at 90 dB, not 20 dB"
    assert kept["next_step"] == "turn it down: echo 20 dB > /sys/knob"
    assert (kept["severity"], kept["evidence"]) == ("warning", {"toy": "a drum"})
    (told,) = watched.told
    assert (told["id"], told["drift_code"]) == (toy.message_id, toy.name)
    assert str(kept["summary"]) in str(told["line"])
    assert found["findings"] == [kept]
    watched.layout = []
    assert drift("check")[0] == EXIT_OK, "it is in an area that was looked at"
    assert "\n### TOY-TOO-LOUD\n\n*warning*: a toy is too loud.\n\nA toy" in page(CODES.values())
    explained = catalog(CODES.values()).partition(f"-- {toy.message_id}\n")[2]
    assert explained.startswith("Subject: Drift: a toy is too loud (@STRIPEWRIGHT_DRIFT_SUBJECT@)")
    assert "stripewright drift show @STRIPEWRIGHT_DRIFT_FINDING@." in explained
    assert "`" not in explained


def test_the_codes_and_their_ids_are_distinct() -> None:
    assert all(name == code.name for name, code in CODES.items())
    ids = [code.message_id for code in CODES.values()]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[0-9a-f]{32}", one) for one in ids)


def test_the_names_in_a_summary_are_not_formatted_again() -> None:
    made = fact("ENV-FIO", "{expected.__class__}", "{x}", subject="{0}", since="{")
    assert made.summary == "fio is {x}; { it was {expected.__class__}"
    assert made.identity == "{expected.__class__} -> {x}"


def test_hostile_texts_become_one_harmless_line() -> None:
    nasty = "a\nb\x1b[31m\udce9\u202e" + "x" * 5000
    made = fact(
        "ENV-FIO", "1", nasty, subject=nasty, since="then",
        evidence={nasty: nasty, "nan": float("nan"), "n": 1},
    )  # fmt: skip
    assert made.subject == made.observed
    assert made.subject.startswith("a\\nb\\x1b[31m\\udce9\\u202exxx")
    assert len(made.subject) == len(made.summary) == 1000
    assert made.subject.encode()
    assert list(made.evidence) == [made.subject, "n"]


def test_of_evidence_without_end_a_part_is_kept() -> None:
    many = {f"key{number}": number for number in range(100)}
    made = fact("ENV-FIO", "1", "2", subject="fio", since="then", evidence=many)
    assert len(made.evidence) == 64


def test_hostile_names_are_one_line_everywhere(watched: Machine, capsys) -> None:
    nasty = "a\nstripewright: all is well\x1b[2J\udce9"
    swapped = fact(
        "MEMBER-SWAPPED", "AWS3", nasty, subject=nasty, volume="scratch", member=nasty,
        evidence={"slot": 2, "was": "AWS3"}, array="md0",
    )  # fmt: skip
    watched.layout = [swapped]
    assert main(["drift", "check", "--db", str(watched.db)]) == EXIT_DRIFT
    assert main(["drift", "list", "--db", str(watched.db)]) == EXIT_OK
    assert main(["drift", "show", "1", "--db", str(watched.db)]) == EXIT_OK
    out = capsys.readouterr().out
    assert all(line.isprintable() for line in out.splitlines())
    assert not any(line.startswith("stripewright:") for line in out.splitlines())
    assert all("\n" not in str(value) for value in watched.told[0].values())


def test_rules_make_facts_in_no_other_way() -> None:
    """Texts are cleaned where a fact is made, and nowhere else."""
    for file in DRIFT.rglob("*.py"):
        if file != DRIFT / "codes/__init__.py":
            calls = (one for one in ast.walk(ast.parse(file.read_text())) if type(one) is ast.Call)
            names = {one.func.id for one in calls if isinstance(one.func, ast.Name)}
            assert "Fact" not in names, file


def test_every_rule_gives_the_words_that_its_code_asks_for() -> None:
    """A name that is missing would end the whole check, and only when the fault is there."""
    always = {"subject", "expected", "observed", "volume", "member"}
    seen = set()
    for file in DRIFT.rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text())):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
                continue
            if call.func.id != "fact" or not isinstance(call.args[0], ast.Constant):
                continue
            entry = CODES[call.args[0].value]
            given = {one.arg: one.value for one in call.keywords}
            evidence = given.get("evidence", ast.Dict([], []))
            # What is put together elsewhere is seen only when the rule runs.
            if None in given or not isinstance(evidence, ast.Dict) or None in evidence.keys:
                continue
            names = always | given.keys() | {getattr(key, "value", "") for key in evidence.keys}
            for text in ("summary", "next_step"):
                for _, name, _, _ in string.Formatter().parse(getattr(entry, text)):
                    assert text in given or not name or name in names, (file.name, entry.name, name)
            seen.add(entry.name)
    assert len(seen) > 15
