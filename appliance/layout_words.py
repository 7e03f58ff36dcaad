"""A layout as an epoch's fingerprint has it (docs/schema.md), in words. Pure."""

from __future__ import annotations

import re

from appliance import text

_STRIPE = re.compile(r"(?P<kind>[\w-]+)(?: chunk=(?P<chunk>\d{1,15}))?(?: members=(?P<n>\d{1,6}))?")
_FILESYSTEM = re.compile(r"(?P<kind>[\w.-]+) sunit=(?P<sunit>\d{1,15}) swidth=(?P<swidth>\d{1,15})")


def stripe_words(stripe: str) -> str:
    """``md-raid0 chunk=262144 members=4`` as ``md-raid0 of 4, chunk 256 KiB``."""
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
    """``xfs sunit=262144 swidth=1048576`` as ``xfs, sunit 256 KiB, swidth 1 MiB``."""
    found = _FILESYSTEM.fullmatch(filesystem)
    if found is None:
        return filesystem
    sunit, swidth = int(found["sunit"]), int(found["swidth"])
    if not sunit:
        return found["kind"]
    return f"{found['kind']}, sunit {text.size(sunit)}, swidth {text.size(swidth)}"
