"""The engine of Stripewright: storage, benchmarks and history, without any screen code."""

__version__ = "0.1.0"
