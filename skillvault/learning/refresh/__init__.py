"""refresh: a subject's skill says what its account says by now."""

from skillvault.due import Queue
from skillvault.learning.account import SKILL_CHANGES

STEP = "refresh"
DEPENDS_ON = (Queue(name=STEP, every="outcome", when=SKILL_CHANGES),)
