"""The names that host and guest share; the host has none of the appliance's dependencies loaded."""

from __future__ import annotations

BYSTANDER = "bystander"
STRIPES = ("single", "md-raid0", "md-raid10", "lvm-stripe")
NAMES = (
    *(f"{what}-{stripe}" for stripe in STRIPES for what in ("create", "remove", "grow")),
    "recreate-md-raid0",
    "recreate-lvm-stripe",
    "grow-lvm-stripe-by-disks",
    *(f"create-{stripe}-xfs" for stripe in STRIPES),
)
CREATED = tuple(name for name in NAMES if name.startswith("create-"))
