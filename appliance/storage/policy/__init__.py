"""Decisions about volumes: each file one question that the planner asks. Pure."""
