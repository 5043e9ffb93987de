"""Syncs of data disks with object storage, and their schedules."""
