"""The rules of a profile as one value, chosen once when a run or a question starts.

No rule asks for the name of the profile. `loop/profiles.py` lists the profiles.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from skillvault.model.conditions import Separation
from skillvault.model.policy import Policy


class Rules(Struct, frozen=True, kw_only=True):
    """The rules of learning: the policy, and the functions in which profiles differ.

    On the use of a skill: `proves` and `retires` judge its evidence. `tries_again` allows a second
    trial of a retired skill. `is_proven`, `qualifies`, `gains` and `explored_share` rank skills.
    `open_words` describes the evidence.

    On facts: `weighs` is True if runs count for and against facts. `is_surprise` is True if a wrong
    verdict teaches. `insight_state` returns the state of an evaluation on its way to a fact.
    `pattern_name` names the skill of facts.

    On a run: `time` is the time at which a record is made or ages. `steps` are the steps of the
    loop. `account_texts` are the texts that may be rewritten. `outcome_states` returns the states
    of outcomes on their way to skills, `strategy_state` the state of a domain's strategy, and
    `strategy_rules` the rules in a strategy.
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
    insight_state: Callable[..., Any]
    pattern_name: Callable[..., str]
    time: Callable[[Any, datetime], Any]
    steps: Mapping[str, Any]
    account_texts: Callable[..., Iterator[Any]]
    outcome_states: Callable[..., dict[str, Any]]
    strategy_state: Callable[..., Any]
    strategy_rules: Callable[..., Iterator[Separation]]
