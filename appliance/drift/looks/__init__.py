"""What is seen of a machine: without privilege, as root, of the appliance itself."""
