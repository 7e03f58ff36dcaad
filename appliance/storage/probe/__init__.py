"""Looking at disks, arrays and groups without changing any."""
