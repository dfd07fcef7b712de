"""The rules of a profile as one value, chosen once when a run or a question starts.

No rule asks for the name of the profile; `loop/profiles.py` lists the profiles.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from skillvault.model.conditions import Separation
from skillvault.model.policy import Policy


class Rules(Struct, frozen=True, kw_only=True):
    """The rules of learning: the numbers of the policy, and the rules in which profiles differ.

    A skill's use: `proves` and `retires` judge its evidence, `tries_again` holds if one that its
    use retired is tried again, `is_proven`, `qualifies`, `gains` and `explored_share` rank it, and
    `open_words` say what is known of it.
    Memory: `weighs` holds if runs count for and against facts, `is_surprise` says if a wrong
    verdict teaches, `insight_standing` where an evaluation stands with facts, `pattern_name` how
    the skill of facts is called.
    A run: `time` is when something is made or ages, by its outcomes and the run; `steps` are
    those of the loop, `account_texts` the texts of accounts that may be rewritten, `standings`
    where outcomes stand with their skills, `strategy_standing` where a domain stands with its
    strategy and `strategy_rules` which rules that tells.
    """

    policy: Policy
    proves: Callable[..., bool]
    retires: Callable[..., str | None]
    tries_again: bool
    is_proven: Callable[..., bool]
    qualifies: Callable[..., bool]
    gains: Callable[..., dict[str, float]]
    explored_share: Callable[..., float]
    open_words: Callable[..., str]
    weighs: bool
    is_surprise: Callable[..., bool]
    insight_standing: Callable[..., Any]
    pattern_name: Callable[..., str]
    time: Callable[[Any, datetime], Any]
    steps: Mapping[str, Any]
    account_texts: Callable[..., Iterator[Any]]
    standings: Callable[..., dict[str, Any]]
    strategy_standing: Callable[..., Any]
    strategy_rules: Callable[..., Iterator[Separation]]
