"""Files of presets, each in its own format; and what is refused, in one line."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.cli.main import main
from appliance.errors import UsageError
from appliance.presets import preset_file
from appliance.presets.preset import MAX_FILE_BYTES, Preset, Quantity, Scope

# scylladb/scylla-machine-image f25b2c5, common/azure_io_params.yaml: its form and its figures.
AZURE = """\
Standard_L8s_v3:
  disks:
  - read_iops: 894399
    read_bandwidth: 3740749056
    write_iops: 607182
    write_bandwidth: 2494925312
"""
# As iotune writes it: seastar, apps/iotune/iotune.cc.
IOTUNE = """\
disks:
  - mountpoint: /var/lib/scylla
    read_iops: 411200
    read_bandwidth: 2015342735
    write_iops: 181500
    write_bandwidth: 808775652
    write_saturation_length: 65536
"""
# Numbers of local SSDs below a title or a machine type, as in later gcp_io_params.yaml.
COUNTED = """\
# limits
local_ssd_nvme:
  8:  # of any machine
    read_iops: 680000
    read_bandwidth: 2778726400
    write_iops: 360000
    write_bandwidth: 1468006400
measured:
  n2-highmem-32:
    24:
      read_iops: 2386730
      read_bandwidth: 6372356096
      write_iops: 1358652
      write_bandwidth: 5564101632
"""
# Documentation/admin-guide/cgroup-v2.rst has the keys; the figures are those of the hwdb below.
MODEL = (
    "8:16 ctrl=user model=linear rbps=1091439492 rseqiops=52286 rrandiops=63784"
    " wbps=192329466 wseqiops=12309 wrandiops=16119\n"
)
QOS = "8:16 enable=1 ctrl=user rpct=0.00 rlat=8807 wpct=0.00 wlat=59023 min=100.00 max=100.00\n"
# From the message of the commit that brought iocost to systemd.
HWDB = """\
# 12 points, MOF=[1.346,1.346], aMOF=[1.249,1.249]
block:*:name:HFS256GD9TNG-62A0A:fwver:*:
  IOCOST_SOLUTIONS=isolation isolated-bandwidth bandwidth naive
  IOCOST_MODEL_ISOLATION=rbps=1091439492 rseqiops=52286 rrandiops=63784 wbps=192329466 wseqiops=12309 wrandiops=16119
  IOCOST_QOS_ISOLATION=rpct=0.00 rlat=8807 wpct=0.00 wlat=59023 min=100.00 max=100.00
"""  # noqa: E501


def read(text: str) -> tuple[Preset, ...]:
    return preset_file.presets("f", text.encode())


def values(preset: Preset) -> dict[str, int]:
    return {one.name: one.value for one in preset.figures}


def test_io_properties() -> None:
    (one,) = read(IOTUNE)
    assert (one.place, one.scope, one.machine_type) == ("disks[0]", Scope.VOLUME, "")
    assert values(one) == {
        "read_iops": 411200,
        "read_bandwidth": 2015342735,
        "write_iops": 181500,
        "write_bandwidth": 808775652,
    }
    assert [one.line for one in one.figures] == [3, 4, 5, 6]


def test_as_yaml_dump_writes_it_and_with_suffixes() -> None:
    text = (
        "---\ndisks:\n- mountpoint: '/a'\n  read_bandwidth: 2G\n  read_iops: \"10k\"\n"
        "  write_bandwidth: 1M # less\n  write_iops: 7\n"
        "- mountpoints:\n    - /b\n    - /c\n  read_bandwidth: 1\n  read_iops: 1\n"
        "  write_bandwidth: 1\n  write_iops: 1\n"
    )
    first, second = read(text)
    assert list(values(first).values()) == [10 << 10, 2 << 30, 7, 1 << 20]
    assert second.place == "disks[1]"


def test_tables_say_the_type_and_the_number_of_disks() -> None:
    (azure,) = read(AZURE)
    assert (azure.machine_type, azure.scope) == ("Standard_L8s_v3", Scope.VOLUME)
    assert [(one.machine_type, one.disk_count) for one in read(COUNTED)] == [
        ("", 8),
        ("n2-highmem-32", 24),
    ]


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("i3.ALL", Scope.EACH),
        ("i4i.8xlarge", Scope.EACH),
        ("z3-highmem-8-highlssd", Scope.VOLUME),
        ("no.such", Scope.VOLUME),
    ],
)
def test_only_rows_of_ec2_are_multiplied(name: str, scope: Scope) -> None:
    (one,) = read(AZURE.replace("Standard_L8s_v3", name).replace("  disks:\n  - ", "    "))
    assert (one.machine_type, one.scope) == (name, scope)


def test_io_cost_and_hwdb() -> None:
    model, qos = read(MODEL + QOS)
    assert (model.place, model.scope) == ("8:16", Scope.DISK)
    assert values(model)["rrandiops"] == 63784
    assert {one.name: one.quantity for one in model.figures} == {
        "rbps": Quantity.READ_BANDWIDTH,
        "rseqiops": None,
        "rrandiops": Quantity.READ_IOPS,
        "wbps": Quantity.WRITE_BANDWIDTH,
        "wseqiops": None,
        "wrandiops": Quantity.WRITE_IOPS,
    }
    assert values(qos) == {"rlat": 8807, "wlat": 59023}
    solution, targets = read(HWDB)
    assert solution.place == "MODEL_ISOLATION of block:*:name:HFS256GD9TNG-62A0A:fwver:*:"
    assert (values(solution), values(targets)) == (values(model), values(qos))


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("", "is empty", "io_properties"),
        (IOTUNE.replace("    read_iops: 411200\n", ""), "disks[0].read_iops (line 2)", "needed"),
        (IOTUNE.replace("411200", "nan"), "disks[0].read_iops (line 3): 'nan'", "whole number"),
        (IOTUNE.replace("411200", "-5"), "'-5' is no figure", "from 1 on"),
        (IOTUNE.replace("411200", "0"), "'0' is no figure", "from 1 on"),
        (IOTUNE.replace("411200", "1e999"), "'1e999' is no figure", "at most 18 digits"),
        (IOTUNE.replace("411200", "9" * 5000), "is no figure", "at most 18 digits"),
        (IOTUNE.replace("411200", "٣"), "is no figure", "whole number"),
        (IOTUNE.replace("411200", "4K"), "is no figure", "k, M, G, T"),
        (IOTUNE.replace("411200", "*a"), "'*a' is no plain value", "aliases"),
        (IOTUNE.replace("411200", "[1]"), "is no plain value", "one plain value a line"),
        (IOTUNE.replace("/var", "a: /var"), "mountpoint (line 2): 'a: /var", "plain value"),
        (IOTUNE.replace("411200", ""), "read_iops (line 3): has no value", "give one"),
        (IOTUNE.replace("    read_iops", "\tread_iops"), "(line 3): a tab", "blanks"),
        (IOTUNE.replace("    read_iops", "   read_iops"), "(line 3): is not indented", "blanks"),
        (IOTUNE.replace("read_iops", "read_ipos"), "disks[0].read_ipos (line 3)", "read_iops"),
        (IOTUNE.replace("write_iops", "read_iops"), "read_iops (line 5): is there twice", "one"),
        ("disks:\n", "disks (line 1): has no figures", "needed"),
        ("disks: none\n", "disks (line 1): has no figures", "needed"),
        ("a:\n- b: 1\n", "a (line 2): is a list", "machine type"),
        ("a:\n  - b\n", "(line 2): 'b' is no 'key: value'", "key: value"),
        ("a: &x 1\n", "is no plain value", "anchors"),
        ("x: \x1b[31m\n", "x (line 1): has no figures", "needed"),
        ("\x1b[31m\n", r"'\x1b[31m' is no", "key: value"),
        ("".join(f"{' ' * n}a:\n" for n in range(9)), "more than 6 levels", "blanks"),
        ("a: 1\n" * 5_001, "more than 5,000 lines", "split"),
        ("8:16 rbps=1\n" * 5_001, "more than 5,000 lines", "split"),
        (MODEL.replace("63784", "inf"), "8:16 rrandiops (line 1): 'inf'", "whole number"),
        (MODEL.replace("63784", "63k"), "8:16 rrandiops (line 1): '63k'", "whole number"),
        (MODEL.replace("wbps", "rbps"), "8:16 rbps (line 1): is there twice", "leave"),
        (MODEL.replace("wbps", "wpbs"), "'wpbs=192329466' is not known", "wbps"),
        (MODEL.replace("linear", "x\x1b"), r"8:16 model (line 1): 'x\x1b'", "linear"),
        (MODEL.replace("wbps", "rlat"), "io.cost.model and of io.cost.qos", "one line each"),
        (QOS.replace("max=100.00", "max=-1"), "'-1' is no percentage", "95.00"),
        (MODEL + "nonsense\n", "(line 2): 'nonsense' is no setting", "MAJ:MIN"),
        (HWDB + "  ID_MODEL=x\n", "is no setting", "IOCOST_MODEL_"),
    ],
)
def test_what_is_wrong_is_one_line_with_what_is_allowed(
    text: str, said: str, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f").write_text(text)
    assert main(["audit-presets", str(tmp_path / "f")]) == 2
    out, err = capsys.readouterr()
    message, advice = err.splitlines()
    assert out == ""
    assert said in message
    assert hint in advice
    assert "\x1b" not in err
    assert len(err) < 800


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"\0" * 9, b"x" * (MAX_FILE_BYTES + 1)])
def test_what_is_no_such_text(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f").write_bytes(content)
    assert main(["audit-presets", str(tmp_path / "f")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2
    assert main(["audit-presets", str(tmp_path)]) == 2
    assert main(["audit-presets", str(tmp_path / "none")]) == 2


def test_the_largest_file_takes_bounded_memory() -> None:
    row = "{}:\n  read_iops: 1\n  read_bandwidth: 1\n  write_iops: 1\n  write_bandwidth: 1\n"
    text = "".join(row.format(f"t{n}.x") for n in range(999))
    tracemalloc.start()
    try:
        assert len(read(text)) == 999
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


@given(
    st.text(max_size=200)
    | st.text("abdiks:-_ \n.0123459[]&*#'\"/\t=", max_size=200)
    | st.lists(st.sampled_from((IOTUNE + AZURE + MODEL + QOS + HWDB).splitlines())).map("\n".join)
)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = preset_file.presets("f", text.encode(errors="replace"))
    except UsageError as error:
        assert error.hint
    else:
        assert all(figure.value >= 0 for one in found for figure in one.figures)


@given(st.lists(st.integers(1, 10**18 - 1), min_size=4, max_size=4))
def test_what_is_written_is_what_is_read(figures: list[int]) -> None:
    lines = (f"    {name}: {value}" for name, value in zip(Quantity, figures, strict=True))
    (one,) = read("\n".join(["disks:", "  - mountpoint: /x", *lines]))
    assert list(values(one).values()) == figures
