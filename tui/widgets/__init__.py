"""Panels that draw one part of a snapshot; each has a pure function that makes its text."""
