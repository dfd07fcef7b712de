"""Kills, errors and full disks at every durable step: nothing is lost, nothing is left behind."""
