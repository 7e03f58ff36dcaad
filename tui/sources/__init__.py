"""Where the screens read and act: tests stand in for each."""
