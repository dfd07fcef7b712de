"""The facts that say the same as some, in any domain: as far as what changed reaches.

The index keeps under which keys each fact is found; those of the facts
that changed since are computed, and kept once they are settled.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from skillvault.learning.promote.general import form_of
from skillvault.model.records import Fact, Outcome
from skillvault.model.sameness.form import Form
from skillvault.model.sameness.forms import Forms, lookup_keys
from skillvault.vault.index.fact_keys import WritableFactKeys
from skillvault.vault.index.snapshot import Topics

TRUST = "local"  # of the facts that are looked at
_REPLACES = "supersedes "  # before the fact whose place another takes: a key like no other


class AlikeFacts:
    """What the facts of a vault say; `due` are those that changed since keys were kept."""

    def __init__(self, view: Topics, due: Collection[str]) -> None:
        self._view = view
        self._due = frozenset(due)
        self._forms: dict[str, Form] = {}
        self._keys: dict[str, list[str]] = {}  # of the facts that are due
        self._holders: dict[str, set[str]] = defaultdict(set)  # key -> those of them
        read = self._looked_at(self._due)
        for name in self._due:
            keys = lookup_keys(self._forms[name]) if name in read else []
            self._keys[name] = keys
            for key in keys:
                self._holders[key].add(name)
        for fact in view.facts.get_many(self._due).values():
            if fact.supersedes:
                self._keys[fact.id] = [*self._keys[fact.id], _REPLACES + fact.supersedes]

    def changed(self) -> set[str]:
        """The facts that are due, and those in whose place one of these stands or stood."""
        kept = self._view.fact_keys.keys_of(self._due)
        keys = kept.union(*self._keys.values())
        return {k.removeprefix(_REPLACES) for k in keys if k.startswith(_REPLACES)} | self._due

    def reached(self, names: Iterable[str]) -> dict[str, Fact]:
        """These facts, and those that say the same, directly or by way of others.

        Of those that are trusted and in whose place no other stands.
        """
        found, new = dict[str, Fact](), self._looked_at(names)
        while new:
            found |= new
            forms = {self._forms[name] for name in new}
            keys = {key for form in forms for key in lookup_keys(form)}
            others = self._looked_at(self._under(keys).difference(found))
            index = _indexed(forms) if others else Forms()
            new = {name: fact for name, fact in others.items() if self._says_one(name, index)}
        return found

    def keep_settled(self, settled: Collection[str], keys: WritableFactKeys) -> None:
        """Keep the keys of those that are settled."""
        for name in sorted(self._due.intersection(settled)):
            keys.keep_fact(name, self._keys[name])

    def _under(self, keys: Collection[str]) -> set[str]:
        due = {name for key in keys for name in self._holders.get(key, ())}
        return (self._view.fact_keys.under(keys) - self._due) | due

    def _says_one(self, name: str, index: Forms) -> bool:
        form = self._forms[name]
        return any(index.is_same(number, form) for number in index.candidates(form))

    def _looked_at(self, names: Iterable[str]) -> dict[str, Fact]:
        facts = {
            name: fact
            for name, fact in self._view.facts.get_many(names).items()
            if fact.trust == TRUST
        }
        old = self._view.facts.superseded(facts)
        current = {name: fact for name, fact in facts.items() if name not in old}
        makers = made_by(self._view, [name for name in current if name not in self._forms])
        for name, fact in current.items():
            if name not in self._forms:
                self._forms[name] = form_of(fact, makers.get(name))
        return current


def made_by(view: Topics, facts: Collection[str]) -> Mapping[str, Outcome]:
    """Fact -> the outcome of the run that made it, of those that a run made."""
    makers = view.facts.makers(facts)
    outcomes = view.outcomes.get_many(set(makers.values()))
    return {fact: outcomes[name] for fact, name in makers.items() if name in outcomes}


def _indexed(forms: Iterable[Form]) -> Forms:
    index = Forms()
    for form in forms:
        index.add(form)
    return index
