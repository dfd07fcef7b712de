"""Tries: what each outcome says in one line, and which tries did the same. Values in, values out.

`try_of` reads one outcome, `group_by_deed` and `group_by_kind` compare many.
"""
