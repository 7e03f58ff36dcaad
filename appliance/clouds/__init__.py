"""Providers, one module each: what a machine is, how its disks are named, what is published."""
