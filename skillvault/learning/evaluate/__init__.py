"""evaluate: the judge judges an outcome, first without its result, and draws a lesson."""

from skillvault.model.due import Queue, Trigger

DEPENDS_ON = (
    Queue(
        name="evaluate",
        every="outcome",
        without="evaluation",
        when=(Trigger("outcome"), Trigger("evaluation")),
    ),
)
