"""Doing what a plan says, proving it, and recording it."""
