"""evaluate: an outcome is judged, blind at first, and a lesson is drawn."""

from skillvault.model.due import Queue, Trigger

DEPENDS_ON = (
    Queue(
        name="evaluate",
        every="outcome",
        without="evaluation",
        when=(Trigger("outcome"), Trigger("evaluation")),
    ),
)
