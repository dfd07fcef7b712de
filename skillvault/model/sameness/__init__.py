"""Whether texts say the same or the opposite: one answer, of two texts or of many."""

from skillvault.model.sameness.comparison import SAME, Near, likeness, opposite, same
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.sameness.forms import Forms, components, lookup_keys, most_like_others

__all__ = [
    "SAME",
    "Form",
    "Forms",
    "Near",
    "components",
    "likeness",
    "lookup_keys",
    "most_like_others",
    "normal_form",
    "opposite",
    "same",
]
