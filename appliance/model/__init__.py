"""The frozen values that flow between the rooms; standard library only.

Follow them to follow the program::

    Disk -> Inventory -> Plan -> Applied          (appliance.storage)
    Suite -> Run -> JobResult -> Finding          (appliance.bench, appliance.history)
    Fact -> FindingRecord                         (appliance.drift, appliance.history)

Sizes are bytes, times are nanoseconds or seconds as the name says.
"""

from __future__ import annotations

from appliance.model.disks import (
    Array,
    Disk,
    DiskKind,
    Filesystem,
    HardwareDrive,
    Inventory,
    LogicalVolume,
    LvmMember,
    Machine,
    Mark,
    MarkState,
    MdMember,
    Signature,
    VirtualDrive,
    VolumeGroup,
)
from appliance.model.drift import (
    Area,
    DriftSeverity,
    DriftState,
    Fact,
    FindingRecord,
    SeriesKey,
)
from appliance.model.evidence import (
    Capability,
    DeviceIo,
    Evidence,
    Judged,
    Source,
)
from appliance.model.plans import (
    Decision,
    Destruction,
    Ext4Options,
    Layout,
    OperatorRule,
    Orders,
    Plan,
    Selector,
    Step,
    Tuning,
    Volume,
    VolumePlan,
    XfsOptions,
)
from appliance.model.results import (
    Counters,
    EpochRecord,
    Finding,
    Job,
    JobResult,
    Provisioned,
    RunRecord,
    RunState,
    Sample,
    Severity,
    Slice,
    Suite,
)

__all__ = [
    "Area",
    "Array",
    "Capability",
    "Counters",
    "Decision",
    "Destruction",
    "DeviceIo",
    "Disk",
    "DiskKind",
    "DriftSeverity",
    "DriftState",
    "EpochRecord",
    "Evidence",
    "Ext4Options",
    "Fact",
    "Filesystem",
    "Finding",
    "FindingRecord",
    "HardwareDrive",
    "Inventory",
    "Job",
    "JobResult",
    "Judged",
    "Layout",
    "LogicalVolume",
    "LvmMember",
    "Machine",
    "Mark",
    "MarkState",
    "MdMember",
    "OperatorRule",
    "Orders",
    "Plan",
    "Provisioned",
    "RunRecord",
    "RunState",
    "Sample",
    "Selector",
    "SeriesKey",
    "Severity",
    "Signature",
    "Slice",
    "Source",
    "Step",
    "Suite",
    "Tuning",
    "VirtualDrive",
    "Volume",
    "VolumeGroup",
    "VolumePlan",
    "XfsOptions",
]
