"""The commands of docs/cloud-import.md, read by the clouds' own client libraries; no network.

Amazon's own command line parses its commands and builds the requests, which go nowhere. Google's is
not to be had as a library: its flags are held against the document that describes the service.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

clidriver = pytest.importorskip("awscli.clidriver", reason="make clouds has it")
pytest.importorskip("googleapiclient", reason="make clouds has it")

_PAGE = Path(__file__).parents[2] / "docs" / "cloud-import.md"
_BLOCKS = re.compile(r"^```\n(.*?)^```", re.MULTILINE | re.DOTALL)
_VALUES = {"snap-…": "snap-0123456789abcdef0", "ami-…": "ami-0123456789abcdef0"}
# What of the service each flag of gcloud is: a schema, and its properties to the last.
_FLAGS = {
    "images": {
        "--architecture": "Image.architecture",
        "--source-uri": "Image.rawDisk.source",
        "--guest-os-features": "Image.guestOsFeatures.type",
        "--platform-key-file": "Image.shieldedInstanceInitialState.pk.fileType",
        "--key-exchange-key-file": "Image.shieldedInstanceInitialState.keks.fileType",
        "--signature-database-file": "Image.shieldedInstanceInitialState.dbs.fileType",
    },
    "instances": {
        "--image": "Instance.disks.initializeParams.sourceImage",
        "--machine-type": "Instance.machineType",
        "--metadata": "Instance.metadata.items.value",
        "--local-ssd": "Instance.disks.interface",
        "--boot-disk-type": "Instance.disks.initializeParams.diskType",
        "--shielded-secure-boot": "Instance.shieldedInstanceConfig.enableSecureBoot",
    },
}
# Flags without a value, and those that name a file, whose type the service lists.
_ALONE = {"--shielded-secure-boot"}
_FILES = {".der": "X509"}


def _commands(program: str) -> list[list[str]]:
    text = "\n".join(_BLOCKS.findall(_PAGE.read_text())).replace("\\\n", " ")
    words = [shlex.split(line, comments=True) for line in text.splitlines()]
    return [[_VALUES.get(word, word) for word in one[1:]] for one in words if one[:1] == [program]]


_AWS, _GCLOUD = _commands("aws"), _commands("gcloud")


@pytest.fixture
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("something was to go over the network")

    # Where its descriptions of the services are.
    kept = {"AWS_DATA_PATH"}
    for name in [name for name in os.environ if name.startswith("AWS_") and name not in kept]:
        monkeypatch.delenv(name)
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        monkeypatch.setenv(f"AWS_{name}", "x")
    for name in ("CONFIG_FILE", "SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(f"AWS_{name}", os.devnull)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stripewright.raw").write_bytes(b"x")


def _requests(words: list[str]) -> list[str]:
    """The operations that ``aws`` asks for, each with values that its service knows."""
    driver, asked = clidriver.create_clidriver(), []

    def look(params: dict[str, Any], model: Any, **_: object) -> None:
        asked.append(model.name)
        assert list(_unknown(params, model.input_shape)) == []

    driver.session.register("before-parameter-build", look)
    answer = SimpleNamespace(status_code=200), {}
    driver.session.register("before-call", lambda **_: answer)
    assert driver.main(words) == 0
    return asked


def _unknown(value: Any, shape: Any) -> list[str]:
    """The words in a request that the service's lists do not have; its client lets them pass."""
    if isinstance(value, dict) and shape.type_name == "structure":
        return [word for key, one in value.items() for word in _unknown(one, shape.members[key])]
    if isinstance(value, list):
        return [word for one in value for word in _unknown(one, shape.member)]
    listed = getattr(shape, "enum", [])
    return [value] if listed and value not in listed else []


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize("words", _AWS, ids=lambda words: " ".join(words[:2]))
def test_amazon_takes_the_command(words: list[str]) -> None:
    asked = _requests(words)
    assert asked
    assert all(name.lower() == words[1].replace("-", "") for name in asked if words[0] == "ec2")


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize("words", _AWS, ids=lambda words: " ".join(words[:2]))
def test_amazon_takes_no_misspelt_one(words: list[str]) -> None:
    """Each option, name of a structure and listed word once with a letter more."""
    for at, word in enumerate(words[2:], start=2):
        spoilt = [f"{word}x"] if word.startswith("--") else []
        spoilt += [word.replace(key, f"{key}x", 1) for key in re.findall(r"\w+(?==)", word)]
        listed = {"x86_64", "arm64", "uefi-preferred", "i4i.xlarge", "i8g.xlarge"} & {word}
        spoilt += [f"{one}x" for one in listed]
        spoilt += [word.replace(one, f"{one}x") for one in ("gp3", "required") if one in word]
        for wrong in spoilt:
            with pytest.raises((AssertionError, SystemExit)):
                _requests([*words[:at], wrong, *words[at + 1 :]])


def _described(words: list[str]) -> list[str]:
    """Values of a gcloud command that the service's document does not list; :class:`KeyError` for
    flags and properties that it does not have.
    """
    found = resources.files("googleapiclient.discovery_cache.documents") / "compute.v1.json"
    schemas = json.loads(found.read_text())["schemas"]
    _, what, verb, name, *rest = words
    assert verb == "create"
    assert name
    unknown = []
    words = iter(rest)
    for flag in words:
        value = "" if flag in _ALONE else next(words)
        value = _FILES.get(Path(value).suffix, value)
        schema, *path = _FLAGS[what][flag].split(".")
        at = schemas[schema]
        for step in path:
            at = at["properties"][step]
            at = at.get("items", at)
            at = schemas[at["$ref"]] if "$ref" in at else at
        said = [one.partition("=")[2] or one for one in value.split(",")]
        unknown += [one for one in said if "enum" in at and one.upper() not in at["enum"]]
    return unknown


@pytest.mark.parametrize("words", _GCLOUD, ids=lambda words: " ".join(words[1:3]))
def test_google_describes_what_is_asked(words: list[str]) -> None:
    assert _described(words) == []


def test_google_describes_no_misspelt_one() -> None:
    image, *_ = _GCLOUD
    for right, wrong in (("--source-uri", "--source-url"), ("UEFI_COMPATIBLE,GVNIC", "UEFI,GVNIC")):
        spoilt = [wrong if word == right else word for word in image]
        assert spoilt != image
        with pytest.raises((AssertionError, KeyError)):
            assert _described(spoilt) == []
    instance = ["compute", "instances", "create", "NAME", "--local-ssd", "interface=nvmx"]
    assert _described(instance) == ["nvmx"]


def test_every_command_is_read() -> None:
    assert [words[1] for words in _AWS] == [
        "cp", "import-snapshot", "describe-import-snapshot-tasks", "register-image",
        "run-instances", "register-image", "run-instances", "register-image",
    ]  # fmt: skip
    assert [words[1] for words in _GCLOUD] == [
        "images", "instances", "instances", "images", "instances", "images", "instances",
    ]  # fmt: skip
