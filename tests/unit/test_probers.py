"""What wipefs and blkid print, of one device and of several, as they really print it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from appliance.errors import CommandFailed
from appliance.model.disks import Signature
from appliance.storage.probe import probers
from appliance.system import process

_DATA = Path(__file__).parent / "data/storage"


def wipefs(text: str) -> tuple[Signature, ...]:
    (found,) = probers.parse_wipefs(text, ["/dev/sda"])
    return found


@pytest.mark.parametrize(
    "text",
    [
        '{"signatures": [{"type": "ext4"}]}',
        '{"signatures": [{"type": "ext4", "offset": "0x438", "device": "sdc"}]}',
        "no JSON",
    ],
)
def test_wipefs_rows_that_are_not_what_they_should_be(text: str) -> None:
    with pytest.raises((ValueError, LookupError, TypeError)):
        probers.parse_wipefs(text, ["/dev/sda", "/dev/sdb"])


def test_recorded_probers_agree_on_a_member() -> None:
    by_wipefs = wipefs((_DATA / "wipefs-md-member.json").read_text())
    blkid = probers.parse_blkid((_DATA / "blkid-md-member.txt").read_text())
    (found,) = probers.merge(by_wipefs, blkid)
    assert (found.kind, found.offset_bytes) == ("linux_raid_member", 0x1000)
    assert found.label == "stripewright:scratch"


def test_recorded_partition_table_and_blank_disk() -> None:
    by_wipefs = wipefs((_DATA / "wipefs-gpt.json").read_text())
    blkid = probers.parse_blkid((_DATA / "blkid-gpt.txt").read_text())
    found = probers.merge(by_wipefs, blkid)
    assert [(one.kind, one.offset_bytes) for one in found] == [
        ("PMBR", 0x1FE),
        ("gpt", 0x200),
        ("gpt", 0xFFFFE00),
    ]
    assert wipefs((_DATA / "wipefs-blank.json").read_text()) == ()
    assert wipefs("") == ()


def test_a_finding_of_either_prober_counts() -> None:
    ext4 = wipefs((_DATA / "wipefs-ext4.json").read_text())
    other = probers.parse_blkid("ID_FS_TYPE=zfs_member\n")
    assert {one.kind for one in probers.merge(ext4, other)} == {"ext4", "zfs_member"}


def test_a_label_cannot_forge_a_line() -> None:
    (found,) = probers.parse_blkid((_DATA / "blkid-ext4-hostile-label.txt").read_text())
    assert (found.kind, found.label) == ("ext4", "x=y_z")


# --------------------------------------------------------------------- several devices


class Programs:
    """wipefs and blkid, by what they answer to the devices they are given."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.started: list[tuple[str, ...]] = []
        self.wipefs = "two-wipefs.json"
        self.blkid: dict[tuple[str, ...], tuple[int, str]] = {}
        monkeypatch.setattr(process, "run", self._run)

    def _run(self, argv: Sequence[str], *, check: bool = True, **_: object) -> process.Completed:
        nodes = tuple(one for one in argv if one.startswith("/dev/"))
        self.started.append((argv[0], *nodes))
        code, text = 0, (_DATA / self.wipefs).read_text()
        if argv[0] == "blkid":
            code, text = self.blkid[nodes]
        elif len(nodes) == 1 or "/dev/gone" in nodes:
            code, text = ("/dev/gone" in nodes), ""
        if check and code:
            raise CommandFailed(argv, code, "No such file or directory")
        return process.Completed(tuple(argv), code, text, "")


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(monkeypatch)


def test_each_prober_is_started_once_for_all(programs: Programs) -> None:
    text = (_DATA / "two-blkid.txt").read_text()
    programs.blkid["/dev/d2", "/dev/d4"] = (0, text)
    two, four = probers.ask(["/dev/d2", "/dev/d4"])
    assert programs.started == [("wipefs", "/dev/d2", "/dev/d4"), ("blkid", "/dev/d2", "/dev/d4")]
    # The label of the first says that it is the second, and has line breaks and an empty line.
    assert not isinstance(two, Exception)
    assert not isinstance(four, Exception)
    assert [(one.kind, one.label) for one in two] == [("ext4", "x=y\n\nDEVNAME=/d4")]
    assert {one.kind for one in four} == {"swap"}


def test_one_device_without_a_finding_makes_blkid_be_asked_for_each(programs: Programs) -> None:
    programs.blkid = {
        ("/dev/d2", "/dev/d4"): (2, "ID_FS_TYPE=ext4\n"),
        ("/dev/d2",): (0, "ID_FS_TYPE=ext4\n"),
        ("/dev/d4",): (2, ""),
    }
    assert probers.ask(["/dev/d2", "/dev/d4"]) == [(Signature("ext4"),), ()]


@pytest.mark.parametrize("text", ["", "ID_FS_TYPE=xfs\n", "A=1\n\nB=2\n\nC=3\n", "A=1\n\n\n"])
def test_answers_that_do_not_match_the_devices_are_not_used(programs: Programs, text: str) -> None:
    programs.blkid = {
        ("/dev/d2", "/dev/d4"): (0, text), ("/dev/d2",): (8, ""), ("/dev/d4",): (4, ""),
    }  # fmt: skip
    two, four = probers.ask(["/dev/d2", "/dev/d4"])
    assert two == (Signature("ambivalent"),)
    assert isinstance(four, CommandFailed)


def test_a_device_that_is_gone_is_the_only_one_without_an_answer(programs: Programs) -> None:
    programs.blkid = {("/dev/d2",): (0, "ID_FS_TYPE=xfs\n")}
    two, gone = probers.ask(["/dev/d2", "/dev/gone"])
    assert two == (Signature("xfs"),)
    assert isinstance(gone, CommandFailed)
    assert probers.ask([]) == []
