"""Estimate how much applied skills change the rate of success, from values alone."""
