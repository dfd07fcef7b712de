"""generate: significant outcomes become skills, a domain gets a strategy."""

from skillvault.due import LinkedFrom, Queue, Same, Source, Through, When

STRATEGY = "strategy"  # the queue of outcomes that no strategy has looked at
_JUDGED = (
    When("outcome"),
    When("evaluation"),
    When("link", along=(Source("evaluation"),)),
)
# The skills that were merged into one, and the outcomes that all of them were made of: with
# these their subjects are looked at, and so what repeats them.
_ORIGINS = (Through("merged"), LinkedFrom("evaluation", "generated"))
DEPENDS_ON = (
    Queue(
        name="generate",
        every="outcome",
        when=(
            *_JUDGED,
            When("outcome", "gone", along=(Same("subject"),)),
            When("skill", "moved", along=_ORIGINS),
            When("link", types=("merged",), along=(Source("skill"), *_ORIGINS)),
        ),
    ),
    Queue(
        name=STRATEGY,
        every="outcome",
        when=(
            *_JUDGED,
            When("skill", "moved", types=("strategy",), along=(LinkedFrom("evaluation"),)),
        ),
    ),
)
