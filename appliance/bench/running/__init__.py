"""One run: where it happens, what is made ready, measured and kept, and how it ends."""
