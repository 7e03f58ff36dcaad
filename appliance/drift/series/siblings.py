"""What other machines of this type do: the first expectation of a machine that has no history.

``stripewright fleet DIR --normal FILE`` writes it on a machine that has many machines' results, and
its owner signs it with an SSH key (ssh-keygen(1), -Y sign). Here it counts only with a good
signature of one of the signers that root listed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from appliance import paths
from appliance.errors import OperatorError
from appliance.model.runs import RunRecord
from appliance.system import files, process

# What was signed: a signature of something else by the same key does not count.
NAMESPACE = "stripewright-normal"
FORM = 1
_MOST_BYTES = 8 << 20
_SECONDS = 20.0
_SAME = ("stripe", "filesystem", "mount_options", "kernel")
Series = tuple[str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Usual:
    """IOPS of ``machines`` machines in one series: the median of each, and of these the 10th and
    50th percentile.
    """

    machines: int
    low_iops: float
    iops: float


@dataclass(frozen=True, slots=True)
class Siblings:
    """By machine type, conditions, suite, job and direction. ``problem`` says why there are none,
    where there is a file; ``signer`` is who signed it.
    """

    usual: Mapping[Series, Usual] = field(default_factory=dict)
    signer: str = ""
    problem: str = ""


def conditions(suite_hash: str, run: RunRecord, fingerprint: Mapping[str, str]) -> str:
    """All that has to be equal where results of machines of one type are compared."""
    known = (fingerprint.get(name, "?") for name in _SAME)
    return "; ".join((suite_hash[:12], run.fio_version, run.target_kind, *known))


def read(file: Path = paths.NORMAL_FILE, signers: Path = paths.NORMAL_SIGNERS) -> Siblings:
    """The expectation of this machine; empty without a file."""
    try:
        text = files.read_bounded(file, _MOST_BYTES).decode()
    except FileNotFoundError:
        return Siblings()
    except (OSError, UnicodeDecodeError) as error:
        return Siblings(problem=f"{file} cannot be read: {error}")
    try:
        signer = _signer(file, signers, text)
        return Siblings(parse(text), signer)
    except OperatorError as error:
        return Siblings(problem=f"{file} does not count: {error.message}")
    except ValueError as error:
        return Siblings(
            problem=f"{file} is not what 'stripewright fleet DIR --normal FILE' writes: {error}"
        )


def _signer(file: Path, signers: Path, text: str) -> str:
    """Who signed it, of those in ``signers``. Raises :class:`OperatorError` if none of them did."""
    signature = f"{file}.sig"
    of = ["ssh-keygen", "-Y", "find-principals", "-s", signature, "-f", str(signers)]
    found = process.run(of, timeout_seconds=_SECONDS, check=False)
    signer = found.stdout.strip().partition("\n")[0]
    if found.returncode or not signer:
        raise OperatorError(f"{signature} is no signature of a signer in {signers}", "")
    argv = ["ssh-keygen", "-Y", "verify", "-f", str(signers), "-I", signer, "-n", NAMESPACE]
    done = process.run(
        [*argv, "-s", signature], timeout_seconds=_SECONDS, check=False, input_text=text
    )
    if done.returncode:
        raise OperatorError(f"{signature} is not of this file", "")
    return signer


def parse(text: str) -> dict[Series, Usual]:
    """The file's series. Raises :class:`ValueError` in words about it. Pure."""
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("stripewright_normal") != FORM:
        raise ValueError(f"stripewright_normal is not {FORM}")
    listed = document.get("normal")
    if not isinstance(listed, list):
        raise ValueError("normal is not a list")
    return {_series(one): _usual(one) for one in listed}


def _series(row: Any) -> Series:  # noqa: ANN401 - of a file
    if not isinstance(row, dict):
        raise ValueError("an entry of normal is not an object")
    names = ("machine_type", "conditions", "suite", "job", "direction")
    values = [row.get(name) for name in names]
    for name, value in zip(names, values, strict=True):
        if not isinstance(value, str):
            raise ValueError(f"{name} is not a text")
    machine_type, same, suite, job, direction = map(str, values)
    return machine_type, same, suite, job, direction


def _usual(row: Mapping[str, Any]) -> Usual:
    machines = row.get("machines")
    if not isinstance(machines, int) or machines < 1:
        raise ValueError("machines is not a number of machines")
    return Usual(machines, _level(row, "low_iops"), _level(row, "iops"))


def _level(row: Mapping[str, Any], name: str) -> float:
    value = row.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    raise ValueError(f"{name} is not a number above 0")
