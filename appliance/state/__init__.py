"""How the machine is: what the boot unit left, and what can be seen by all."""
