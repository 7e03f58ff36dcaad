"""Real md and XFS in a guest kernel (User Mode Linux): nothing here touches the host's disks."""
