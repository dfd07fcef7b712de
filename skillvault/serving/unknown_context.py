"""Which keys and values of a context nothing knows, so that they changed nothing.

Known is what a boost of the policy asks for, or what the text of a skill says.
"""

import re
from collections.abc import Iterable, Mapping

from skillvault.learning.recommend.relevance import folded, words_of
from skillvault.model.policy import Policy
from skillvault.model.records import Scalar

_WORD = re.compile(r"[^\W_]+")


def unknown_context(
    policy: Policy, context: Mapping[str, Scalar], bodies: Iterable[str]
) -> list[str]:
    """The keys that no boost and no skill knows, and the texts as `key=value` of those known."""
    keys, values = _asked_for(policy)
    unknown_keys = {key for key in context if folded(key) not in keys}
    texts = {
        key: value
        for key, value in context.items()
        if isinstance(value, str) and (folded(key), folded(value)) not in values
    }
    for body in bodies:
        if not (unknown_keys or texts):
            break
        text = f"_{'_'.join(_WORD.findall(body.casefold()))}_"
        unknown_keys = {key for key in unknown_keys if not _is_said(key, text)}
        texts = {key: value for key, value in texts.items() if not _is_said(value, text)}
    return [
        key if key in unknown_keys else f"{key}={context[key]}"
        for key in context
        if key in unknown_keys or key in texts
    ]


def _asked_for(policy: Policy) -> tuple[set[str], set[tuple[str, str]]]:
    """(the keys, the keys with their texts) that boosts ask for."""
    boosts = policy.recommend.boosts
    keys = {folded(key) for boost in boosts for key in (*boost.when, *boost.above, *boost.unless)}
    asked = (pair for boost in boosts for pair in boost.when.items())
    return keys, {(folded(key), folded(value)) for key, value in asked if isinstance(value, str)}


def _is_said(name: str, text: str) -> bool:
    """Whether a text, its words between underscores, says a key or a value."""
    words = [word for part in words_of(name) for word in _WORD.findall(part)]
    return bool(words) and any(f"_{link.join(words)}_" in text for link in ("_", ""))
