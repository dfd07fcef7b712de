"""Hostile and massive intake: mutants, bombs, bursts, and ten thousand files edited by key."""
