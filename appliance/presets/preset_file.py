"""A file of presets, whichever of the formats it has. Pure."""

from __future__ import annotations

from appliance.model.toml_table import Document
from appliance.presets import io_cost, io_properties
from appliance.presets.preset import Preset

WHAT_IS_READ = (
    "what is read: io_properties.yaml, tables of it by machine type, lines of io.cost.model and"
    " io.cost.qos, and systemd's hwdb of these"
)


def presets(source: str, content: bytes) -> tuple[Preset, ...]:
    """The presets in ``content``; :class:`UsageError` names ``source``, the line and the field."""
    try:
        document = Document(source, content.decode())
    except UnicodeDecodeError:
        Document(source, "").fail("file", "is not text in UTF-8", WHAT_IS_READ)
    lines = (line for line in document.text.splitlines() if line.strip(" ") and line[0] != "#")
    first = next(lines, "")
    if first.startswith(io_cost.MATCH) or io_cost.DEVICE.fullmatch(first.rstrip(" ")):
        return io_cost.presets(document)
    return io_properties.presets(document)
