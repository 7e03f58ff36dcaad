"""Drift on real devices: what a check finds when things are done to a stripe by hand."""
