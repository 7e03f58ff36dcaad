"""Where the screens read and act: a Protocol for each, and the real one behind it."""
