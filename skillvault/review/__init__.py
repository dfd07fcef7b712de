"""The decisions of a person: approve, reject, undo, retract, install."""
