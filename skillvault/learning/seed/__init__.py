"""The rules of `profile: seed`, which follows the five designs to the letter."""
