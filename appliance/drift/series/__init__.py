"""Results over time → facts of performance, and the runs that confirm or refute them."""
