"""The table of rules: for each kind of record what two clones' versions of it become.

A kind without a row goes by its content, as an outcome does. A new kind that needs more has its row
here.
"""

from collections.abc import Callable, Mapping

from skillvault.learning.sync.expertise import merged_expertise
from skillvault.learning.sync.fact import merged_fact, says_otherwise
from skillvault.learning.sync.notebook import merged_learnings
from skillvault.learning.sync.recorded import RECORDED, merged_record
from skillvault.learning.sync.retraction import merged_retraction
from skillvault.learning.sync.settings import merged_settings
from skillvault.learning.sync.skill import is_edited, merged_skill
from skillvault.learning.sync.three_way import Rule

POLICY, LEARNINGS, EXPERTISE = "vault.yaml", "LEARNINGS.md", "expertise.yaml"

RULES: Mapping[str, Rule] = {
    **RECORDED,
    "fact": merged_fact,
    "skill": merged_skill,
    "retraction": merged_retraction,
    POLICY: merged_settings,
    LEARNINGS: merged_learnings,
    EXPERTISE: merged_expertise,
}
# Whether what one side changed stays if the other took the file away; nothing else does.
STAYS: Mapping[str, Callable[[bytes, bytes], bool]] = {
    "fact": says_otherwise,
    "skill": is_edited,
    POLICY: lambda _base, _side: True,
    LEARNINGS: lambda _base, _side: True,
    EXPERTISE: lambda _base, _side: True,
}


def rule_of(kind: str) -> Rule:
    """The rule of a kind of record, or of one of the vault's own files."""
    return RULES.get(kind, merged_record)


def stays(kind: str, base: bytes, side: bytes) -> bool:
    """Whether a person changed a file that the other side took away, so that it stays."""
    return kind in STAYS and STAYS[kind](base, side)
