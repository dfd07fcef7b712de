"""Tests of what a machine does to a vault: full disks, failing disks, many writers at once."""
