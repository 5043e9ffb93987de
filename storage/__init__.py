"""What instances run from and write to: images now, volumes and snapshots later."""
