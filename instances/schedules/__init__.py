"""Timers and schedules of instances."""
