"""What the page of a vault tells, as values: the week, what helps, the domains, the skills.

Figures come from the functions that `stats` and `status` ask; how they look is the room
`page`'s to say. Nothing is written.
"""
