"""The committed vault, read once for all that a page tells of it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from skillvault.learning.stats import SkillStats
from skillvault.loop.run import Run
from skillvault.model.records import Evaluation, Fact, Outcome, Ref, Skill
from skillvault.vault.index.records import LinkEnds
from skillvault.vault.index.snapshot import Topics

SHELVES = ("skills", "proposed", "archive")


class Contents(Struct, frozen=True, kw_only=True):
    """The records of record commit, of a domain or of all, and what is known of each skill's use.

    Outcomes and evaluations are read by id, oldest id first; `shelves` are the skills by folder.
    `links` are by their targets, `by_id` all of them; `overruled` outcomes do not count, as another
    record of their decision does. `since` to `until` is what the page calls the week.
    """

    run: Run
    since: datetime
    until: datetime
    domain: str | None
    outcomes: Mapping[str, Outcome]
    evaluations: Mapping[str, Evaluation]
    facts: Mapping[str, Fact]
    shelves: Mapping[str, Mapping[str, Skill]]
    links: Mapping[Ref, Sequence[LinkEnds]]
    by_id: Mapping[str, LinkEnds]
    overruled: frozenset[str]
    effects: Sequence[SkillStats]

    @property
    def view(self) -> Topics:
        """What else the vault is asked."""
        return self.run.view

    def skill(self, name: str) -> Skill | None:
        """The skill of this name, on whatever shelf."""
        return next((shelf[name] for shelf in self.shelves.values() if name in shelf), None)

    def is_told(self, domain: str | None) -> bool:
        """Whether the page is about this domain, or about all."""
        return self.domain in (None, domain)


def contents_of(
    run: Run,
    effects: Sequence[SkillStats],
    span: tuple[datetime, datetime],
    domain: str | None,
) -> Contents:
    """Read what a page of these days tells."""
    view = run.view
    outcomes = {
        record.id: record
        for record in view.outcomes.values()
        if domain is None or record.domain == domain
    }
    by_id = view.links.ends()
    links: dict[Ref, list[LinkEnds]] = defaultdict(list)
    for link in by_id.values():
        links[link.target].append(link)
    folders = (view.skills, view.skills.proposed, view.skills.archived)
    return Contents(
        run=run,
        since=span[0],
        until=span[1],
        domain=domain,
        outcomes=outcomes,
        evaluations={
            record.id: record
            for record in view.evaluations.values()
            if domain in (None, record.domain)
        },
        facts={
            record.id: record for record in view.facts.values() if domain in (None, record.domain)
        },
        shelves={
            shelf: {name: skill for name, skill in folder.items() if domain in (None, skill.domain)}
            for shelf, folder in zip(SHELVES, folders, strict=True)
        },
        links=links,
        by_id=by_id,
        overruled=frozenset(view.outcomes.overruled_ids(outcomes)),
        effects=effects,
    )
