"""Charts as text: values go in, lines come out. Nothing here reads a clock or keeps a state."""
