"""Arithmetic on what was measured: pure, no program, no file."""
