"""Presets beside what is published and what was measured; and the command that says so."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance import paths
from appliance.bench.validity.impossible import MAX_OF_PUBLISHED
from appliance.cli.main import main
from appliance.clouds.capability import MeasuredByOthers
from appliance.data import csv_rows, instance_type
from appliance.errors import EXIT_DRIFT
from appliance.presets import audit, preset_file
from appliance.presets.audit import Judgement, Own, Verdict
from appliance.presets.preset import Quantity

I3_READ, I3_WRITE = 825_000, 360_000  # i3.4xlarge, both disks
SOURCE = instance_type("i3.4xlarge").published_by.source  # type: ignore[union-attr]
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _no_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "HISTORY_DB", tmp_path / "none.db")


def row(name: str, figures: tuple[int, int, int, int]) -> str:
    lines = (f"  {key}: {value}\n" for key, value in zip(Quantity, figures, strict=True))
    return f"{name}:\n{''.join(lines)}"


def disks(read_iops: int, read_bandwidth: int = 1, write_iops: int = 300_000) -> str:
    return (
        f"disks:\n  - mountpoint: /x\n    read_iops: {read_iops}\n"
        f"    read_bandwidth: {read_bandwidth}\n    write_iops: {write_iops}\n"
        "    write_bandwidth: 1\n"
    )


def judge(text: str, machine: str = "", *measured: Own) -> list[Judgement]:
    return list(audit.judge(preset_file.presets("f", text.encode()), machine, measured))


def own(value: float, **known: object) -> Own:
    one = Own(
        quantity=Quantity.READ_IOPS,
        value=value,
        machine_type="i3.4xlarge",
        disk_count=2,
        target="/mnt/scratch/.stripewright-bench",
        member="",
        depth=256,
        runs=20,
        is_normal=True,
        run_id=7,
        suite="smoke",
        job="rand-read-4k",
        ended_at=0.0,
        codes=(),
        published_source=SOURCE,
    )
    return dataclasses.replace(one, **known)  # type: ignore[arg-type]


def of_read_iops(found: list[Judgement]) -> tuple[Verdict, bool]:
    return next((one.verdict, one.multiplied) for one in found if one.figure.name == "read_iops")


@pytest.mark.parametrize(
    ("value", "verdict", "multiplied"),
    [
        (I3_READ, Verdict.PLAUSIBLE, False),
        (int(I3_READ * MAX_OF_PUBLISHED), Verdict.PLAUSIBLE, False),
        (int(I3_READ * MAX_OF_PUBLISHED) + 1, Verdict.IMPOSSIBLE, True),
        (2 * I3_READ, Verdict.IMPOSSIBLE, True),
        (int(2.3 * I3_READ) + 2, Verdict.IMPOSSIBLE, False),
        (int(I3_READ / MAX_OF_PUBLISHED) + 1, Verdict.PLAUSIBLE, False),
        (int(I3_READ / MAX_OF_PUBLISHED) - 1, Verdict.LOW, False),
    ],
)
def test_beside_what_is_published(value: int, verdict: Verdict, multiplied: bool) -> None:
    assert of_read_iops(judge(disks(value), "i3.4xlarge")) == (verdict, multiplied)


@pytest.mark.parametrize(
    ("value", "measured", "verdict", "multiplied"),
    [
        (400_000, 400_000, Verdict.PLAUSIBLE, False),
        (340_000, 400_000, Verdict.LOW, False),
        (500_000, 400_000, Verdict.HIGH, False),
        # Published says that it can be true.
        (800_000, 400_000, Verdict.HIGH, True),
        (2 * I3_READ, 400_000, Verdict.IMPOSSIBLE, True),
    ],
)
def test_beside_what_was_measured(
    value: int, measured: int, verdict: Verdict, multiplied: bool
) -> None:
    found = judge(disks(value), "i3.4xlarge", own(measured))
    assert of_read_iops(found) == (verdict, multiplied)


@pytest.mark.parametrize(("value", "verdict"), [(8e9, Verdict.IMPOSSIBLE), (16e9, Verdict.HIGH)])
def test_of_what_is_not_published_only_that_mistake_is_proof(
    value: float, verdict: Verdict
) -> None:
    measured = own(4e9, quantity=Quantity.READ_BANDWIDTH)
    found = judge(disks(1, int(value)), "i3.4xlarge", measured)[1]
    assert (found.verdict, found.published, found.times) == (verdict, None, value / 4e9)


@pytest.mark.parametrize(
    "known",
    [
        {"machine_type": "i3.8xlarge"},
        {"disk_count": 1},
        {"quantity": Quantity.WRITE_IOPS},
        {"published_source": "of network volumes"},
    ],
)
def test_only_what_was_measured_of_the_same_is_compared(known: dict[str, object]) -> None:
    assert judge(disks(I3_READ), "i3.4xlarge", own(1.0, **known))[0].own is None


def test_the_fullest_queue_and_then_the_latest_is_compared() -> None:
    measured = (own(1.0, depth=32, run_id=9), own(2.0, run_id=7), own(3.0, run_id=8))
    found = judge(disks(I3_READ), "i3.4xlarge", *measured)[0].own
    assert found is not None
    assert found.value == 3.0


@pytest.mark.parametrize(
    ("text", "machine", "why"),
    [
        (disks(1), "", "it is not said for which machine type"),
        (row("no.such", (1, 1, 1, 1)), "", "nothing is known of the machine type"),
        (disks(1), "VM.DenseIO.E5.Flex-8", "how many disks"),
        (disks(1), "n2-standard-32", "how many disks"),
        ("8:16 rseqiops=1\n", "i3.4xlarge", "merged"),
        ("8:16 rlat=1\n", "i3.4xlarge", "a latency to keep"),
        (disks(500_000), "Standard_L8s_v3", "typical"),
    ],
)
def test_what_cannot_be_judged_says_why(text: str, machine: str, why: str) -> None:
    found = judge(text, machine)[0]
    assert found.verdict is Verdict.UNKNOWN
    assert why in found.why


def test_what_is_not_published_is_no_default() -> None:
    bandwidth = judge(disks(1, 10**15), "i3.4xlarge")[1]
    assert (bandwidth.verdict, bandwidth.published) == (Verdict.UNKNOWN, None)
    assert bandwidth.why == "it is not published, and was not measured"


def test_io_cost_is_of_one_disk() -> None:
    of_one, of_both = judge("8:16 rrandiops=412500\n8:0 rrandiops=825000\n", "i3.4xlarge")
    assert (of_one.verdict, of_one.published) == (Verdict.PLAUSIBLE, 412_500)
    assert (of_both.verdict, of_both.times, of_both.multiplied) == (Verdict.IMPOSSIBLE, 2.0, True)


def test_a_familys_row_is_for_its_types_without_one() -> None:
    text = row("i3.large", (1, 1, 1, 1)) + row("i3.ALL", (411_200, 1, 181_500, 1))
    of_all = [one for one in judge(text) if one.preset.place == "i3.ALL"]
    read = {one.machine_type: one.value for one in of_all if one.figure.name == "read_iops"}
    assert "i3.large" not in read
    assert (read["i3.2xlarge"], read["i3.4xlarge"], read["i3.16xlarge"]) == (
        411_200,
        2 * 411_200,
        8 * 411_200,
    )


def test_a_machine_takes_its_row_or_its_familys() -> None:
    text = row("i3.large", (1, 1, 1, 1)) + row("i3.ALL", (411_200, 1, 181_500, 1))
    assert {one.preset.place for one in judge(text, "i3.large")} == {"i3.large"}
    assert {one.preset.place for one in judge(text, "i3.4xlarge")} == {"i3.ALL"}
    assert judge(text, "i4i.large") == []


@given(st.integers(1, 10**18 - 1), st.none() | st.floats(1, 1e12))
def test_the_verdict_follows_from_the_ratio(value: int, measured: float | None) -> None:
    found = judge(disks(value), "i3.4xlarge", *([own(measured)] if measured else []))[0]
    assert (found.verdict is Verdict.IMPOSSIBLE) == (value > I3_READ * MAX_OF_PUBLISHED)
    assert found.verdict is not Verdict.UNKNOWN
    assert not (found.multiplied and found.verdict in {Verdict.LOW, Verdict.PLAUSIBLE})


# --------------------------------------------------------------- the public ones, and the docs


def public(provider: str) -> str:
    """Scylla's table for a provider, in its form, from the facts that the package has of it."""
    return "".join(
        row(
            one.instance_type,
            (one.read_iops, one.read_bytes_per_s, one.write_iops, one.write_bytes_per_s),
        )
        for one in csv_rows("measured_by_others.csv", MeasuredByOthers)
        if one.source.endswith(f" {provider}_io_params.yaml")
    )


@pytest.mark.parametrize("provider", ["aws", "azure", "oci"])
def test_the_docs_have_what_the_public_presets_give(provider: str) -> None:
    text = public(provider)
    found = judge(text)
    counts = Counter(one.verdict for one in found)
    times = [one.times for one in found if one.verdict is Verdict.IMPOSSIBLE and one.times]
    cells = (
        text.count("iops:") + text.count("bandwidth:"),
        *(counts[one] for one in (Verdict.PLAUSIBLE, Verdict.LOW, Verdict.UNKNOWN)),
        counts[Verdict.IMPOSSIBLE],
        f"{max(times):.2f}" if times else "-",
    )
    line = rf"\| `{provider}_io_params.yaml` \| {' [|] '.join(map(str, cells))} \|"
    assert re.search(line, (ROOT / "docs/presets.md").read_text()), line
    assert all(one.multiplied for one in found if one.verdict is Verdict.IMPOSSIBLE)


# ------------------------------------------------------------------------------ the command


def call(tmp_path: Path, text: str, *argv: str) -> int:
    (tmp_path / "f.yaml").write_text(text)
    return main(["audit-presets", str(tmp_path / "f.yaml"), *argv])


def test_the_command_names_the_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = call(tmp_path, row("i8g.24xlarge", (2_664_000, 1, 2_072_000, 1)))
    out, err = capsys.readouterr()
    assert status == EXIT_DRIFT
    assert "4 figures: 2 cannot be true, 2 cannot be judged" in " ".join(out.split())
    assert re.search(
        r"i8g\.24xlarge +write_iops +12\.4M +2\.0M +6\.28 +cannot be true, × 6 disks", out
    )
    assert "× N disks (2): as if the figure of all N disks were that of one" in out
    assert "2 cannot be judged: it is not published, and was not measured" in out
    assert err == "note: there is no history: compared with what is published\n"


def test_json_has_every_figure_with_what_it_was_compared_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tmp_path, disks(I3_READ), "--machine", "i3.4xlarge", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["history"] is None
    (file,) = document["files"]
    assert [one["verdict"] for one in file["figures"]] == [
        "plausible", "unknown", "low", "unknown"
    ]  # fmt: skip
    assert file["figures"][0] == {
        "place": "disks[0]",
        "name": "read_iops",
        "unit": "iops",
        "line": 3,
        "figure": I3_READ,
        "scope": "volume",
        "machine_type": "i3.4xlarge",
        "disk_count": 2,
        "value": I3_READ,
        "verdict": "plausible",
        "times": 1.0,
        "multiplied": False,
        "why": "",
        "published": I3_READ,
        "published_basis": "2 × 412,500 (i3.4xlarge)",
        "published_source": SOURCE,
        "is_limit": True,
        "measured": None,
    }


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        ("i3.4xlrge\x1b", "nothing is known of machine type"),
        ("i4i.large", "there is no figure for machine type i4i.large in it"),
    ],
)
def test_a_machine_that_is_not_known_or_not_in_the_table(
    machine: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tmp_path, row("i3.large", (1, 1, 1, 1)), "--machine", machine) == 2
    out, err = capsys.readouterr()
    assert (out, "\x1b" in err) == ("", False)
    assert said in err


def test_a_history_that_is_named_must_be_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(tmp_path, disks(1), "--db", str(tmp_path / "no.db")) == 1
    assert "there is no history at" in capsys.readouterr().err
