"""One module per screen or kind of dialogue."""
