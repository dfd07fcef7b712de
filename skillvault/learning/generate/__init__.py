"""generate: a subject's account becomes its warning and its pattern, a domain gets a strategy."""

from skillvault.learning.account import READMITTED, SKILL_CHANGES
from skillvault.model.due import LinkedFrom, Queue, Source, When

STRATEGY = "strategy"  # the queue of domains whose strategy is to be looked at
DEPENDS_ON = (
    Queue(name="generate", every="outcome", when=(*SKILL_CHANGES, READMITTED)),
    Queue(
        name=STRATEGY,
        every="outcome",
        key=("domain",),
        when=(
            When("outcome"),
            When("evaluation"),
            When("link", along=(Source("evaluation"),)),
            When("skill", "moved", types=("strategy",), along=(LinkedFrom("evaluation"),)),
            READMITTED,
        ),
    ),
)
