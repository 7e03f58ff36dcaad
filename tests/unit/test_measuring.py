"""What is taken into account of the disks while a job runs."""

from types import SimpleNamespace

from appliance.bench import fio_process, log_page, measure
from appliance.bench.block_devices import Devices
from appliance.bench.job_order import PlannedJob
from appliance.bench.measure import relevant
from appliance.bench.suite import load_suite
from appliance.model.measurement import DeviceLatency, Exceeded, Provisioned, Times
from appliance.model.runs import Counters
from appliance.storage.probe import nvme
from tests.unit.legacies import FIO

STRIPE = Devices("md0", ("nvme1n1", "nvme2n1"))


def did(device: str, read_bytes: int = 0, write_bytes: int = 0) -> Counters:
    return Counters(device, 0, read_bytes, 0, 0, write_bytes, 0, 0, 0)


def test_another_disk_counts_only_if_it_may_have_done_the_targets_work():
    own = [did("md0", 2000), did("nvme1n1", 1000), did("nvme2n1", 1000)]
    quiet, busy = did("nvme0n1", 100, 100), did("nvme3n1", 0, 300)
    assert relevant([*own, quiet, busy], STRIPE) == (*own, busy)
    # The stripe did nothing, and the root disk something: that is the point of it.
    idle = [did("md0"), did("nvme1n1"), did("nvme2n1")]
    assert relevant([*idle, quiet], STRIPE) == (*idle, quiet)
    assert relevant([did("nvme0n1")], STRIPE) == ()


def test_a_result_has_what_its_disks_say_of_themselves(monkeypatch):
    readings = iter(
        {
            "nvme1n1": Exceeded(
                7,
                Provisioned(volume_iops_us=us),
                {"read": Times(ios, us, ((0, 64, ios),)), "write": Times(0, 0)},
            )
        }
        for ios, us in ((100, 5000), (300, 25_000))
    )
    monkeypatch.setattr(measure.log_page, "ask_exceeded", lambda _: next(readings))
    monkeypatch.setattr(measure.sampler, "read_all", lambda _: {})
    # fio's report is one that was recorded.
    report = (FIO / "fio-3.33-group.json").read_text()
    monkeypatch.setattr(
        measure.fio_process, "run_fio", lambda *_, **__: fio_process.Ended(0, report, "")
    )
    place = SimpleNamespace(
        devices=Devices("nvme1n1", ("nvme1n1",)),
        workers=lambda _: (),
        file_size_bytes=0,
        kind="file",
        directory=None,
    )
    live = SimpleNamespace(tick=lambda: None, interim=lambda _: None, samples_of_phase=lambda: ())
    suite = load_suite("smoke")
    job = next(one for one in suite.jobs if one.rw == "randread")
    around = measure.Surroundings(suite, "libaio", "i3.large", ("nvme9n1",))
    (result,), _ = measure.measure(PlannedJob(job, 2), place, live, around)
    assert (result.engine, result.machine_type, result.pass_index) == ("libaio", "i3.large", 2)
    assert (result.expected, result.full_suite) == (("nvme9n1",), suite.steady)
    assert result.device_latencies == (DeviceLatency("nvme1n1", 200, 20_000, ((0, 64, 200),)),)
    assert result.provisioned == Provisioned(volume_iops_us=20_000)
    alone = PlannedJob(job, member="nvme1n1")
    readings = iter([{}, {}])
    (result,), _ = measure.measure(alone, place, live, around)
    # A disk that is measured alone is no wrong target.
    assert (result.member, result.expected) == ("nvme1n1", ("nvme1n1",))


def test_only_disks_that_are_ec2s_by_their_model_are_asked(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(nvme, "log_page", lambda node, *_, **__: asked.append(node) or b"")
    for name, model in (("nvme1n1", "Amazon Elastic Block Store   "), ("nvme2n1", "Other")):
        (tmp_path / name / "device").mkdir(parents=True)
        (tmp_path / name / "device/model").write_text(model + "\n")
    disks = ("nvme1n1", "nvme2n1", "vda")
    assert log_page.read_exceeded(disks, sys_block=tmp_path, dev=tmp_path) == {}
    assert asked == [str(tmp_path / "nvme1n1")]


def test_a_disk_that_does_not_answer_is_passed_over(tmp_path):
    (tmp_path / "nvme1n1/device").mkdir(parents=True)
    (tmp_path / "nvme1n1/device/model").write_text("Amazon EC2 NVMe Instance Storage\n")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvme1n1").write_text("a file answers to no admin command")
    assert log_page.read_exceeded(("nvme1n1",), sys_block=tmp_path, dev=tmp_path / "dev") == {}
