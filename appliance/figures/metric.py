"""What of a result is looked at over time and side by side. Pure."""

from __future__ import annotations

from enum import StrEnum

from appliance import text
from appliance.figures import quantities
from appliance.model.measurement import Measurement


class Metric(StrEnum):
    """The values are the words for people. Rates are a second, latencies in ns."""

    IOPS = "IOPS"
    BANDWIDTH = "bandwidth"
    MEAN = "mean latency"
    P99 = "p99 latency"
    P999 = "p99.9 latency"

    @property
    def is_latency(self) -> bool:
        """Less is better."""
        return self not in {Metric.IOPS, Metric.BANDWIDTH}

    @property
    def next(self) -> Metric:
        """The one after this, in a circle."""
        every = list(Metric)
        return every[(every.index(self) + 1) % len(every)]

    def of(self, result: Measurement) -> float | None:
        """Its value in ``result``; ``None`` if that is not known."""
        match self:
            case Metric.IOPS:
                return result.iops
            case Metric.BANDWIDTH:
                return quantities.exact_bandwidth(result)
            case Metric.MEAN:
                return result.latency_mean_ns
            case Metric.P99:
                return quantities.percentile_ns(result, 99.0)
            case Metric.P999:
                return quantities.percentile_ns(result, 99.9)

    def corrected(self, result: Measurement) -> float | None:
        """What is probably true of a result that is not valid; of no latency is that known."""
        iops = None if self.is_latency else quantities.corrected_iops(result)
        if iops is None or self is Metric.IOPS:
            return iops
        return iops * result.block_size_bytes if result.block_size_bytes else None

    def words(self, value: float) -> str:
        """``value`` with its unit; IOPS have none."""
        if self is Metric.IOPS:
            return text.count(value)
        return text.latency(value) if self.is_latency else text.bandwidth(value)
