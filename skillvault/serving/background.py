"""What else a recommendation is told of skills and task: what they are about, facts, domains."""

from collections.abc import Callable, Mapping

from skillvault.learning.recommend.disclosure import About
from skillvault.learning.recommend.recommend import Background, Query
from skillvault.learning.recommend.relevance import Match
from skillvault.learning.record import near_domain
from skillvault.serving.fact_hits import fact_hits
from skillvault.serving.skill_actions import leads, skill_actions
from skillvault.vault.index.snapshot import Topics


def background_of(
    head: Topics,
    query: Query,
    asked: tuple[str, Mapping[str, Match]] | None,
) -> Background:
    """`asked` is the task and how well skills answer it; None if none is given."""
    task, matches = asked or ("", {})
    return Background(
        about=_about(head),
        actions=skill_actions(head, matches),
        leads=leads(head, query, task, matches),
        facts=fact_hits(head, task, query.domain) if task else (),
    )


def unknown_domain(head: Topics, domain: str) -> str | None:
    """None for a domain that is known; else the known one that it looks like, or ""."""
    if domain in head.domains:
        return None
    names = (row.domain for row in head.skills.candidates())
    domains = {*head.domains, *filter(None, names)}
    return None if domain in domains else near_domain(domain, domains) or ""


def _about(head: Topics) -> Callable[[str], About]:
    def about(name: str) -> About:
        own = head.skills.get(name)
        if own is not None:
            return About(own.description, f"skills/{name}/SKILL.md")
        other = head.layers.of_name(name)
        return About(other.skill.description, other.path) if other else About()

    return about
