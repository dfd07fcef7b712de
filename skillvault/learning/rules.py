"""The functions in which profiles differ, as one value that is chosen when a run starts.

No rule asks which profile is active; it calls a function here. `loop/profiles.py` sets the
functions of each profile.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from skillvault.model.conditions import Separation
from skillvault.model.policy import Policy


class Rules(Struct, frozen=True, kw_only=True):
    """The policy, and the functions in which profiles differ.

    Use of skills: `proves` and `retires` judge the evidence of a skill, and `open_words` describes
    it. `tries_again` allows a second trial of a retired skill. `is_proven`, `qualifies`, `gains`
    and `explored_share` rank skills for recommendations.

    Facts: with `weighs`, runs count for and against facts. `is_surprise` tells if a wrong verdict
    makes a fact. `insight_state` returns the state of an evaluation on its way to a fact.
    `pattern_name` names the skill of facts.

    Runs: `time` returns the time at which a record is made or expires. `steps` has the steps of the
    loop. `account_texts` yields the texts that an answer may rewrite. `outcome_states` and
    `strategy_state` return the states of outcomes and strategies, for `why-not`. `strategy_rules`
    yields the rules in a strategy.
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
