"""Cut a text into sentences, and put one into a plain form in which a mention is one sign.

Lower case, no quotes, no short forms (`didn't`), no words that say nothing of use: so that the
tables of `readings` have little to tell apart. What a sentence says is not asked here.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from skillvault.learning.effect.mentions import Mention

X, Y = "\ue000", "\ue001"  # in a plain sentence: the mention that is read, and any other
NEAR = 300  # characters of a sentence that are read on each side of a mention

_EITHER = f"[{X}{Y}]"
_NOUN = (
    r"(?:skill|lesson|rule|warning|pattern|guide|guideline|guidance|advice|recommendation"
    r"|instruction|strategy|playbook|note|library|approach|method|recipe|workflow|checklist"
    r"|function|file|doc|entry|reminder|style|step|check|procedure|way)s?"
)
_SENSE = (
    r"(?:spirit|letter|terms|conditions?|case|sense|wording|idea|scope|preconditions?|situation"
    r"|scenario|premise|trigger|limits?|caps?|threshold|ceiling|bounds?|maximum)"
)
_REWRITES = tuple(
    (re.compile(pattern), by)
    for pattern, by in (
        ("’", "'"),
        (r"\b(?:wo|will)n't\b", "will not"),
        (r"\bca(?:nno|n')t\b", "can not"),
        (r"n't\b", " not"),
        (r"\b(\w+)'ll\b", r"\1 will"),
        (r"\b(\w+)'ve\b", r"\1 have"),
        (r"\b(i|we|they|you|he|she)'d\b", r"\1 would"),
        (r"\bi'm\b", "i am"),
        (r"\b(\w+)'re\b", r"\1 are"),
        (r"\b(it|that|what|there|he|she)'s\b", r"\1 is"),
        # quotes, emphasis, brackets about a mention, its genitive
        (rf"({_EITHER})'s\b", r"\1"),
        (r"(?<!\w)'|'(?!\w)|[\"`*“”«»_]", " "),
        (rf"\[\s*({_EITHER})\s*\]", r"(\1)"),
        (rf"(?:[\w.~-]+/)*skills?/(?:[\w.-]+/)*({_EITHER})/skill\.md\b", r"\1"),
        (r"\s+", " "),
        (r" (?=[:,.;)])", ""),
        (
            (
                r"\b(?:also|then|(?<!not )just(?! a)|simply|really|actually|first|therefore"
                r"|thus|hence|clearly|deliberately|consciously|explicitly|strictly|intentionally|wil+fully|purposely"
                r"|mostly|directly|again|already|here|quickly|briefly|basically|essentially"
                r"|particularly|especially|very|probably|obviously|quite|rather(?! than)|openly"
                r"|at all|successfully|immediately|always|carefully|literally|blatantly|ever|today"
                r"|(?:if|when) in doubt,?|even(?! though| if| so| after| with)|truly) (?=\S)"
            ),
            "",
        ),
        (
            (
                rf"\bon (?:the )?(?:advice|recommendation|suggestion|strength|instructions?) of "
                rf"(?=(?:the )?{_EITHER})"
            ),
            "per ",
        ),
        # other names of a list: `skills: a, b and x`, `both a and x`
        (
            rf"(?<=[:(])(?: ?[\w./-]+(?:, (?:and |or )?| and | or )){{1,8}}(?:the )?(?={_EITHER})",
            " ",
        ),
        (rf"\bboth (?:the )?[\w./-]+ and (?={_EITHER})", ""),
        (rf"\b(?:the|this|that|our) (?:[\w-]+ ){{0,3}}{_NOUN} \(({_EITHER})\)", r"\1"),
        # the skill 'x', the advice of x, what x says: x
        (rf"({_EITHER}) (?:\({_NOUN}\)|{_NOUN}(?!\w| (?:it|them|me|us)\b))", r"\1"),
        (
            (
                rf"\b(?:(?:the|this|that|these|those|an?|our|my|any|its|both|all|each|either|so-called"
                rf"|said|named|evolved|relevant|{_NOUN}) )+(?={_EITHER})"
            ),
            "",
        ),
        (
            (
                rf"\b(?:the )?{_NOUN} (?:of|from|in|by|given (?:in|by)|called|named|about|on) "
                rf"(?={_EITHER})"
            ),
            "",
        ),
        (rf"\b(?:the )?{_SENSE} (?:of|in|from|behind|for) (?={_EITHER})", ""),
        (
            (
                rf"\bwhat ({_EITHER}) (?:sa(?:ys|id)|suggest(?:s|ed)|recommend(?:s|ed)"
                r"|advis(?:es|ed)|prescribes?d?|asks? for|calls? for|demands?|describes?|teaches)"
            ),
            r"\1",
        ),
    )
)
_JOINED = re.compile(
    r"^[\s\"'`*“”‘’«»)\]]*(?:\([^()]{0,60}\)\s*)?(?:,|;|&|\+|/|(?:,\s*)?(?:and|or|nor)(?:(?:\s+(?:later|then|also))*\s+(?:by|with|on|to|of))?)\s*(?:the\s+)?[\s\"'`*“”‘’«»(\[]*$",
    re.IGNORECASE,
)
_AND = re.compile(r"[^\W\d_]|[&+/]")
_SINGULAR = re.compile(r"\W?\s+(?:was|is|did|does|has|had)\b", re.IGNORECASE)
_ANSWER = r"(?i:yes|no|nope|not|sure|indeed|it (?:does|is)|absolutely|hardly)\b"
_END = re.compile(
    r"(?<!\bcf)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\betc)(?<!^\d)(?<!\n\d)(?<!\n\d\d)[.!]+[\"'”’)\]]*(?=\s|$)"
    rf"|[?][\"')\]]*\s+(?!{_ANSWER})|;\s|\\n|\n\s*(?:\n|(?=[-*+>#|]|\d+[.)]\s|\[))|(?<=[:.!?|])\s*\n"
)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of each, in order.

    An item of a list is one, and a half before `;`; a question and its answer are one together.
    """
    ends = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    return ((start, end) for start, end in pairwise(ends) if start < end)


def joined(text: str, mentions: Sequence[Mention]) -> list[list[Mention]]:
    """The mentions of a sentence of this text; those that are listed as one stand together."""
    groups = [[mentions[0]]]
    for before, after in pairwise(mentions):
        between = text[before.end : after.start]
        alone = "," in between and _SINGULAR.match(text, after.end) and len(groups[-1]) == 1
        if _JOINED.match(between) and not (alone and not _AND.search(between)):
            groups[-1].append(after)
        else:
            groups.append([after])
    return groups


def in_plain(
    text: str, place: tuple[int, int], groups: Sequence[Sequence[Mention]], target: int
) -> str:
    """The sentence at a place in plain form: the group of this number as `X`, others as `Y`."""
    parts, at = [], max(place[0], groups[target][0].start - NEAR)
    for number, group in enumerate(groups):
        if group[0].start >= at:
            parts += [text[at : group[0].start], X if number == target else Y]
            at = group[-1].end
    return plain("".join(parts) + text[at : min(place[1], groups[target][-1].end + NEAR)])


def plain(sentence: str) -> str:
    """A sentence in plain form, whose mentions are signs already."""
    sentence = sentence.lower()
    for pattern, by in _REWRITES:
        sentence = pattern.sub(by, sentence)
    return sentence.strip()
