"""sync: merge the records that two clones changed, by a rule for each kind; see `table`.

Several clones may merge at once, so the result is the same with the sides exchanged.
"""
