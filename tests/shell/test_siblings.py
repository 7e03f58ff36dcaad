"""The signature of what a new machine is to expect, by the real ssh-keygen."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from appliance.drift.series import siblings

DOCUMENT = {
    "stripewright_normal": 1,
    "normal": [
        {
            "machine_type": "i4i.xlarge", "conditions": "c", "suite": "smoke",
            "job": "rand-read-4k", "direction": "read", "machines": 12, "low_iops": 90_000.0,
            "iops": 100_000.0,
        }
    ],
}  # fmt: skip


@pytest.fixture
def signed(tmp_path: Path) -> tuple[Path, Path]:
    """The file with a good signature, and the list of signers."""
    key, file, signers = tmp_path / "key", tmp_path / "normal.json", tmp_path / "signers"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    signers.write_text(f"fleet@example.com {key.with_suffix('.pub').read_text()}")
    file.write_text(json.dumps(DOCUMENT))
    sign(key, file)
    return file, signers


def sign(key: Path, file: Path, namespace: str = siblings.NAMESPACE) -> None:
    Path(f"{file}.sig").unlink(missing_ok=True)
    argv = ["ssh-keygen", "-Y", "sign", "-n", namespace, "-f", key, file]
    subprocess.run(argv, check=True, capture_output=True)


def test_a_good_signature_counts_and_says_whose_it_is(signed):
    found = siblings.read(*signed)
    assert (found.signer, found.problem) == ("fleet@example.com", "")
    (usual,) = found.usual.values()
    assert usual == siblings.Usual(12, 90_000.0, 100_000.0)


def test_without_a_file_there_is_nothing_and_no_problem(tmp_path):
    assert siblings.read(tmp_path / "none.json", tmp_path / "signers") == siblings.Siblings()


@pytest.mark.parametrize(
    "what", ["changed", "unsigned", "stranger", "other namespace", "no signers", "not text", "link"]
)
def test_anything_else_does_not_count_and_says_why(signed, tmp_path, what):
    file, signers = signed
    if what == "changed":
        file.write_text(file.read_text().replace("100000.0", "200000.0"))
    elif what == "unsigned":
        Path(f"{file}.sig").unlink()
    elif what == "stranger":
        other = tmp_path / "other"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
        sign(other, file)
    elif what == "other namespace":
        sign(tmp_path / "key", file, "git")
    elif what == "no signers":
        signers.unlink()
    elif what == "not text":
        file.write_bytes(b"\xff\xfe")
    else:
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
    found = siblings.read(file, signers)
    assert found.usual == {}
    assert str(file) in found.problem
