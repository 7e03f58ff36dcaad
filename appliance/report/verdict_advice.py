"""What each verdict means and what to do about it, for a reader who has not met it. Pure.

docs/measurement-method.md has the rules themselves, with the reports that taught them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Advice:
    """``means`` is what the rule saw, ``todo`` the next step of who reads the report."""

    title: str
    means: str
    todo: str


ADVICE = {
    "COVERAGE": Advice(
        "Not all of it came from the disks",
        "The block layer moved fewer bytes than fio read: a cache, holes or extents that were "
        "never written answered the rest. The figure in place of it counts only what reached "
        "the disks.",
        "Do not quote the figure. Write the test files in full, read with direct I/O, and "
        "measure again.",
    ),
    "DEPTH": Advice(
        "The queue depth was not there",
        "IOPS × mean latency is the number of I/Os in flight (Little's law), and it is not the "
        "number that was asked for.",
        "With a synchronous engine the depth is 1 for each job whatever is asked: use io_uring "
        "or libaio, or ask for more jobs. At depth 1 the latency stands, IOPS says too little.",
    ),
    "IMPOSSIBLE": Advice(
        "Faster than the device can be",
        "The figure is above the published limit by more than its margin, or direct reads came "
        "back faster than any drive answers.",
        "Look for a cache below the filesystem (hypervisor, controller), and check that the "
        "machine type is the right one.",
    ),
    "TARGET": Advice(
        "Other devices did the I/O",
        "The devices that were busy are not those that the target should be on.",
        "Check what is mounted at the target's path, and measure again.",
    ),
    "SHORT": Advice(
        "It did not run to its end",
        "The job ran for less time than asked, met I/O errors, or was ended from outside.",
        "After errors look at the kernel's journal (journalctl -k) before anything else; "
        "otherwise measure again.",
    ),
    "STEADY": Advice(
        "Not steady",
        "The rate still moved over the last slices of the job, so its mean depends on when one "
        "looks.",
        "Precondition the drives, or measure for longer.",
    ),
    "FOREIGN": Advice(
        "Somebody else used the disks",
        "The disks did more than fio asked of them.",
        "Find the other load and measure again without it.",
    ),
    "BURST": Advice(
        "Burst credits",
        "The volume ran on credits: above the rate that it can hold.",
        "Measure until the credits are used up, or quote the baseline rate.",
    ),
    "UNITS": Advice(
        "The report contradicts itself",
        "Figures of one report that say the same thing twice do not agree.",
        "Go back to fio's own output; do not quote from this one.",
    ),
    "CPU": Advice(
        "The processors were the limit",
        "fio's workers or the machine had no processor time left, so the disks may do more.",
        "Use more jobs or a larger machine before the disks are judged by this figure.",
    ),
    "MEMBER": Advice(
        "The members are far apart",
        "With equal I/O, some members took longer than others.",
        "Measure each member alone and compare with what is published before a disk is blamed.",
    ),
    "CAP": Advice(
        "A provisioned limit was measured",
        "The provider's limit for the volume or the machine was reached, not the device's.",
        "Nothing is wrong. For more, provision more.",
    ),
}
