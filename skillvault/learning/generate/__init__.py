"""generate: a subject's account becomes its warning and its pattern, a domain gets a strategy."""

from skillvault.due import LinkedFrom, Queue, Same, Source, Through, When

STRATEGY = "strategy"  # the queue of domains whose strategy is to be looked at
# The skills that were merged into one, and the outcomes that all of them were made of.
_ORIGINS = (Through("merged"), LinkedFrom("evaluation", "generated"))
DEPENDS_ON = (
    Queue(
        name="generate",
        every="outcome",
        when=(
            When("outcome"),
            When("evaluation"),
            When("outcome", "gone", along=(Same("subject"),)),
            When("recommendation", along=(Same("decision"),)),
            When("skill", "moved", along=_ORIGINS),
            When("link", types=("merged",), along=(Source("skill"), *_ORIGINS)),
        ),
    ),
    Queue(
        name=STRATEGY,
        every="outcome",
        key=("domain",),
        when=(
            When("outcome"),
            When("evaluation"),
            When("link", along=(Source("evaluation"),)),
            When("skill", "moved", types=("strategy",), along=(LinkedFrom("evaluation"),)),
        ),
    ),
)
