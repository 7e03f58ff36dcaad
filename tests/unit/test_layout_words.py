"""Layouts of fingerprints in words."""

import pytest

from appliance.model.layout_words import filesystem_words, stripe_words


@pytest.mark.parametrize(
    ("stripe", "words"),
    [
        ("md-raid0 chunk=262144 members=4", "md-raid0 of 4, chunk 256 KiB"),
        ("single", "single disk"),
        ("lvm-stripe chunk=65536 members=2; single", "lvm-stripe of 2, chunk 64 KiB; single disk"),
        ("", ""),
        ("/mnt/x; made by hand", "/mnt/x; made by hand"),
        ("md-raid0 chunk=9999999999999999 members=4", "md-raid0 chunk=9999999999999999 members=4"),
    ],
)
def test_stripes(stripe, words):
    assert stripe_words(stripe) == words


@pytest.mark.parametrize(
    ("filesystem", "words"),
    [
        ("xfs sunit=262144 swidth=1048576", "xfs, sunit 256 KiB, swidth 1 MiB"),
        (
            "ext4 sunit=0 swidth=0; xfs sunit=4096 swidth=8192",
            "ext4; xfs, sunit 4 KiB, swidth 8 KiB",
        ),
        ("btrfs", "btrfs"),
    ],
)
def test_filesystems(filesystem, words):
    assert filesystem_words(filesystem) == words
