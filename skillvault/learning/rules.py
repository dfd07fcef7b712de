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
    """The rules of learning: the numbers of the policy, and the functions in which profiles differ.

    On a skill's use: `proves` and `retires` judge its evidence; `tries_again` says if a skill that
    was retired for its use is tried again; `is_proven`, `qualifies`, `gains` and `explored_share`
    rank it; `open_words` describes its evidence.

    On facts: `weighs` says if runs count for and against facts, `is_surprise` if a wrong verdict
    teaches, `insight_state` returns the state of an evaluation on its way to a fact, and
    `pattern_name` names the skill of facts.

    On a run: `time` is when a record is made or ages, by its outcomes and the run; `steps` are
    those of the loop; `account_texts` are the texts that may be rewritten; `outcome_states` returns
    the states of outcomes on their way to skills, `strategy_state` the state of a domain's
    strategy, and `strategy_rules` the rules that the strategy tells.
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
