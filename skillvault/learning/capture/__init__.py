"""capture: a rule that agents wrote down and that code bears out becomes a pattern."""

from skillvault.learning.capture.evidence import confidence, search_terms
from skillvault.learning.capture.prompt import augment
from skillvault.learning.capture.rules import rule_texts as rules
from skillvault.learning.capture.rules import rules_for_prompt

__all__ = ["augment", "confidence", "rules", "rules_for_prompt", "search_terms"]
