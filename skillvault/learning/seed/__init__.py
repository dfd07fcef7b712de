"""The rules of `profile: seed`, which follows the five original designs exactly."""
