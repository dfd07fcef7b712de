"""Estimate how much a skill changes the rate of success of the decisions that apply it."""
