"""SIGINT, SIGTERM and SIGHUP as an orderly end of a run."""

from appliance.system.stopping import Stopped, StopSignals

__all__ = ["StopSignals", "Stopped"]
