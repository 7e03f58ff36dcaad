"""What somebody who has never used ``drift`` is told before anything is done."""

from __future__ import annotations

import pytest

from appliance.bench import fingerprint
from appliance.cli.main import main
from appliance.drift.series import remeasure
from appliance.errors import EXIT_USAGE, OperatorError


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("confirm", ("minutes", "five times", ".stripewright-bench", "removes its files")),
        ("accept", ("smoke", "minutes", ".stripewright-bench", "Exit status 5")),
        ("replay", ("- is standard input", "slot", "value", "epoch", "commas", "latency")),
    ],
)
def test_the_help_says_what_it_takes(capsys, action, told):
    with pytest.raises(SystemExit):
        main(["drift", action, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert [words for words in told if words not in text] == []


def test_a_file_without_a_name_is_no_directory(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["drift", "replay", ""])
    assert ended.value.code == EXIT_USAGE
    assert "the name is empty" in capsys.readouterr().err


def test_accept_without_a_volume_hints_at_what_it_can_do(tmp_path, monkeypatch):
    def none():
        raise OperatorError("no volume of this machine is mounted", "--target DIR")

    monkeypatch.setattr(fingerprint, "default_target", none)
    with pytest.raises(OperatorError, match="no volume") as caught:
        remeasure.accept(tmp_path / "none.db")
    assert (
        "bench run smoke --target DIR --db FILE, then stripewright drift accept"
        in caught.value.hint
    )


def test_a_history_that_is_not_there_hints_at_a_run_anywhere(tmp_path, capsys):
    assert main(["drift", "list", "--db", str(tmp_path / "none.db")]) != 0
    assert "off the appliance: stripewright bench run smoke --target DIR" in capsys.readouterr().err
