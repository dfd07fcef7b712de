"""sync: merge the records that two clones changed, by a rule for each kind; see `table`.

The result is the same with the sides exchanged, since several clones may decide at once.
"""
