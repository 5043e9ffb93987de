"""Disks of instances and volumes, which are ext4 images of fixed size, and operations on them."""
