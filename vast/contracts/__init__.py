"""Instances as clients of Vast read and change them."""
