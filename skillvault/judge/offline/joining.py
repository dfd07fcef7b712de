"""The text of an evolved skill: what the outcomes of several subjects say together."""

from collections import Counter
from collections.abc import Iterator

from skillvault.brief import Agreement, Cause, Draft, Extreme, Findings, Remedy, Rule
from skillvault.conditions import clause
from skillvault.judge.offline.drafting import (
    ASKED,
    DESCRIPTION,
    TITLE,
    bulleted,
    cause_line,
    extreme_line,
    rule_lines,
    shown,
)
from skillvault.judge.offline.speech import plain, quoted, sentence, subject
from skillvault.judge.offline.telling import advice_of
from skillvault.text import count_of, listed, shorten

_ADVICE = 4
_NAMED = 8  # targets
_ENDINGS = 12  # subjects whose counts are told


def joined(brief: Agreement) -> Draft:
    """Synthesized Insight, When This Applies, Key Principles, Evidence."""
    sections = (
        ("Synthesized Insight", _insight(brief.together)),
        ("When This Applies", _when(brief)),
        ("Key Principles", _principles(brief.together)),
        ("Evidence", _evidence(brief)),
    )
    bodies = [(name, bulleted(lines)) for name, lines in sections]
    return Draft(_title(brief), _description(brief), tuple((n, b) for n, b in bodies if b))


def _insight(together: Findings) -> Iterator[str]:
    for statement in together.statements:
        if isinstance(statement, Extreme):
            yield extreme_line(statement, together)
        elif isinstance(statement, Cause) and statement.alike:
            yield cause_line(statement, together.kind)


def _when(brief: Agreement) -> Iterator[str]:
    targets: dict[str, list[str]] = {}
    for found in brief.apart:
        decision = found.account.outcomes[0].decision
        names = targets.setdefault(plain(decision.action), [])
        names += [plain(decision.target)] if decision.target else []
    about = (f"{action} on {_some(on)}" if on else action for action, on in targets.items())
    yield sentence(f"before {'; '.join(about)}")
    yield from rule_lines(brief.together)


def _some(names: list[str]) -> str:
    more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return listed([*names[:_NAMED], *more])


def _principles(together: Findings) -> Iterator[str]:
    for statement in together.statements:
        if isinstance(statement, Remedy):
            yield sentence(f"what worked instead: it {shown(statement.cause)}")
    causes = [s for s in together.statements if isinstance(s, Cause) and s.alike]
    if together.kind == "warning":
        yield from filter(None, [advice_of(c) for c in causes[:_ADVICE]])
        asked = [c for c in causes if c.kind in ASKED]
        yield from (f"[ ] {ASKED[c.kind].format(quoted(c.quote))}" for c in asked[:_ADVICE])


def _evidence(brief: Agreement) -> Iterator[str]:
    word = {"warning": "failed or lost", "pattern": "succeeded or gained"}[brief.together.kind]
    together = brief.together
    yield sentence(f"{_ended(together)} {word}")
    for found in brief.apart[:_ENDINGS]:
        yield sentence(f"{subject(found.account.outcomes[0])}: {_ended(found)} {word}")
    if len(brief.apart) > _ENDINGS:
        yield sentence(f"{len(brief.apart) - _ENDINGS} more subjects")


def _ended(found: Findings) -> str:
    """How many ended so, the small losses and gains with the others."""
    status = "failure" if found.kind == "warning" else "success"
    outcomes = found.account.outcomes
    return count_of(sum(o.result.status == status for o in outcomes), len(outcomes))


def _title(brief: Agreement) -> str:
    """The actions, and what the subjects say."""
    return shorten(f"{_actions(brief)}: {_gist(brief)}", TITLE)


def _actions(brief: Agreement) -> str:
    counts = Counter(plain(f.account.outcomes[0].decision.action) for f in brief.apart)
    return listed(sorted(counts, key=lambda a: (-counts[a], a))[:3], last="or")


def _gist(brief: Agreement) -> str:
    statements = brief.together.statements
    causes = [s.quote for s in statements if isinstance(s, Cause) and s.alike]
    rules = [clause(s.separation.conditions) for s in statements if isinstance(s, Rule)]
    return plain(next(iter([*causes, *rules]), "").rstrip("."), 120)


def _description(brief: Agreement) -> str:
    """What it tells, on what it rests, and when to use it."""
    lead = "Warns of" if brief.together.kind == "warning" else "Describes what worked for"
    text = (
        f"{lead} {_actions(brief)} ({shorten(_gist(brief), 120)}), as {len(brief.apart)} subjects "
        f"say alike. Use before {_actions(brief)}."
    )
    return shorten(text.replace("<", "").replace(">", ""), DESCRIPTION)
