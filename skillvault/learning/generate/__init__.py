"""generate: the statements about an action or a subject become a skill."""

from skillvault.learning.account import READMITTED, SKILL_CHANGES
from skillvault.model.due import Queue

DEPENDS_ON = (Queue(name="generate", every="outcome", when=(*SKILL_CHANGES, READMITTED)),)
