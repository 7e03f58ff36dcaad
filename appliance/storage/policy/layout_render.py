"""A :class:`Layout` as the text of layout.toml. Pure; reading it again gives the same layout."""

from __future__ import annotations

from collections.abc import Sequence

from appliance.model import Layout, OperatorRule, Selector, Tuning, Volume

_SIZE_UNITS = (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024), ("B", 1))


def render_layout(layout: Layout) -> str:
    """The whole file. What a volume has by default is left out where it would only distract."""
    parts = [_table("[[volume]]", _volume(volume)) for volume in layout.volumes]
    if not layout.volumes:
        parts = ["volume = []\n"]
    parts += [_table("[[rule]]", _rule(rule)) for rule in layout.rules]
    tuning = _tuning(layout.tuning)
    if tuning:
        parts.append(_table("[tuning]", tuning))
    if layout.scan_seconds != Layout(volumes=()).scan_seconds:
        time = _text(f"{round(layout.scan_seconds * 1000)}ms")
        parts.append(_table("[scan]", [("time", time)]))
    return "\n".join(parts)


def _table(header: str, rows: Sequence[tuple[str, str]]) -> str:
    return "\n".join((header, *(f"{key} = {value}" for key, value in rows), ""))


def _volume(volume: Volume) -> list[tuple[str, str]]:
    default = Volume(name=volume.name, mount=volume.mount)
    rows = [
        ("name", _text(volume.name)),
        ("select", _select(volume.select)),
        ("stripe", _text(volume.stripe)),
    ]
    if volume.stripe != "single":
        rows.append(("chunk", _size(volume.chunk_bytes)))
    rows.append(("filesystem", _text(volume.filesystem)))
    if volume.mount:
        rows.append(("mount", _text(volume.mount)))
    rows += [("on_short", _text(volume.on_short)), ("on_loss", _text(volume.on_loss))]
    if volume.wait_seconds is not None:
        rows.append(("wait", _text(f"{round(volume.wait_seconds)}s")))
    if volume.raid10_layout != default.raid10_layout:
        rows.append(("raid10_layout", _text(volume.raid10_layout)))
    if volume.lvm_extent_bytes != default.lvm_extent_bytes:
        rows.append(("lvm_extent", _size(volume.lvm_extent_bytes)))
    if volume.mount_options:
        rows.append(("mount_options", _list(volume.mount_options)))
    if volume.xfs != default.xfs:
        rows.append(("xfs", _xfs(volume)))
    if volume.ext4 != default.ext4:
        rows.append(("ext4", _ext4(volume)))
    if volume.initialise_rate_bytes is not None:
        rows.append(("initialise_rate", _rate(volume.initialise_rate_bytes)))
    return rows


def _select(select: Selector) -> str:
    if select.serials:
        return _inline([("serials", _list(select.serials))])
    rows = [("role", _text(select.role))] if select.role else []
    if select.kind is not None:
        rows.append(("kind", _text(select.kind.value)))
    if select.count is not None:
        rows.append(("count", str(select.count)))
    return _inline(rows)


def _xfs(volume: Volume) -> str:
    options = volume.xfs
    rows = []
    if options.reflink is not None:
        rows.append(("reflink", str(options.reflink).lower()))
    if options.inode_size_bytes is not None:
        rows.append(("inode_size", _size(options.inode_size_bytes)))
    if options.log_size_bytes is not None:
        rows.append(("log_size", _size(options.log_size_bytes)))
    return _inline(rows)


def _ext4(volume: Volume) -> str:
    options = volume.ext4
    rows = []
    if options.bytes_per_inode is not None:
        rows.append(("bytes_per_inode", _size(options.bytes_per_inode)))
    if options.reserved_percent is not None:
        rows.append(("reserved_percent", str(options.reserved_percent)))
    if options.journal_size_bytes is not None:
        rows.append(("journal_size", _size(options.journal_size_bytes)))
    return _inline(rows)


def _rule(rule: OperatorRule) -> list[tuple[str, str]]:
    rows = [("serials", _list(rule.serials))] if rule.serials else []
    words = (
        ("vendor", rule.vendor),
        ("model", rule.model),
        ("cloud_name", rule.cloud_name),
        ("role", rule.role),
        ("kind", rule.kind.value if rule.kind else ""),
    )
    return rows + [(key, _text(value)) for key, value in words if value]


def _tuning(tuning: Tuning) -> list[tuple[str, str]]:
    rows = []
    if tuning.scheduler is not None:
        rows.append(("scheduler", _text(tuning.scheduler)))
    if tuning.io_timeout_seconds is not None:
        rows.append(("io_timeout", _text(f"{tuning.io_timeout_seconds}s")))
    if tuning.cpu_latency_us is not None:
        rows.append(("cpu_latency", _text(f"{tuning.cpu_latency_us}us")))
    if tuning.rebuild_min_bytes is not None:
        rows.append(("rebuild_min", _rate(tuning.rebuild_min_bytes)))
    return rows


def _text(text: str) -> str:
    """A basic string; all that a layout holds is printable ASCII."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _list(texts: Sequence[str]) -> str:
    return f"[{', '.join(_text(one) for one in texts)}]"


def _inline(rows: Sequence[tuple[str, str]]) -> str:
    return f"{{ {', '.join(f'{key} = {value}' for key, value in rows)} }}"


def amount(size_bytes: int) -> str:
    """A size as layout.toml has it: the largest unit without a fraction, ``256KiB``."""
    unit, factor = next(one for one in _SIZE_UNITS if size_bytes % one[1] == 0)
    return f"{size_bytes // factor}{unit}"


def _size(size_bytes: int) -> str:
    return _text(amount(size_bytes))


def _rate(bytes_per_second: int) -> str:
    return _text(f"{amount(bytes_per_second)}/s")
