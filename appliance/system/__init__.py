"""The outside world: programs, the journal, systemd and the machine itself."""
