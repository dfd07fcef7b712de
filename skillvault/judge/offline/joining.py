"""The text of an evolved skill: what several subjects say together, in each section once."""

from collections import Counter

from skillvault.judge.offline.drafting import bulleted, described, titled
from skillvault.judge.offline.lines import HEADINGS, ranked_lines, sections_of
from skillvault.judge.offline.speech import plain, sentence
from skillvault.model.brief import Agreement, Draft, Findings
from skillvault.model.records import SkillKind
from skillvault.model.text.text import count_of, listed

_NAMED = 8  # targets
_ACTIONS = 3
_ENDED: dict[SkillKind, str] = {"warning": "failed or lost", "pattern": "succeeded or gained"}


def joined(brief: Agreement) -> Draft:
    """Synthesized Insight, When This Applies with its counts, Key Principles."""
    together = brief.together
    lines = sections_of(together)
    first, second, *others = HEADINGS[together.kind]
    sections = (
        ("Synthesized Insight", [*lines.get(first, []), *lines.get(second, [])]),
        ("When This Applies", [_when(brief)]),
        ("Key Principles", [line for heading in others for line in lines.get(heading, [])]),
    )
    about = _actions(brief)
    ranked = (line for _, line in ranked_lines(together))
    return Draft(
        titled(about, together.statements, together.kind),
        described(f"before {about}", ranked),
        tuple((heading, bulleted(texts)) for heading, texts in sections if texts),
    )


def _when(brief: Agreement) -> str:
    targets: dict[str, list[str]] = {}
    for findings in brief.apart:
        decision = findings.account.outcomes[0].decision
        names = targets.setdefault(plain(decision.action), [])
        names += [plain(decision.target)] if decision.target else []
    about = (f"{action} on {_some(on)}" if on else action for action, on in targets.items())
    ended = f"{_count(brief.together)} {_ENDED[brief.together.kind]}"
    return sentence(f"before {'; '.join(about)} ({ended})")


def _some(names: list[str]) -> str:
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return listed([*names[:_NAMED], *more])


def _count(findings: Findings) -> str:
    """How many ended so, the small losses and gains with the others."""
    status = "failure" if findings.kind == "warning" else "success"
    outcomes = findings.account.outcomes
    return count_of(sum(o.result.status == status for o in outcomes), len(outcomes))


def _actions(brief: Agreement) -> str:
    counts = Counter(plain(f.account.outcomes[0].decision.action) for f in brief.apart)
    return listed(sorted(counts, key=lambda a: (-counts[a], a))[:_ACTIONS], last="or")
