"""What a look at the machine saw → facts. Pure."""
