"""The operator's screens. They show what ``appliance`` knows and ask systemd for fixed units."""
