"""Find the older versions of a fact, replace them, and show them with the current version.

Two statements are versions of one fact if they state different values of the same thing. Facts of
persons (`find_versions`, `addition_change`) and of runs (`succession_change`) follow these rules.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from msgspec import Struct

from skillvault.learning.promote.facts import LESSON, STEP, fact_path, statement_of
from skillvault.model.change import LINK, Change, Edit
from skillvault.model.records import Fact, Link, Ref, link_of
from skillvault.model.sameness.comparison import is_opposite
from skillvault.model.sameness.form import normal_form
from skillvault.model.sameness.versions import find_value_change, is_copy
from skillvault.model.text.text import flatten, join_items, pluralize, shorten

_MAX_VALUE = 60  # characters of an older value beside the current one


class FactVersions(Struct, frozen=True):
    """The facts that repeat a statement, and the older versions that the statement replaces.

    A remark names an older version, or the opposite, that stays.
    """

    copies: tuple[Fact, ...] = ()
    replaced: tuple[Fact, ...] = ()
    remarks: tuple[str, ...] = ()


class Succession(Struct, frozen=True):
    """The links and edits by which a fact replaces `latest` and, through it, older versions."""

    latest: Fact | None = None
    links: tuple[Link, ...] = ()
    edits: tuple[Edit, ...] = ()


def find_versions(
    text: str, facts: Iterable[Fact], support: Mapping[str, int], *, keeps_both: bool = False
) -> FactVersions:
    """Compare a person's statement with facts that may repeat it or state another value.

    Copies differ at most in case and spacing. The statement counts as one run, and replaces an
    older version that has no more support. `support` maps facts to the number of runs for the fact
    less the runs against it. With `keeps_both`, nothing is replaced.
    """
    copies, older_facts, remarks = list[Fact](), list[Fact](), list[str]()
    form = normal_form(text)
    for fact in sorted(facts, key=lambda fact: fact.order):
        change = find_value_change(_statement_text(fact), text)
        runs = support.get(fact.id, 0)
        if is_copy(_statement_text(fact), text):
            copies.append(fact)
        elif change and keeps_both:
            remarks.append(f"{fact.id} says {change.older} and stays.")
        elif change and is_as_supported(1, fact, runs):
            older_facts.append(fact)
        elif change:
            count = pluralize(runs, "run")
            remark = f"{fact.id} says {change.older}, by {count} on balance, and stays"
            remarks.append(f"{remark}; --supersedes replaces it.")
        elif is_opposite(normal_form(_statement_text(fact)), form):
            remarks.append(f"{fact.id} says the opposite and stays.")
    return FactVersions(tuple(copies), tuple(older_facts), tuple(remarks))


def is_as_supported(newer_runs: int, older: Fact, runs: int) -> bool:
    """Return True if a newer version has at least the support of an older version.

    `runs` counts the runs of the older version; a person's statement counts as one more.
    """
    return runs + (older.kind == "human") <= newer_runs


def plan_succession(fact: str, families: Sequence[Sequence[Fact]], now: datetime) -> Succession:
    """Plan the replacements: a fact replaces its latest older version, and so on.

    A family is an older version with the versions that it replaced itself.
    """
    if not families:
        return Succession()
    pairs, ids = list[tuple[Fact, Fact]](), set[str]()
    for family, (*_, oldest) in pairwise(families):
        ids.update(member.id for member in family)
        if oldest.supersedes is None and oldest.id not in ids:  # avoids a circle
            pairs.append((family[0], oldest))
    predecessor = families[-1][0]
    replacements = [*((source.id, target.id) for source, target in pairs), (predecessor.id, fact)]
    return Succession(
        latest=predecessor,
        links=tuple(_supersession(older, newer, now) for older, newer in replacements),
        edits=tuple(
            Edit(fact_path(target), ("supersedes",), source.id) for source, target in pairs
        ),
    )


def succession_change(facts: Sequence[Fact], support: Mapping[str, int]) -> Change | None:
    """Return the change in which newer values of one thing replace older values, or None.

    An older value stays if it has more support. Only facts that runs made change. The result
    depends on the facts and their support alone, so the order of arrival makes no difference.
    """
    targets, lines = dict[str, str | None](), dict[str, str]()
    current_facts: list[Fact] = []
    for fact in sorted(facts, key=lambda fact: fact.order):
        if fact.kind != "judge":
            continue
        targets[fact.id] = None
        for predecessor in reversed(current_facts):
            change = find_value_change(_statement_text(predecessor), _statement_text(fact))
            if not (change or fact.supersedes == predecessor.id):
                continue
            if is_as_supported(support[fact.id], predecessor, support[predecessor.id]):
                targets[fact.id] = predecessor.id
                if change:
                    values = f"says {change.newer}, {predecessor.id} said {change.older}"
                    lines[fact.id] = f"- {fact.id} {values}."
                current_facts.remove(predecessor)
                break
        current_facts.append(fact)
    changes = [fact for fact in facts if targets.get(fact.id, fact.supersedes) != fact.supersedes]
    if not changes:
        return None
    at = max(fact.created_at for fact in changes if fact.created_at)
    return Change(
        step=STEP,
        subject=f"newest values of {pluralize(len(changes), 'fact')}",
        reason="\n".join(
            lines.get(fact.id)
            or f"- {fact.id} replaces {fact.supersedes} no longer: an older value has more runs."
            for fact in changes
        ),
        edits=tuple(Edit(fact_path(fact), ("supersedes",), targets[fact.id]) for fact in changes),
        writes=tuple(
            _supersession(older_id, fact.id, fact.created_at or at)
            for fact in changes
            if (older_id := targets[fact.id])
        ),
        removes=tuple(
            f"{LINK}{_supersession(f.supersedes, f.id, at).id}" for f in changes if f.supersedes
        ),
        targets=tuple(Ref("fact", fact.id) for fact in changes),
    )


def _supersession(older_id: str, newer_id: str, at: datetime) -> Link:
    return link_of("superseded", Ref("fact", older_id), Ref("fact", newer_id), at)


def addition_change(fact: Fact, succession: Succession, remarks: Sequence[str] = ()) -> Change:
    """Return the change by which a person adds a fact."""
    sources = [link.source for link in succession.links]
    replacement_line = f"It replaces {join_items([ref.id for ref in sources])}." if sources else ""
    return Change(
        step="add",
        subject=f"fact {fact.id}",
        reason="\n".join(filter(None, [replacement_line, *remarks, fact.text])),
        writes=(fact, *succession.links),
        edits=succession.edits,
        sources=tuple(sources),
        targets=(Ref("fact", fact.id),),
    )


def remarks_of(change: Change) -> list[str]:
    """Return the remarks on other facts in the commit of an added fact."""
    texts = [record.text for record in change.writes if isinstance(record, Fact)]
    return change.reason.removesuffix(texts[0]).splitlines()


def _statement_text(fact: Fact) -> str:
    """Return the statement of a fact, or the lesson of a run that the fact quotes."""
    statement = statement_of(fact)
    _, is_lesson, quotation = statement.partition(f"{LESSON}: \u201c")
    return quotation.removesuffix(".").removesuffix("\u201d") if is_lesson else statement


def day_of(fact: Fact) -> str:
    """Return the day on which a fact was made, or "" if its file does not say."""
    return f"{fact.created_at.astimezone(UTC):%Y-%m-%d}" if fact.created_at else ""


def note_of(fact: Fact, predecessor: Fact | None = None) -> str:
    """Return the date of a fact and its older value: `(2026-11-20; was 14, until 2026-11-20)`.

    Leave out the end of the older value if the older fact has a later date.
    """
    day = day_of(fact) or "undated"
    if predecessor is None:
        return f"({day})"
    change = find_value_change(_statement_text(predecessor), _statement_text(fact))
    value = change.older if change else flatten(_statement_text(predecessor))
    end = f", until {day}" if fact.order[0] >= predecessor.order[0] and fact.created_at else ""
    return f"({day}; was {shorten(value, _MAX_VALUE)}{end})"
