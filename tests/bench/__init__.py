"""How long the appliance takes beside a minimal shell script that does the same."""
