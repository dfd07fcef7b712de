"""Words whose difference decides: opposites, alternatives, negations, units; and synonyms.

Tables of plain words. What they mean for a comparison is told where they are read.
"""

import re
from typing import NamedTuple

from skillvault.model.english import FUNCTION_WORDS

NEGATIONS = frozenset(
    """
    not no never without cannot none nobody nothing neither nor avoid avoids avoided avoiding
    hardly rarely seldom lack lacks lacked lacking refrain
    """.split()
)
# A relation turns what follows it into the other side of what was said.
RELATIONS = frozenset("before after than over instead from to into onto by".split())
# Where a new part of a sentence begins.
CONJUNCTIONS = frozenset(
    "and or but while when whenever if then because since so which that where unless until".split()
)
PARTICLES = frozenset("up down on off".split())
SILENT = (
    FUNCTION_WORDS
    | CONJUNCTIONS
    | frozenset(
        """
        again almost already always anybody anyone both could else entirely even ever every exactly
        generally get gets getting got her herself himself however itself just let lets like make
        makes many much often once one ones only quite rather really same should simply still
        themselves though through thus too typically under upon usually very whose yet
        """.split()
    )
) - (NEGATIONS | RELATIONS | frozenset({"under", "same"}))

# Words for one thing, as stems; the first stands for all.
_SYNONYMS = """
    verifi check valid confirm; big larg; fix repair; send transmit; run execut; tri attempt;
    folder directori; requir need; util use; error mistak; cut chop slice dice; movi film; car
    automobil; person someon somebodi man guy; woman ladi; child kid toddler; phone telephon;
    sea ocean; beach seashor; soccer footbal; quick rapid; care cautious; studi look; speak
    talk; immedi instant; often frequent; key crucial
"""
SYNONYMS = {word: group.split()[0] for group in _SYNONYMS.split(";") for word in group.split()[1:]}

_OPPOSITES = """
    above over > below under beneath; before > after; buy bought purchase > sell; increase raise
    grow rise > decrease reduce lower fall decline shrink diminish; add insert append > remove
    delete drop; enable activate > disable deactivate; more > less fewer; most > least; open >
    close closed shut; long > short; first > last; allow permit > deny forbid prohibit block;
    accept approve > reject refuse; include > exclude omit; begin start launch > stop end halt
    quit terminate; inside > outside; high higher highest > low lowest; max maximum > min
    minimum; fast faster quick > slow slower; large larger big bigger > small smaller little;
    succeed success pass > fail failure; win > loss lose; profit gain > loss; ascend ascending >
    descend descending; positive > negative; bullish bull > bearish bear; uptrend > downtrend;
    lock > unlock; upgrade > downgrade; safe > unsafe; widen wide wider loosen loose looser >
    tighten tight tighter narrow narrower; early earlier > late later; true > false; valid >
    invalid; synchronous sync > asynchronous async; empty > full; hot warm > cold cool; strong >
    weak; good better best > bad worse worst; easy > hard difficult; old older oldest > new
    newer newest; present > absent missing; connect > disconnect; attach > detach; mount >
    unmount; install > uninstall; load > unload; merge > split; expand > collapse; show > hide;
    create > destroy; grant > revoke; publish > unpublish; subscribe > unsubscribe; register >
    unregister; ahead > behind; forward > backward; static > dynamic; manual > automatic;
    mutable > immutable; signed > unsigned; known > unknown; support > oppose; agree > disagree;
    entry enter > exit; eager > lazy; stateful > stateless; shallow > deep; coarse > fine;
    optional > mandatory; overbought > oversold; freeze > unfreeze thaw; pause > resume; pin >
    unpin; trust > distrust; keep retain > discard; normalize > denormalize; rich > poor; up >
    down; on > off; inclusive > exclusive
"""
# Of two that belong together, the one is another thing than the other, not its contrary.
_COUNTERPARTS = """
    input | output; read | write; encode encoder | decode decoder; encrypt | decrypt; compress |
    decompress; push | pull; import | export; upload | download; upstream | downstream; client |
    server; public | private; internal | external; local | remote; top | bottom; front | back;
    odd | even; horizontal | vertical; sender | receiver; source | destination; parent | child;
    primary | replica secondary; leader | follower; credit | debit; bid | ask; maker | taker;
    train | test; inbound incoming | outbound outgoing; inflow | outflow; deposit | withdraw
    withdrawal; prefix | suffix; hit | miss; precision | recall; overfit | underfit; serial
    sequential | parallel concurrent
"""
_ALTERNATIVES = """
    second seconds | minute minutes | hour hours | day days | week weeks | month months | year
    years; hourly | daily | weekly | monthly | yearly; mean average | median | mode; left |
    right | inner | outer | cross; limit limits | market; euro euros | dollar dollars | yen;
    celsius | kelvin | fahrenheit; north | south | east | west; staging | production prod |
    development dev; morning | noon | evening | midnight; unit | integration | smoke; daemon |
    cron; stdin | stdout | stderr; red | green | blue | yellow; spot | perpetual | futures
"""


class Side(NamedTuple):
    """Which side of what a word takes; opposites are the two sides of a binary axis."""

    axis: str
    side: int
    binary: bool = True


def _sides(table: str, mark: str) -> dict[str, tuple[Side, ...]]:
    sides: dict[str, tuple[Side, ...]] = {}
    for line in table.split(";"):
        columns = [column.split() for column in line.split(mark)]
        for number, words in enumerate(columns):
            for word in words:
                side = Side(columns[0][0], number, mark == ">")
                sides[word] = (*sides.get(word, ()), side)
    return sides


OPPOSITES = _sides(_OPPOSITES, ">") | _sides(_COUNTERPARTS, "|")
ALTERNATIVES = _sides(_ALTERNATIVES, "|")  # as they are written

# What a number counts: unit -> (measure, how much of it).
_MEASURES = {
    "s": """us µs microsecond:1e-6 ms msec msecs millisecond:1e-3 s sec secs second:1
            min mins minute:60 h hr hrs hour:3600 d day:86400 week:604800""",
    "months": "month:1 year:12",
    "bytes": """b byte:1 kb kilobyte:1e3 mb megabyte:1e6 gb gigabyte:1e9 tb terabyte:1e12
                kib:1024 mib:1048576 gib:1073741824""",
    "%": "% percent pct:1 bp bps:0.01",
    "times": "x time:1",
    "$": "$ usd dollar:1",
    "€": "€ eur euro:1",
    "": "k thousand:1e3 million:1e6 billion bn:1e9",
    "px": "px pixel:1",
    "/s": "rps qps:1",
    "m": "m:1",
}


def _units() -> dict[str, tuple[str, float]]:
    units: dict[str, tuple[str, float]] = {}
    for measure, table in _MEASURES.items():
        waiting: list[str] = []
        for entry in table.split():
            name, _, amount = entry.partition(":")
            waiting.append(name)
            if amount:
                factors = {unit: (measure, float(amount)) for unit in waiting}
                units |= factors | {f"{unit}s": factors[unit] for unit in waiting if len(unit) > 2}
                waiting = []
    return units


UNITS = _units()
SHORT_UNITS = frozenset("b d k m x".split())  # said of a number only where they touch it
NUMERALS = {
    word: number
    for number, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve".split(), start=2
    )
}

# Names in any spelling: days, months, and what is traded.
NAMES = frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays
    fridays saturdays sundays january february april june july august september october november
    december btc eth sol xrp doge ada bnb avax ltc usdt usdc
    """.split()
)
# Capitals that are no name.
GENERAL = frozenset("api apis url urls id ids ui ok tv am pm mr mrs dr i a e.g i.e and/or".split())

# Scripts without spaces have no words to look up: phrases, the longer first.
UNSPACED_NEGATION = re.compile(
    "不要|不能|不可|不应|不会|不得|没有|禁止|切勿|请勿|避免|ないで|しない|ません|不|勿|未"
)
UNSPACED_SILENT = re.compile("[的了着把被就也都和与及或请在是]")
UNSPACED_SIDES = {
    phrase: Side(axis, side)
    for axis, first, second in (
        ("before", "之前 以前 前に 先", "之后 以后 後に 再"),
        ("buy", "买入 购买 買う 买", "卖出 出售 売る 卖"),
        ("increase", "增加 提高 増やす", "减少 降低 減らす"),
        ("enable", "启用 有効", "禁用 停用 無効"),
        ("open", "打开 开启", "关闭"),
        ("above", "高于 以上", "低于 以下"),
        ("more", "更多", "更少"),
        ("long", "做多", "做空"),
        ("up", "上涨", "下跌"),
        ("success", "成功", "失败 失敗"),
    )
    for side, phrases in enumerate((first, second))
    for phrase in phrases.split()
}
