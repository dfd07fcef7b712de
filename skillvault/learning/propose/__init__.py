"""propose: a rule that a person states in their next words waits for their approval."""

from skillvault.model.due import Queue, Trigger

DEPENDS_ON = (Queue(name="propose", every="outcome", when=(Trigger("outcome"),)),)
