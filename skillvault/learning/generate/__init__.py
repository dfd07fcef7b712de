"""generate: accounts become skills."""

from skillvault.learning.account import READMITTED, SKILL_CHANGES
from skillvault.model.due import Queue

DEPENDS_ON = (Queue(name="generate", every="outcome", when=(*SKILL_CHANGES, READMITTED)),)
