"""What a report says of a run: figures, verdicts, what is missing and why."""

import dataclasses

import pytest

from appliance.model.measurement import Capability
from appliance.model.runs import EpochRecord, RunState
from appliance.report import figure_words, gather
from appliance.report.gather import run_report
from appliance.report.page import Tone
from tests.unit import reports


def made(**changes):
    return run_report(reports.material(**changes), written_at=reports.BEGAN, version="1")


def test_a_run_with_an_invalid_result_says_so_first():
    report = made()
    assert (report.tone, report.headline) == (Tone.BAD, "1 of 5 results cannot be believed")
    assert [row.valid for row in report.rows] == [True, False, True, True, True]
    assert report.summary == (
        "i3.8xlarge, md-raid0 of 4, chunk 256 KiB, xfs, sunit 256 KiB, swidth 1 MiB"
    )


@pytest.mark.parametrize(
    ("state", "results", "tone", "headline"),
    [
        (RunState.COMPLETE, 5, Tone.GOOD, "5 results, all valid"),
        (RunState.COMPLETE, 0, Tone.BAD, "Complete, and without any result"),
        (RunState.SKIPPED, 0, Tone.CARE, "Skipped: nothing was measured"),
        (RunState.RUNNING, 2, Tone.CARE, "Still running: 2 of 5 jobs measured"),
        (RunState.ABORTED, 0, Tone.BAD, "Aborted before anything was measured"),
        (RunState.ABORTED, 1, Tone.BAD, "Aborted after 1 of 5 jobs; 1 of 1 result valid"),
        (RunState.FAILED, 2, Tone.BAD, "Failed after 2 of 5 jobs; 2 of 2 results valid"),
    ],
)
def test_every_end_of_a_run_is_told(state, results, tone, headline):
    report = made(
        run=reports.run(state=state, reason="a reason"),
        results=reports.results()[:results],
        ended_at=(),
    )
    assert (report.tone, report.headline) == (tone, headline)
    assert any("a reason" in note for note in report.notes)


def test_scaled_runs_are_not_to_be_quoted():
    report = made(run=reports.run(time_factor=0.1), results=reports.results())
    assert report.headline == "5 results, none to be quoted: run times were scaled"
    assert "scaled by 0.1: not to be quoted" in report.notes[0]


def test_all_blocked():
    found = tuple(dataclasses.replace(one, findings=(reports.SHORT,)) for one in reports.results())
    assert made(results=found).headline == "None of 5 results can be believed"
    assert made(results=found[:1], ended_at=()).headline == "The only result cannot be believed"


def test_the_corrected_figure_stands_for_an_invalid_one():
    row = made().rows[1]
    assert row.corrected_iops == 412_279
    assert row.corrected_bytes_per_s == 412_279 * 4096
    (published,) = row.published
    assert published.corrected
    assert published.percent == pytest.approx(100 * 412_279 / 825_000)
    assert figure_words.published(published) == "50.0 % of 825,000 IOPS (corrected figure)"
    blocked = dataclasses.replace(reports.results()[1], findings=(reports.SHORT,))
    (published,) = made(results=(blocked,), ended_at=()).rows[0].published
    assert published.percent is None, "an invalid figure without a corrected one is not compared"


def test_published_figures_have_their_source():
    row = made().rows[2]
    assert figure_words.published(row.published[0]) == "825,000 IOPS published"
    assert figure_words.sources(made().rows)[0] == (
        "825,000 IOPS (job 2, 3): 4 × 206,250 (i3.8xlarge); "
        "source: provider's guide to instance types"
    )


def test_bandwidth_is_compared_with_bandwidth():
    large = dataclasses.replace(
        reports.results()[0], capability=Capability(iops=100_000.0, bytes_per_s=16e9)
    )
    (published,) = made(results=(large,), ended_at=()).rows[0].published
    assert published.percent == pytest.approx(100 * large.bandwidth_bytes / 16e9)
    assert published.limit == "14.9 GiB/s"


def test_figures_that_contradict_each_other_are_not_given_a_limit_of_their_own():
    odd = dataclasses.replace(
        reports.results()[0], iops=784_000.0, capability=Capability(iops=825_000.0, bytes_per_s=4e9)
    )
    (published,) = made(results=(odd,), ended_at=()).rows[0].published
    assert published.limit == "the published figures"


# -------------------------------------------------------------------------------- baseline


def test_earlier_valid_runs_are_the_baseline():
    report = made()
    baseline = report.rows[0].baseline
    assert baseline is not None
    assert (baseline.runs, baseline.position) == (30, "within")
    invalid = report.rows[1].baseline
    assert invalid is not None
    assert invalid.change_percent is None
    assert figure_words.baseline(invalid)[0] == "not compared"


def test_too_few_runs_are_said_to_be():
    baseline = made(earlier=5).rows[0].baseline
    assert baseline is not None
    assert figure_words.baseline(baseline) == ("no baseline yet: 5 of 12 runs", "")


def test_other_jobs_are_in_no_trend():
    others = tuple(
        dataclasses.replace(
            one,
            results=(
                dataclasses.replace(one.results[0], iodepth=99),
                dataclasses.replace(one.results[1], findings=(reports.SHORT,)),
            ),
        )
        for one in reports.past(20)
    )
    report = made(others=others, results=reports.results())
    assert [trend.number for trend in report.trends] == [2]
    assert [point.valid for point in report.trends[0].points] == [False] * 20 + [True]


def test_passes_of_a_run_are_one_value():
    first = reports.results()[0]
    passes = tuple(
        dataclasses.replace(first, pass_index=index, iops=iops)
        for index, iops in ((1, 100.0), (2, 300.0), (3, 200.0))
    )
    report = made(results=passes, ended_at=())
    assert [row.number for row in report.rows] == [1, 2, 3]
    assert report.rows[1].label == "2 seq-read-1m (pass 2)"
    assert report.trends[0].points[-1].value == 200.0
    assert len(report.trends) == 1


def test_what_became_of_earlier_and_later_runs_is_told():
    skipped = dataclasses.replace(
        reports.past(1)[0],
        run=reports.run(35, state=RunState.SKIPPED, epoch_id=None, reason="nvme2n1 was busy"),
        results=(),
    )
    later = dataclasses.replace(skipped, run=dataclasses.replace(skipped.run, id=50))
    report = made(others=(skipped, *reports.past(3), later))
    assert report.history[0].startswith(
        "The last 4 runs of this suite on this target before this one, since"
    )
    assert report.history[0].endswith(": 3 complete, 1 skipped.")
    assert report.history[1].endswith("skipped: nvme2n1 was busy")
    assert report.notes[-1].startswith("There is a later run 50, skipped,")


# ------------------------------------------------------------------------------ over time


def test_each_job_has_its_place_in_time():
    timeline = made().timeline
    assert timeline is not None
    assert [(band.number, band.begin_s, band.end_s) for band in timeline.bands] == [
        (1, 20, 50),
        (2, 51, 81),
        (3, 82, 112),
        (4, 113, 143),
        (5, 144, 174),
    ]
    assert not timeline.is_downsampled


def test_both_directions_of_a_mixed_job_are_one_job():
    first = reports.results()[1]
    mixed = (
        dataclasses.replace(first, rw="randrw"),
        dataclasses.replace(first, rw="randrw", direction="write"),
    )
    at = reports.run().started_at + 60
    report = made(results=mixed, ended_at=(at, at + 0.01))
    assert [row.number for row in report.rows] == [1, 1]
    assert report.timeline is not None
    assert [(band.begin_s, band.end_s) for band in report.timeline.bands] == [(30, 60)]


def test_a_long_run_is_told_to_be_downsampled():
    found = tuple(dataclasses.replace(one, runtime_ms=900_000) for one in reports.results())
    samples, ended = reports.rates(reports.run(), found, job_seconds=900)
    timeline = made(results=found, rates=samples, ended_at=ended).timeline
    assert timeline is not None
    assert timeline.step_s == 20
    assert all(len(one.points) <= 240 for one in timeline.series)
    assert "the mean of 20 s" in figure_words.sampled(timeline)
    assert max(point.high for point in timeline.series[0].points) == max(
        rate.read_bytes_per_s for rate in samples if rate.device == "md127"
    )


def test_members_are_compared_job_by_job():
    detail = made().details[3]
    assert [share.member for share in detail.shares] == [f"nvme{n}n1" for n in (1, 2, 3, 4)]
    awaits = [share.await_ms or 0 for share in detail.shares]
    assert awaits[2] > 2 * awaits[0]
    assert detail.members is not None
    assert [one.name for one in detail.members.series] == [share.member for share in detail.shares]
    assert detail.whole is not None
    assert detail.whole.series[0].name == "md127"


def test_a_member_measured_alone_is_not_split_again():
    alone = dataclasses.replace(reports.results()[0], member="nvme2n1")
    report = made(results=(alone,), ended_at=(reports.run().started_at + 50,))
    assert report.rows[0].where == "nvme2n1 alone"
    assert report.details[0].shares == ()
    assert report.details[0].members is None
    assert report.details[0].whole is not None
    assert report.details[0].whole.series[0].name == "nvme2n1"


def test_the_stripe_is_set_beside_its_members():
    stripe = dataclasses.replace(reports.results()[1], iops=796_000.0)
    members = tuple(
        dataclasses.replace(stripe, member=name, iops=200_000.0) for name in reports.run().members
    )
    (gain,) = made(results=(stripe, *members), ended_at=()).gains
    assert gain.endswith("796,000 IOPS, its 4 members alone 800,000 in sum: 99.5 %")


def test_what_is_missing_has_a_reason():
    assert made().missing == {}
    none = made(rates=(), others=())
    assert none.missing["timeline"] == "no samples of this run are kept"
    assert "no earlier run" in none.missing["trend"]
    assert none.timeline is None
    nowhere = made(run=reports.run(device="", members=()), rates=())
    assert "block devices of the target are not known" in nowhere.missing["timeline"]
    unknown = made(ended_at=()).timeline
    assert unknown is not None
    assert unknown.bands == ()


# --------------------------------------------------------------------------- surroundings


def facts(report):
    return {(group.title, label): value for group in report.facts for label, value in group.facts}


def test_machine_and_layout_are_told():
    found = facts(made())
    assert found["Machine", "Type"] == "i3.8xlarge"
    assert found["Machine", "Host"] == "db-7"
    assert found["Machine", "Kernel"] == "6.12.117"
    assert found["Layout", "Stripe"] == "md-raid0 of 4, chunk 256 KiB"
    assert found["Layout", "Member 2"] == "nvme3n1, serial AWS3C"
    assert found["Conditions", "scheduler"] == "none"
    assert found["Epoch", "Changed: serials"] == "AWS9,AWS8,AWS7,AWS6 → AWS1A,AWS2B,AWS3C,AWS4D"
    assert ("Run", "Time factor") not in found


def test_the_runs_own_volume_is_picked_where_only_one_can_be_it():
    fingerprint = {
        "serials": "LOG1; AWS1A,AWS2B,AWS3C,AWS4D",
        "stripe": "single; md-raid0 chunk=65536 members=4",
        "filesystem": "ext4; xfs",
        "mount_options": "a; b",
    }
    found = facts(made(epoch=EpochRecord(3, 0, fingerprint, {})))
    assert found["Layout", "Stripe"] == "md-raid0 of 4, chunk 64 KiB"
    assert found["Layout", "Mount options"] == "b"
    assert found["Layout", "Member 0"] == "nvme1n1, serial AWS1A"
    alike = {**fingerprint, "serials": "A,B,C,D; AWS1A,AWS2B,AWS3C,AWS4D"}
    found = facts(made(epoch=EpochRecord(3, 0, alike, {})))
    assert found["Layout", "Stripe"] == "single disk; md-raid0 of 4, chunk 64 KiB"
    assert found["Layout", "Serials"] == alike["serials"]


def test_serials_with_commas_are_not_paired_with_members():
    found = facts(made(epoch=EpochRecord(3, 0, {"serials": "A,B,C,D,E"}, {})))
    assert found["Layout", "Serials"] == "A,B,C,D,E"
    assert found["Layout", "Members"] == "nvme1n1, nvme2n1, nvme3n1, nvme4n1"


# ------------------------------------------------------------------------------- a diary


def test_an_imported_file_is_told_report_by_report():
    report = gather.import_report(
        reports.judged(),
        file="diary.txt",
        machine_type="i3.8xlarge",
        imported_at=reports.BEGAN,
        written_at=reports.BEGAN,
        version="1",
    )
    assert report.headline == "1 of 2 results cannot be believed"
    stripe, single = report.rows
    assert stripe.where == "line 12, on md0 (nvme0n1, nvme1n1)"
    assert stripe.asked == "randread 4 KiB QD 32 × 16, libaio"
    assert [figure_words.published(one) for one in stripe.published] == [
        "100.0 % of 825,000 IOPS",
        "822,000 IOPS measured by others",
    ]
    assert "822,000 IOPS (job 1): source: somebody's table" in figure_words.sources(report.rows)
    assert single.corrected_iops == 412_279
    assert (
        figure_words.published(single.published[0]) == "99.9 % of 412,500 IOPS (corrected figure)"
    )
    shares = report.details[0].shares
    assert [(one.member, one.size_bytes, one.ios) for one in shares] == [
        ("nvme0n1", None, 74_221_000),
        ("nvme1n1", None, 74_222_000),
    ]
    assert shares[0].await_ms == pytest.approx(0.62)
    assert report.details[1].shares == ()
