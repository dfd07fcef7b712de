"""The rules of `sync`: merge a record that two clones changed, by a rule for its kind.

`table.py` has the rule of each kind. Several clones may merge at once, so the result must be the
same if the sides are exchanged.
"""
