"""Images, volumes, snapshots and object-storage sync."""
