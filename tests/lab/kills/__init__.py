"""Killed everywhere: every step of every work ended before, in and after it, then begun again."""
