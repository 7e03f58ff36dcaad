"""``doctor --cloud`` on machines as files: what it finds, doubts, cannot see, and never shows."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from appliance import data, paths
from appliance.cli import doctor_cloud, main
from appliance.cli.output import Check, Verdict
from appliance.clouds.capability import published
from appliance.history.store import History
from appliance.model.disks import DiskKind
from appliance.model.runs import RunState
from appliance.storage.probe import devices
from appliance.system import files
from tests.unit.fakesysfs import FakeSysfs, three_disks
from tests.unit.histories import RESULT, begin

EFI_VARIABLE = doctor_cloud._SECURE_BOOT
SECRET = "hunter2-of-the-user-data"
NOT_SEEN = (Verdict.UNKNOWN, "not seen: needs root")
_GB = 1000**3


class Cloud(FakeSysfs):
    """An i4i.8xlarge as it should be, as root's boot has left it."""

    def __init__(self, root: Path) -> None:
        self.__dict__ = three_disks(root).__dict__
        self.dmi("Amazon EC2", "i4i.8xlarge")
        for name in ("nvme1n1", "nvme2n1"):
            self.put(f"block/{name}/size", str(3750 * _GB // 512))
            self.put(f"block/{name}/queue/io_timeout", "30000")
            self.put(f"block/{name}/queue/atomic_write_max_bytes", "16384")
        self.put("module/nvme_core/parameters/io_timeout", "4294967295")
        self.put("module/nvme_core/parameters/admin_timeout", "60")
        self.put("devices/system/clocksource/clocksource0/current_clocksource", "tsc")
        self.put("devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock ")
        self.firmware(secure_boot=0)
        self.told({"instance-type": "i4i.8xlarge"})
        self.cloud_init()
        self.below("run/cloud-init/result.json", "{}")
        self.below("etc/ssh/authorized_keys.d/operator", f"# a note\n\nssh-ed25519 {SECRET} me\n")
        self.below("run/authorized_keys.d/operator", "")
        self.db = root / "history.db"

    def dmi(self, vendor: str, product: str, **more: str) -> None:
        for name, said in {"sys_vendor": vendor, "product_name": product, **more}.items():
            self.put(f"class/dmi/id/{name}", said)

    def firmware(self, *, secure_boot: int) -> None:
        variable = self.root / "sys" / EFI_VARIABLE
        variable.parent.mkdir(parents=True, exist_ok=True)
        variable.write_bytes(bytes((6, 0, 0, 0, secure_boot)))

    def below(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def told(self, meta_data: object) -> None:
        document = {"ds": {"meta_data": meta_data, "user_data": SECRET}}
        self.below("run/cloud-init/instance-data.json", json.dumps(document))

    def cloud_init(self, source: object = "DataSourceEc2Local", **init: object) -> None:
        status = {"v1": {"datasource": source, "stage": None, "init": {"errors": [], **init}}}
        self.below("run/cloud-init/status.json", json.dumps(status))

    def checks(self) -> dict[str, Check]:
        return {one.name: one for one in doctor_cloud.examine(db=self.db, kernel=self.kernel)}

    def one(self, name: str) -> tuple[str, str]:
        """What is found, and the doubt about it."""
        check = self.checks()[name]
        assert (check.verdict is Verdict.WARN) is bool(check.hint)
        return check.found, check.hint


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    return Cloud(tmp_path)


def test_a_machine_as_it_should_be(cloud: Cloud) -> None:
    found = cloud.checks()
    assert {name: one for name, one in found.items() if one.verdict is Verdict.WARN} == {}
    said = {name: one.found for name, one in found.items()}
    local = "instance-store, nvme, 'Amazon EC2 NVMe Instance Storage', 3.41 TiB"
    assert (
        said
        | {
            "DMI": "Amazon EC2, i4i.8xlarge",
            "metadata": "i4i.8xlarge",
            "machine": "aws i4i.8xlarge (by DMI)",
            "firmware": "uefi",
            "secure boot": "off",
            "kernel": f"{os.uname().release} {os.uname().machine}",
            "hypervisor": "nitro (the type's)",
            "clock source": "tsc, of tsc kvm-clock",
            "root disk": f"{cloud.root}/dev/nvme0n1: nvme, 'Amazon Elastic Block Store', 32 MiB",
            "local disks": "2 found; sold with 2 × 3,750 GB",
            "nvme_core": "io_timeout 4294967295 s, admin_timeout 60 s",
            "atomic writes": "published 16 KiB; the kernel: nvme1n1 16 KiB, nvme2n1 16 KiB",
            "cloud-init": "DataSourceEc2Local, done",
            "operator's keys": "1",
            "disk nvme0n1": "system, nvme, 'Amazon Elastic Block Store', 32 MiB; rule: EBS volume",
            "disk nvme1n1": f"{local}, io_timeout 30000 ms; rule: EC2 instance store",
            "disk nvme2n1": f"{local}, io_timeout 30000 ms; rule: EC2 instance store",
        }
        == said
    )


def test_metadata_that_contradicts_dmi(cloud: Cloud) -> None:
    cloud.told({"instance-type": "m5d.24xlarge"})
    assert cloud.one("metadata") == ("m5d.24xlarge", "the machine is taken for i4i.8xlarge")
    cloud.told({"instance-type": 7})
    assert cloud.one("metadata") == ("no machine type", "")
    # A Xen host says in DMI that it is a domU.
    cloud.dmi("Xen", "HVM domU", product_version="4.11.amazon")
    cloud.told({"instance-type": "c3.xlarge"})
    assert cloud.one("machine") == ("aws c3.xlarge (by metadata)", "")
    assert cloud.one("DMI")[0] == "Xen, HVM domU, 4.11.amazon"


def test_types_and_providers_that_are_not_known(cloud: Cloud) -> None:
    cloud.dmi("Amazon EC2", "i99.large")
    found, doubt = cloud.one("machine")
    assert (found, doubt[:37]) == (
        "aws i99.large (by DMI)",
        "nothing is known of this type: see 's",
    )
    assert cloud.one("local disks") == ("2 found; what the type is sold with is not known", "")
    cloud.dmi("Google", "Google Compute Engine")
    cloud.told({"instance-data": json.dumps({"stripewright-machine-type": "c99"})})
    assert "names no known type of gcp: 'c99'" in cloud.one("machine")[1]
    cloud.dmi("QEMU", "Standard PC")
    assert cloud.one("machine")[0] == "no known provider"


def test_firmware_and_secure_boot(cloud: Cloud) -> None:
    cloud.firmware(secure_boot=1)
    assert cloud.one("secure boot") == ("on", "")
    (cloud.root / "sys" / EFI_VARIABLE).write_bytes(b"\6\0\0\0")
    assert cloud.checks()["secure boot"] == Check("secure boot", Verdict.UNKNOWN, "unknown")
    variable = cloud.root / "sys" / EFI_VARIABLE
    other = variable.rename(variable.with_name("Boot0000"))
    assert cloud.one("secure boot") == ("not offered by the firmware", "")
    other.unlink()
    assert cloud.checks()["secure boot"] == Check("secure boot", Verdict.UNKNOWN, "unknown")
    cloud.dmi("Amazon EC2", "i3.4xlarge")
    assert cloud.one("firmware") == ("uefi", "the type boots by bios")
    (cloud.root / "sys/firmware").rename(cloud.root / "sys/elsewhere")
    assert cloud.one("firmware") == ("bios", "")
    assert cloud.one("secure boot") == ("none: BIOS", "")


def test_a_hypervisor_that_says_what_it_is(cloud: Cloud) -> None:
    cloud.put("hypervisor/type", "xen")
    assert cloud.one("hypervisor") == ("xen (the kernel's), nitro (the type's)", "")


def test_disks_that_are_not_what_the_type_is_sold_with(cloud: Cloud) -> None:
    cloud.put("block/nvme2n1/size", str(1900 * _GB // 512))
    smaller = f"{cloud.root}/dev/nvme2n1 has 1.73 TiB"
    assert cloud.one("local disks") == ("2 found; sold with 2 × 3,750 GB", smaller)
    cloud.put("block/nvme2n1/device/model", "A Drive of Its Own")
    assert cloud.one("local disks") == ("1 found; sold with 2 × 3,750 GB", "1 of 2")
    found, doubt = cloud.one("disk nvme2n1")
    assert found.startswith("unknown, nvme, 'A Drive of Its Own', 1.73 TiB, io_timeout")
    assert found.endswith("; rule: none")
    assert "'A Drive of Its Own' is not known" in doubt


def test_a_size_that_is_not_known_is_no_doubt(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    sold = data.instance_type("i4i.8xlarge")
    assert sold
    unsized = dataclasses.replace(sold, disk_size_bytes=None)
    monkeypatch.setattr(data, "instance_type", lambda _: unsized)
    assert cloud.one("local disks")[1] == ""


def test_a_number_of_disks_that_is_chosen(cloud: Cloud) -> None:
    cloud.dmi("Google", "Google Compute Engine")
    cloud.told({"instance-data": json.dumps({"stripewright-machine-type": "g4-standard-48"})})
    found, doubt = cloud.one("local disks")
    assert found.endswith("; sold with 4 × 375 GiB, not checked: the number is chosen, or in doubt")
    assert " of " not in doubt


def test_atomic_writes_below_what_is_published(cloud: Cloud) -> None:
    cloud.put("block/nvme2n1/queue/atomic_write_max_bytes", "4096")
    found, doubt = cloud.one("atomic writes")
    assert found == "published 16 KiB; the kernel: nvme1n1 16 KiB, nvme2n1 4 KiB"
    assert doubt == "less than published: nvme2n1"
    (cloud.root / "sys/block/nvme2n1/queue/atomic_write_max_bytes").unlink()
    assert cloud.one("atomic writes")[0].endswith("nvme2n1 ?")
    cloud.dmi("QEMU", "x")
    assert cloud.one("atomic writes")[0].startswith("published nothing; ")


def test_the_address_of_a_seed_is_not_shown(cloud: Cloud) -> None:
    cloud.cloud_init(f"DataSourceNoCloud [seed=https://user:{SECRET}@example/]")
    assert cloud.one("cloud-init")[0] == "DataSourceNoCloud, done"


def test_cloud_init_and_its_errors_without_their_words(cloud: Cloud) -> None:
    cloud.cloud_init(
        errors=[f"('scripts_user', RuntimeError('{SECRET}'))", SECRET, {"password": SECRET}],
        recoverable_errors={"WARNING": [SECRET, SECRET], "ERROR": [SECRET], "DEBUG": 7},
    )
    found, doubt = cloud.one("cloud-init")
    assert found == "DataSourceEc2Local, done, 3 recoverable errors"
    other = "an error, see the journal as root"
    assert doubt == f"scripts_user failed (RuntimeError); {other}; {other}"
    (cloud.root / "run/cloud-init/result.json").unlink()
    cloud.cloud_init("DataSourceNone")
    assert cloud.one("cloud-init") == ("DataSourceNone, not done", "the data source is not Ec2")
    cloud.below("run/cloud-init/status.json", '{"v1": {"stage": "init", "init": []}}')
    assert cloud.one("cloud-init")[0] == "no data source, at init"


@pytest.mark.parametrize(
    ("dmi", "source"),
    [
        ({"vendor": "Microsoft Corporation", "product": "Virtual Machine"}, "DataSourceAzure"),
        ({"vendor": "Google", "product": "Google Compute Engine"}, "DataSourceGCELocal"),
    ],
)
def test_the_data_source_of_each_provider(cloud: Cloud, dmi: dict[str, str], source: str) -> None:
    cloud.dmi(**dmi, chassis_asset_tag="7783-7084-3265-9085-8269-3286-77")
    assert cloud.one("cloud-init")[1].startswith("the data source is not ")
    cloud.cloud_init(source)
    assert cloud.one("cloud-init") == (f"{source}, done", "")


@pytest.mark.parametrize("text", ["", "[" * 100_000, "7", '{"v1": 7}', "{}", "\x1b[31m"])
def test_a_status_of_another_shape(cloud: Cloud, text: str) -> None:
    cloud.below("run/cloud-init/status.json", text)
    check = cloud.checks()["cloud-init"]
    assert check.verdict is Verdict.UNKNOWN
    assert check.found.startswith("not understood: ")


def test_keys_that_have_not_arrived(cloud: Cloud) -> None:
    cloud.below("etc/ssh/authorized_keys.d/operator", "\n")
    assert cloud.one("operator's keys") == ("0", "no key has arrived: no operator can log in")
    cloud.below("run/authorized_keys.d/operator", "ssh-ed25519 AAAA\nssh-ed25519 BBBB\n")
    assert cloud.one("operator's keys") == ("2", "")
    (cloud.root / "etc/ssh/authorized_keys.d/operator").unlink()
    assert cloud.one("operator's keys") == ("2", "")
    (cloud.root / "run/authorized_keys.d/operator").unlink()
    assert cloud.checks()["operator's keys"].verdict is Verdict.UNKNOWN


def test_an_error_in_its_own_words(cloud: Cloud) -> None:
    (cloud.root / "run/cloud-init/status.json").unlink()
    os.mkfifo(cloud.root / "run/cloud-init/status.json")
    assert cloud.checks()["cloud-init"].found == "not seen: not a regular file"


@pytest.mark.usefixtures("journalled")
def test_what_the_history_has(cloud: Cloud) -> None:
    assert "there is no history" in cloud.checks()["published"].found
    assert cloud.one("log page")[0].endswith("; no run is on record")
    offered = published(
        "i4i.8xlarge", kind=DiskKind.INSTANCE_STORE, member_count=2, direction="read",
        block_size_bytes=4096,
    )  # fmt: skip
    valid = dataclasses.replace(RESULT, findings=(), member="", capability=offered, iops=780_000.0)
    with History.open_writable(cloud.db) as history:
        for result in (valid, dataclasses.replace(valid, provisioned=None)):
            run = begin(history, "smoke", 1.0)
            history.add_result(run, result, raw_report="x")
            history.finish_run(run, RunState.COMPLETE)
            ended = "has its counters" if result.provisioned else "has no counters"
            assert cloud.one("log page")[0].endswith(f"; the last run {ended}")
    of_type = "read 800.0k, write 440.0k IOPS of all local disks of the type"
    share = "rand-read-4k read: 780.0k IOPS, 98 % of what is published"
    assert cloud.one("published") == (f"{of_type}; {share}", "")


def test_the_log_pages_that_root_has_read(cloud: Cloud) -> None:
    having = "nvme0n1, nvme1n1, nvme2n1"
    assert cloud.one("log page")[0].startswith(f"{having}; root has not looked since boot;")
    reading = {"magic": 1, "limits": {}}
    seen = {"exceeded": {"at_monotonic_s": 7.0, "disks": {"nvme1n1": reading, "sda": reading}}}
    cloud.below(str(paths.SEEN_FILE.relative_to("/")), json.dumps(seen))
    assert cloud.one("log page")[0].startswith(f"{having}; root's last look read nvme1n1;")
    # The rule of the last is Google's, and Google has no such page.
    for name, model in (("nvme0n1", "QEMU"), ("nvme1n1", "QEMU"), ("nvme2n1", "nvme_card0")):
        cloud.put(f"block/{name}/device/model", model)
    assert cloud.one("log page") == ("no disk here has one", "")


def test_what_only_root_may_read(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "read_bounded", denied)
    monkeypatch.setattr(Path, "read_bytes", denied)
    found = cloud.checks()
    for name in ("metadata", "secure boot", "cloud-init", "operator's keys"):
        assert found[name][1:3] == NOT_SEEN
    assert found["machine"].verdict is Verdict.OK


def test_no_disk_is_opened_for_root_either(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    probe = devices.probe
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(
        devices, "probe", lambda **how: asked.append(how["privileged"]) or probe(**how)
    )
    cloud.checks()
    assert asked == [False]


def test_an_empty_machine_and_rows_that_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = FakeSysfs(tmp_path)
    names = {one.name for one in doctor_cloud.examine(db=tmp_path / "no.db", kernel=empty.kernel)}
    assert names == set(doctor_cloud._LOOKS)
    (tmp_path / "sys/block").rmdir()
    found = {
        one.name: one for one in doctor_cloud.examine(db=tmp_path / "no.db", kernel=empty.kernel)
    }
    assert found["local disks"].found == "not seen: No such file or directory"
    assert set(found) == set(doctor_cloud._LOOKS)


def report(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    examine = doctor_cloud.examine
    monkeypatch.setattr(doctor_cloud, "examine", lambda *, db: examine(db=db, kernel=cloud.kernel))

    def printed(*words: str) -> str:
        assert main.main(["doctor", "--cloud", "--db", str(cloud.db), *words]) == 0
        return capsys.readouterr().out

    return printed


def test_the_report_is_printed_without_secrets_and_escapes(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = "\x1b[31mred\u202e"
    cloud.put("block/nvme2n1/device/model", hostile)
    cloud.dmi(*(hostile + "x" * 10_000,) * 2)
    cloud.cloud_init(hostile, errors=[f"('scripts_user', RuntimeError('{SECRET}'))"])
    cloud.told({"instance-type": hostile, "public-keys": SECRET})
    cloud.firmware(secure_boot=1)
    printed = report(cloud, monkeypatch, capsys)
    for out in (printed(), printed("--json")):
        assert SECRET not in out
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert len(out) < 10_000
    assert "✓ ok       secure boot      on\n" in printed()
    assert "! warn     cloud-init" in printed()
    document = json.loads(printed("--json"))
    assert {"name": "firmware", "verdict": "ok", "found": "uefi", "hint": ""} in document["checks"]
