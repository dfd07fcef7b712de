"""The rules that only the profile `seed` has: the designs to the letter (docs/policy.md)."""
