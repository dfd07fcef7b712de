"""The judge of a vault: which one it is, what it is shown, what of its reply is believed."""
