"""What the commands print; the work itself is done in the other rooms."""
