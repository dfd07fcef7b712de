"""What people decide: approve, reject, undo, retract, install."""
