"""A layout as an epoch's fingerprint has it (docs/schema.md), in words. Pure."""

from __future__ import annotations

import re

from appliance import text

# An epoch's fingerprint has one value a volume, in declared order (docs/schema.md).
BETWEEN_VOLUMES = "; "
_STRIPE = re.compile(r"(?P<kind>[\w-]+)(?: chunk=(?P<chunk>\d{1,15}))?(?: members=(?P<n>\d{1,6}))?")
_FILESYSTEM = re.compile(r"(?P<kind>[\w.-]+) sunit=(?P<sunit>\d{1,15}) swidth=(?P<swidth>\d{1,15})")


def stripe_words(stripe: str) -> str:
    """``md-raid0 chunk=262144 members=4`` as ``md-raid0 of 4, chunk 256 KiB``; of each volume."""
    return BETWEEN_VOLUMES.join(_stripe_words(each) for each in stripe.split(BETWEEN_VOLUMES))


def _stripe_words(stripe: str) -> str:
    found = _STRIPE.fullmatch(stripe)
    if found is None:
        return stripe
    words = found["kind"]
    if found["n"] and words != "single":
        words += f" of {found['n']}"
    elif words == "single":
        words = "single disk"
    return f"{words}, chunk {text.size(int(found['chunk']))}" if found["chunk"] else words


def filesystem_words(filesystem: str) -> str:
    """``xfs sunit=4096 swidth=8192`` as ``xfs, sunit 4 KiB, swidth 8 KiB``; of each volume."""
    return BETWEEN_VOLUMES.join(
        _filesystem_words(each) for each in filesystem.split(BETWEEN_VOLUMES)
    )


def _filesystem_words(filesystem: str) -> str:
    found = _FILESYSTEM.fullmatch(filesystem)
    if found is None:
        return filesystem
    sunit, swidth = int(found["sunit"]), int(found["swidth"])
    if not sunit:
        return found["kind"]
    return f"{found['kind']}, sunit {text.size(sunit)}, swidth {text.size(swidth)}"
