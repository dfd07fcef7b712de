"""refresh: the skill of a subject follows the statements about that subject."""

from skillvault.learning.account import SKILL_CHANGES
from skillvault.model.due import Queue

STEP = "refresh"
DEPENDS_ON = (Queue(name=STEP, every="outcome", when=SKILL_CHANGES),)
