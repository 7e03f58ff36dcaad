"""What the drift detector is judged with: seeded series, what is counted on them, and peers."""
