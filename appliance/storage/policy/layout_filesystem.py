"""The keys of a volume in layout.toml that are about its filesystem. Pure."""

from __future__ import annotations

from appliance.model import Ext4Options, XfsOptions
from appliance.model.toml_table import Table
from appliance.storage.formats import mount_options as mountoptions


def mount_options(table: Table, filesystem: str) -> tuple[str, ...]:
    """What the volume is mounted with, besides what every volume is."""
    if filesystem == "none":
        if "mount_options" in table.values:
            table.fail("mount_options", "there is no filesystem to mount", "leave it out")
        return ()
    hint = f"{filesystem} volumes may have: {mountoptions.allowed(filesystem)}"
    options = table.words("mount_options", hint)
    for option in options:
        if against := mountoptions.problem(filesystem, option):
            table.fail("mount_options", f"{option!r}: {against}", hint)
    names = [option.partition("=")[0] for option in options]
    for name in names:
        if names.count(name) > 1:
            table.fail("mount_options", f"{name!r} is given twice", hint)
    return options


def xfs(table: Table, filesystem: str) -> XfsOptions:
    """What mkfs.xfs is told besides the stripe."""
    hint = 'xfs = { reflink = false, inode_size = "512B", log_size = "64MiB" }'
    table.only_with("xfs", "filesystem", filesystem, "xfs")
    options = table.table("xfs", hint)
    if options is None:
        return XfsOptions()
    options.only(("reflink", "inode_size", "log_size"))
    return XfsOptions(
        reflink=options.flag("reflink"),
        # 256 bytes were possible before metadata had checksums.
        inode_size_bytes=options.amount("inode_size", "512B", "2KiB", power=True),
        # mkfs.xfs itself wants 64 MiB; the format ends at 2 GiB less 10 MiB.
        log_size_bytes=options.amount("log_size", "64MiB", "2038MiB", step="1MiB"),
    )


def ext4(table: Table, filesystem: str) -> Ext4Options:
    """What mkfs.ext4 is told besides the stripe."""
    hint = 'ext4 = { bytes_per_inode = "64KiB", reserved_percent = 1, journal_size = "128MiB" }'
    table.only_with("ext4", "filesystem", filesystem, "ext4")
    options = table.table("ext4", hint)
    if options is None:
        return Ext4Options()
    options.only(("bytes_per_inode", "reserved_percent", "journal_size"))
    return Ext4Options(
        bytes_per_inode=options.amount("bytes_per_inode", "4KiB", "64MiB", power=True),
        reserved_percent=options.number_in("reserved_percent", 0, 50),
        journal_size_bytes=options.amount("journal_size", "4MiB", "16GiB", step="1MiB"),
    )
