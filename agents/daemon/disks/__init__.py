"""Disks of instances and volumes: ext4 images of fixed size, and what is done with them."""
