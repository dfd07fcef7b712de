"""sync: what two clones of one vault make together, a rule a record; see `table`.

Pure, and the same with the sides exchanged, as several clones decide at once.
"""
