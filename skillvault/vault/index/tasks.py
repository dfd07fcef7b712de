"""The tasks behind skills, by which they are found beside their own text."""

from collections.abc import Iterable, Mapping

from skillvault.model.claims import Claim
from skillvault.vault.index.outcomes import Recommendations
from skillvault.vault.index.reader import Reader
from skillvault.vault.index.rows import moment
from skillvault.vault.search import ranking

_OUTCOMES = "select id, at, task, decision, trust, agent from outcome where id in {}"
_APPLIED = "u.match in ('tool', 'explicit', 'implicit')"


class Tasks:
    """The tasks of the outcomes that made or used a skill."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._receipts = Recommendations(reader)

    def of_outcomes(self, ids: Iterable[str]) -> dict[str, tuple[int, str]]:
        """Outcome -> (when it was, what was asked), of those of which that is known."""
        times: dict[str, int] = {}
        tasks: dict[str, str] = {}
        silent: dict[str, tuple[str, Claim]] = {}
        for name, at, task, decision, trust, agent in self._reader.rows_in(_OUTCOMES, ids):
            times[name] = at
            if task:
                tasks[name] = task
            elif decision:
                silent[name] = decision, Claim(trust, agent, moment(at))
        tasks |= self._receipts.asked(silent)
        return {name: (times[name], task) for name, task in tasks.items()}

    def users(self, skills: Iterable[str]) -> dict[str, list[str]]:
        """Skill -> the outcomes that applied it."""
        query = f"select u.skill, u.outcome from used u where {_APPLIED} and u.skill in {{}}"
        outcomes: dict[str, list[str]] = {}
        for skill, outcome in self._reader.rows_in(query, skills):
            outcomes.setdefault(skill, []).append(outcome)
        return outcomes

    def keep(self, tasks: Mapping[str, str]) -> None:
        """Let skills be found by these tasks, in place of those before; "" for none."""
        texts = {f"skill:{name}": task for name, task in tasks.items()}
        self._reader.change(lambda database, _: ranking.keep_tasks(database, texts))
