"""What was measured and done, in one SQLite file: schema, writes, read-only queries."""
