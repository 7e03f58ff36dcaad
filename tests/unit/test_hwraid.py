"""The fixtures were written after published output: no controller was at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.errors import OperatorError
from appliance.model.disks import HardwareDrive, VirtualDrive
from appliance.model.plans import Volume
from appliance.storage.formats import hwraid

_DATA = Path(__file__).parent / "data/storage"


def _fixture(which: str) -> str:
    return (_DATA / f"storcli-{which}.json").read_text()


def test_command_lines() -> None:
    volume = Volume(name="data", mount="/mnt/data", stripe="hw-raid0", chunk_bytes=64 * 1024)
    assert hwraid.drives_argv() == ("storcli64", "/call/eall/sall", "show", "all", "J", "nolog")
    assert hwraid.virtual_drives_argv() == ("storcli64", "/call/vall", "show", "all", "J", "nolog")
    assert hwraid.create_argv(volume, 1, ["252:0", "252:1"]) == (
        "storcli64", "/c1", "add", "vd", "type=raid0", "name=sw-data", "drives=252:0,252:1",
        "strip=64", "J", "nolog",
    )  # fmt: skip
    assert hwraid.delete_argv(1, 3) == ("storcli64", "/c1/v3", "del", "J", "nolog")


def test_names() -> None:
    longest = "twelve-chars"
    assert len(hwraid.virtual_name(longest)) <= 15
    assert hwraid.volume_of(hwraid.virtual_name(longest)) == longest
    for name in ("data", "", "sw-", "sw-A", "sw-data\n"):
        assert hwraid.volume_of(name) == ""


def test_drives() -> None:
    drives = hwraid.parse_drives(_fixture("drives"), 0)
    assert [drive.place for drive in drives] == ["252:0", "252:1", "252:2", "252:10"]
    assert drives[2] == HardwareDrive(
        controller=0,
        place="252:2",
        model="EXAMPLE SSD 960G",
        serial="EXA0002",
        size_bytes=0x6FA46000 * 512,
        state=hwraid.DRIVE_FREE,
    )


def test_virtual_drives_of_two_controllers() -> None:
    ours, other = hwraid.parse_virtual_drives(_fixture("virtual-drives"), 0)
    assert ours == VirtualDrive(
        controller=0,
        number=0,
        name="sw-data",
        level="raid0",
        strip_bytes=256 * 1024,
        size_bytes=3746086912 * 512,
        state=hwraid.OPTIMAL,
        path="/dev/sdb",
        drives=("252:0", "252:1"),
        wwid="600605b0000000000000000000000000",
    )
    # Older firmware does not tell the node; the wwid does.
    assert (other.path, other.wwid[-1], other.level) == ("", "1", "raid1")
    assert hwraid.volume_of(other.name) == ""


def test_a_drive_with_4_kib_sectors_and_one_without_an_enclosure() -> None:
    text = _fixture("drives").replace(
        '"Logical Sector Size": "512B"', '"Logical Sector Size": "4 KB"'
    )
    assert hwraid.parse_drives(text, 0)[0].size_bytes == 0x6FA46000 * 4096
    text = text.replace("/c0/e252/s0", "/c0/s0").replace('"252:0"', '" :0"')
    assert hwraid.parse_drives(text, 0)[0].place == ":0"


def _failed(**changes: object) -> str:
    status = {
        "Controller": 0,
        "Status": "Failure",
        "Description": "Add VD Failed",
        "Detailed Status": [{"Status": "Failed", "ErrCd": 255, "ErrMsg": "physical disk in use"}],
    }
    return json.dumps({"Controllers": [{"Command Status": {**status, **changes}}]})


def test_the_controllers_own_reason_is_told() -> None:
    with pytest.raises(
        OperatorError, match=r"exit status 255.*Add VD Failed; physical disk in use"
    ):
        hwraid.check_result(_failed(), 255)
    with pytest.raises(OperatorError, match="without a reason"):
        hwraid.check_result(_failed(**{"Description": "-", "Detailed Status": "x"}), 1)


def test_status_and_exit_status_both_count() -> None:
    hwraid.check_result(_failed(Status="Success"), 0)
    with pytest.raises(OperatorError, match="exit status 1"):
        hwraid.check_result(_failed(Status="Success"), 1)
    with pytest.raises(OperatorError, match="exit status 0"):
        hwraid.check_result(_failed(), 0)


def test_one_controller_that_failed_fails_the_whole_answer() -> None:
    document: Any = json.loads(_fixture("virtual-drives"))
    document["Controllers"][1]["Command Status"]["Status"] = "Failure"
    with pytest.raises(OperatorError, match="No VDs"):
        hwraid.parse_virtual_drives(json.dumps(document), 0)


def test_no_controller_is_no_drives() -> None:
    text = _failed(Description="No Controller found")
    assert hwraid.parse_drives(text, 255) == ()
    assert hwraid.parse_virtual_drives(text, 255) == ()


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "[]", "{}", '{"Controllers": 1}', '{"Controllers": [1]}', "[" * 100_000),
        '{"Controllers": [{"Command Status": {}}]}',
        '{"Controllers": [{"Command Status": 1}]}',
    ],
)
def test_anything_else_is_an_operator_error(text: str) -> None:
    for read in (hwraid.parse_drives, hwraid.parse_virtual_drives):
        with pytest.raises(OperatorError, match="something unexpected"):
            read(text, 0)


_CELLS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["EID:Slt", "Model", "Strip Size", "Number of Blocks", "Coerced size"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
_DATA_KEYS = st.sampled_from(
    [
        *("Drive /c0/e1/s1", "Drive /c0/e1/s1 - Detailed Information", "/c0/v0"),
        *("PDs for VD 0", "VD0 Properties", "Drive /c0/s2"),
    ]
)


@given(_CELLS | st.dictionaries(_DATA_KEYS, _CELLS, max_size=4), _CELLS, st.text(max_size=30))
def test_any_answer_is_read_or_an_operator_error(data: object, status: object, text: str) -> None:
    for state in ({"Status": "Success"}, {"Status": status, "Detailed Status": status}, status):
        answer = {"Controllers": [{"Command Status": state, "Response Data": data}]}
        for candidate in (text, json.dumps(answer)):
            for read in (hwraid.parse_drives, hwraid.parse_virtual_drives):
                try:
                    read(candidate, 0)
                except OperatorError as error:
                    assert error.hint
