from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.errors import OperatorError
from appliance.model.disks import LogicalVolume, LvmMember, VolumeGroup
from appliance.model.plans import Volume
from appliance.storage.formats import lvm

_DATA = Path(__file__).parent / "data/storage"
_TAG = "0123456789abcdef"
_VOLUME = Volume(
    name="data",
    mount="/mnt/data",
    stripe="lvm-stripe",
    chunk_bytes=65536,
    lvm_extent_bytes=8 * 1024 * 1024,
)
_DISKS = ["/dev/sda", "/dev/sdb"]
_ALL = (
    lvm.create_group_argv(_VOLUME, _DISKS, host_tag=_TAG),
    lvm.create_volume_argv(_VOLUME, _DISKS),
    lvm.activate_argv("data", _DISKS),
    lvm.deactivate_argv("data", _DISKS),
    lvm.resize_disks_argv(_DISKS),
    lvm.extend_group_argv("data", _DISKS[:1], _DISKS[1:]),
    lvm.extend_volume_argv(_VOLUME, _DISKS, stripes=2),
    lvm.report_argv(_DISKS),
)


# ---------------------------------------------------------------------- names and commands


def test_name_and_tag_have_to_agree() -> None:
    assert lvm.group_name("data") == "stripewright-data"
    assert lvm.volume_path("data") == "/dev/stripewright-data/data"
    assert lvm.volume_of("stripewright-data", lvm.tags("data", _TAG)) == "data"
    assert lvm.volume_of("stripewright-data", ("stripewright:logs",)) == ""
    assert lvm.volume_of("stripewright-data", ()) == ""
    assert lvm.volume_of("data", ("stripewright:data",)) == ""
    assert lvm.volume_of("stripewright-", ("stripewright:",)) == ""
    assert lvm.volume_of("stripewright-A_b", ("stripewright:A_b",)) == ""


def test_one_machine_or_none() -> None:
    assert lvm.host_of(lvm.tags("data", _TAG)) == _TAG
    assert lvm.host_of(lvm.tags("data", "")) == ""
    assert lvm.host_of(("stripewright-host:x",)) == ""
    assert lvm.host_of((f"stripewright-host:{_TAG}", f"stripewright-host:{_TAG[::-1]}")) == ""


@pytest.mark.parametrize("argv", _ALL, ids=lambda argv: argv[0])
def test_every_call_names_its_disks_and_nothing_of_the_host_counts(argv: tuple[str, ...]) -> None:
    assert argv[argv.index("--devices") + 1] == "/dev/sda,/dev/sdb"
    config = argv[argv.index("--config") + 1]
    for setting in ("backup=0", "archive=0", 'hints="none"', 'system_id_source="none"'):
        assert setting in config
    assert "--yes" not in argv


def _rest(argv: tuple[str, ...]) -> tuple[str, ...]:
    return argv[argv.index("--config") + 2 :]


def test_create() -> None:
    group = lvm.create_group_argv(_VOLUME, _DISKS, host_tag=_TAG)
    assert group[0] == "vgcreate"
    assert _rest(group) == (
        "--setautoactivation", "n", "--dataalignment", "1024k", "--physicalextentsize", "8192k",
        "--addtag", "stripewright:data", "--addtag", f"stripewright-host:{_TAG}",
        "stripewright-data", "/dev/sda", "/dev/sdb",
    )  # fmt: skip
    volume = lvm.create_volume_argv(_VOLUME, _DISKS)
    assert volume[0] == "lvcreate"
    assert _rest(volume) == (
        "--wipesignatures", "y", "--zero", "y", "--type", "striped", "--stripes", "2",
        "--stripesize", "64k", "--extents", "100%FREE", "--name", "data", "stripewright-data",
    )  # fmt: skip
    for forced in (
        lvm.create_group_argv(_VOLUME, _DISKS, force=True),
        lvm.create_volume_argv(_VOLUME, _DISKS, force=True),
        lvm.extend_group_argv("data", _DISKS, ["/dev/sdc"], force=True),
    ):
        assert forced[1] == "--yes"


def test_activation_is_of_our_volume_alone_and_only_if_it_is_whole() -> None:
    up, down = lvm.activate_argv("data", _DISKS), lvm.deactivate_argv("data", _DISKS)
    assert up[0] == "lvchange"
    assert _rest(up) == (
        "--activate", "y", "--activationmode", "complete", "stripewright-data/data",
    )  # fmt: skip
    assert (down[0], *_rest(down)) == ("vgchange", "--activate", "n", "stripewright-data")


def test_grow() -> None:
    assert _rest(lvm.resize_disks_argv(_DISKS)) == ("/dev/sda", "/dev/sdb")
    extend = lvm.extend_group_argv("data", _DISKS, ["/dev/sdc", "/dev/sdd"])
    assert extend[extend.index("--devices") + 1] == "/dev/sda,/dev/sdb,/dev/sdc,/dev/sdd"
    assert _rest(extend) == (
        "--dataalignment", "1024k", "stripewright-data", "/dev/sdc", "/dev/sdd",
    )  # fmt: skip
    longer = lvm.extend_volume_argv(_VOLUME, [*_DISKS, "/dev/sdc"], stripes=2)
    assert _rest(longer) == (
        "--stripes", "2", "--stripesize", "64k", "--extents", "+100%FREE",
        "stripewright-data/data",
    )  # fmt: skip


def test_the_report_also_shows_what_lvm_would_hide() -> None:
    rest = _rest(lvm.report_argv(_DISKS))
    assert rest[:2] == ("--foreign", "--shared")
    assert rest[4:7] == ("--units", "b", "--nosuffix")


# --------------------------------------------------------------------------------- reports


def _recorded(which: str) -> str:
    return (_DATA / f"lvm-fullreport-{which}.json").read_text()


def test_a_recorded_report() -> None:
    """Two disks, extended by two more: LVM 2.03.31 in a guest, with :func:`lvm.report_argv`."""
    report = lvm.parse_report(_recorded("grown"))
    (group,) = report.groups
    disks = ("/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd")
    assert group == VolumeGroup(
        name="stripewright-data",
        uuid="BNx0XO-VAd3-qae2-efMU-qsjj-4h82-MHuSxE",
        tags=(f"stripewright-host:{_TAG}", "stripewright:data"),
        members=disks,
        member_count=4,
        extent_bytes=4194304,
        free_bytes=0,
        volumes=(
            LogicalVolume(
                name="data",
                path="/dev/stripewright-data/data",
                size_bytes=822083584,
                stripe_bytes=65536,
                segments=(disks[:2], disks[2:]),
                active=True,
                start_bytes=0,
            ),
        ),
        member_bytes=(205520896,) * 4,
    )
    assert lvm.volume_of(group.name, group.tags) == "data"
    assert lvm.host_of(group.tags) == _TAG
    assert report.members["/dev/sdd"] == LvmMember(
        "NE2y13-0Wk4-jWxY-cM2d-3wBh-5ECn-4jcxgf", group.name, group.uuid, group.tags
    )


def test_a_missing_member_is_counted_and_not_listed() -> None:
    report = lvm.parse_report(_recorded("missing"))
    (group,) = report.groups
    assert (group.member_count, group.members) == (4, ("/dev/sda", "/dev/sdb", "/dev/sdc"))
    assert group.volumes[0].segments[1] == ("/dev/sdc", "[unknown]")
    assert not group.volumes[0].active
    assert set(report.members) == {"/dev/sda", "/dev/sdb", "/dev/sdc"}


def test_ids_take_the_place_of_paths() -> None:
    (group,) = lvm.parse_report(_recorded("missing")).groups
    named = lvm.with_ids(group, {"/dev/sda": "A", "/dev/sdb": "B"})
    assert named.members == ("A", "B", "/dev/sdc")
    assert named.volumes[0].segments == (("A", "B"), ("/dev/sdc", "[unknown]"))


def _edited(**changes: object) -> str:
    """The recorded report with cells of its first rows changed."""
    document: Any = json.loads(_recorded("grown"))
    for cell, value in changes.items():
        table, _, key = cell.partition("__")
        document["report"][0][table][0][key] = value
    return json.dumps(document)


def test_a_disk_in_no_group() -> None:
    document: Any = json.loads(_recorded("grown"))
    orphan = {"pv": [{"pv_name": "/dev/sde", "pv_uuid": "u", "pv_size": "1"}]}
    document["report"].append(orphan)
    report = lvm.parse_report(json.dumps(document))
    assert len(report.groups) == 1
    assert report.members["/dev/sde"] == LvmMember("u")


def test_a_volume_that_is_not_one_plain_stripe_claims_none() -> None:
    (raid,) = lvm.parse_report(_edited(seg__segtype="raid0")).groups
    assert (raid.volumes[0].stripe_bytes, raid.volumes[0].segments) == (0, ())
    (mixed,) = lvm.parse_report(_edited(seg__stripe_size="4096")).groups
    assert mixed.volumes[0].stripe_bytes == 0


def test_segments_are_in_the_order_of_the_volume() -> None:
    document: Any = json.loads(_recorded("grown"))
    document["report"][0]["seg"].reverse()
    (group,) = lvm.parse_report(json.dumps(document)).groups
    assert group.volumes[0].segments[0] == ("/dev/sda", "/dev/sdb")


def test_numbers_may_be_numbers() -> None:
    (group,) = lvm.parse_report(_edited(vg__pv_count=4, lv__lv_size=5)).groups
    assert (group.member_count, group.volumes[0].size_bytes) == (4, 5)


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "[]", "1", "{}", '{"report": 1}', '{"report": [1]}', '{"report": {"vg": 1}}'),
        '{"report": [{"vg": [{"vg_name": "x"}]}]}',
        '{"report": [{"vg": "x"}]}',
        "[" * 100_000,
        _edited(vg__vg_free="-1"),
        _edited(vg__vg_free="1_000"),
        _edited(vg__vg_free="9" * 5000),
        _edited(pv__pv_size=None),
    ],
)
def test_anything_else_is_an_operator_error(text: str) -> None:
    with pytest.raises(OperatorError, match="something unexpected"):
        lvm.parse_report(text)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["vg", "pv", "lv", "seg", "vg_name", "pv_name", "pv_count", "devices"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_JSON, st.text(max_size=40))
def test_any_report_is_read_or_an_operator_error(value: object, text: str) -> None:
    for candidate in (text, json.dumps({"report": value}), json.dumps({"report": [value]})):
        try:
            lvm.parse_report(candidate)
        except OperatorError as error:
            assert error.hint
