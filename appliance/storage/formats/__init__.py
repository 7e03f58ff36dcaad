"""One module a format: what it is told, and what it says. Pure."""
