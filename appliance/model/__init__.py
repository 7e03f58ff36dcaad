"""The frozen values that flow between the rooms; standard library only.

Follow them to follow the program::

    Disk -> Inventory -> Plan -> Applied          (appliance.storage)
    Suite -> Run -> JobResult -> Finding          (appliance.bench, appliance.history)
    Fact -> FindingRecord                         (appliance.drift, appliance.history)

Sizes are bytes, times are nanoseconds or seconds as the name says.
"""

from __future__ import annotations

from appliance.model.confirmations import (
    CONFIRM_SUITE,
    Approval,
    Confirmation,
    Verdict,
)
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
    Scan,
    Signature,
    VirtualDrive,
    VolumeGroup,
)
from appliance.model.findings import Area, DriftSeverity, DriftState, Fact, FindingRecord, SeriesKey
from appliance.model.measurement import (
    Capability,
    DeviceIo,
    DeviceLatency,
    Finding,
    ImportedResult,
    JobResult,
    Measurement,
    Provisioned,
    Severity,
    Slice,
    Source,
)
from appliance.model.plans import (
    Decision,
    Destruction,
    FilesystemOptions,
    Layout,
    OperatorRule,
    Orders,
    Plan,
    Selector,
    Step,
    Tuning,
    Volume,
    VolumePlan,
)
from appliance.model.runs import (
    Counters,
    EpochRecord,
    Job,
    Mean,
    RunRecord,
    RunState,
    Sample,
    Suite,
)
from appliance.model.slots import (
    Attempt,
    Detail,
    Happening,
    Slot,
    Span,
)

__all__ = [
    "CONFIRM_SUITE",
    "Approval",
    "Area",
    "Array",
    "Attempt",
    "Capability",
    "Confirmation",
    "Counters",
    "Decision",
    "Destruction",
    "Detail",
    "DeviceIo",
    "DeviceLatency",
    "Disk",
    "DiskKind",
    "DriftSeverity",
    "DriftState",
    "EpochRecord",
    "Fact",
    "Filesystem",
    "FilesystemOptions",
    "Finding",
    "FindingRecord",
    "Happening",
    "HardwareDrive",
    "ImportedResult",
    "Inventory",
    "Job",
    "JobResult",
    "Layout",
    "LogicalVolume",
    "LvmMember",
    "Machine",
    "Mark",
    "MarkState",
    "MdMember",
    "Mean",
    "Measurement",
    "OperatorRule",
    "Orders",
    "Plan",
    "Provisioned",
    "RunRecord",
    "RunState",
    "Sample",
    "Scan",
    "Selector",
    "SeriesKey",
    "Severity",
    "Signature",
    "Slice",
    "Slot",
    "Source",
    "Span",
    "Step",
    "Suite",
    "Tuning",
    "Verdict",
    "VirtualDrive",
    "Volume",
    "VolumeGroup",
    "VolumePlan",
]
