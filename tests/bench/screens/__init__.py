"""What the screens cost: waiting for them, processor time, bytes on the line, memory."""
