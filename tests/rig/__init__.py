"""Builds the image and boots it: used by ``make run`` and by the image tests."""
