"""Read how a text mentions skills, by a table of cues: applied, overruled, declined, or open.

`mentions` finds who is mentioned. Each sentence is put into a plain form in which the mention is
one sign; the first cue of the table that it holds decides.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from skillvault.learning.effect.mentions import Mention

# `named` is a mention as of what is used, which a later sentence may take back; `due` one as of
# what is to be used, if work follows; `open` says nothing of use.
Reading = Literal["applied", "named", "due", "overruled", "declined", "open"]

NEAR = 300  # characters of a sentence that are read on each side of a mention
X, Y = "\ue000", "\ue001"  # in a plain sentence: the mention that is read, and any other

# In the table <word> stands for one of these, and ~ for the endings of a verb.
_WORDS = {
    "use": r"""appl~|us(e|es|ed|ing)|follow~|rel~ (up)?on|load~|consult~|invok~|heed~|obey~
        respect~|honou?r~
        adopt~|adapt~|employ~|leverag~|utili[sz]~|implement~|r[au]n(s|ning)?( through)?|open~|pick~
        cho(se|ose|osing)
        select~|took|tak(e|es|ing)|trust~|compl~ with|adher~ to|try|tr(ied|ying)|st(ick|uck
        icking) (to|with|by)
        abid~ by|(go|goes|went|going) (with|by|back to|through)|act~ (up)?on|lean(t|s|ed|ing)? on
        listen~ to
        switch~ to|combin~|cit~|dr[ea]w(ing)? on|point~ to|read(ing)?|work~ (from|through)|(keep
        kept|keeping) to
        mirror~|return~ to|fall back (to|on)|turn~ to|need~|requir~|ma(de|ke|king) use of|look~ at
        start~ with
        get|have|find|see|want|see|bother with|touch|refer~ to""",
    "obey": r"""follow~|heed~|obey~|listen~ to|respect~|compl~ with|adher~ to|st(ick|uck
        icking) (to|with)
        abid~ by|honou?r~|do|did|doing""",
    "defy": r"""ignor~|overr(ide|ides|ode|idden|iding|ul~)|disregard~|violat~|def~|disobey~|bypass~
        flout~|breach~
        br(eak|eaks|oke|oken|eaking)( with)?|contraven~|contradict~|exceed~|(deviat|depart)~ from
        disagree[ds]? with
        (go|goes|going|went|gone|act~|trad~|mov~) (against|past|beyond|around|over)
        r[au]n(ning)? counter to""",
    "decline": r"""skip(s|ped|ping)?( reading)?|reject~|declin~|refus~|dismiss~|discard~|drop(s|ped
        ping)?|abandon~
        avoid~|omit(s|ted|ting)?|neglect~|forg[eo]t(ten|ting)?( about)?|pass~ on|(left|leaving
        rul~) out|gave up on
        overlook~|opt(s|ed|ing)? (out of|against)|stopped|replac~|consider~|ditch~|miss~|remov~
        contemplat~|weighed
        toyed with|debated|th(ought|inking) about|disabl~|exclud~|unused|(decid|argu|vot)~ against
        cho(se|osing) against
        lack~|threw out|delet~|evaluat~|not (used|applied|followed|needed)""",
    "not": r"""not|never|no|nor|neither|none|nothing|nobody|no one|hardly|without|unable to|unlike
        instead of
        rather than|(fail~|failure|inability) to|other than|no longer|different(ly)? (from|than)
        in (place|lieu) of|little
        minus|as opposed to|except( for)?|too \w+ to|stopped""",
    "say": r"""sa(ys?|id)|warn~|advis~|suggest~|recommend~|tells?|told|ask~|want~|demand~|requir~
        stat~|urg~
        prescrib~|mandat~|forb(ids|ade)|prohibit~|call~ for|would have (had|made|kept|stopped) (me
        us)""",
    "be": r"""is|was|were|are|be|been|being|got|(has|had|have|will|to) be(en)?|seem~( to be)?|look~
        proved|feels?|felt
        turned out( to be)?|remain~|appear~""",
    "anyway": r"""anyways?|nonetheless|nevertheless|regardless|(all|just) the same|instead(?! of)
        even so|knowingly
        despite (it|that)""",
    "bad": r"""irrelevant|inapplicable|unrelated|outdated|stale|unused|unnecessary|needless
        superfluous|redundant
        overkill|moot|off.topic|out of (scope|place|date)|left|rejected|skipped|dismissed|declined
        dropped|discarded
        considered|set aside|put aside|abandoned|omitted|replaced|refused|useless|pointless
        unhelpful|silent|wrong
        beside the point|overlooked|missed|n/?a""",
    # What is passed over: no comma, and no word that begins a reason or another clause.
    "gap": r"""(?!(because|since|per|due|so|given|following|as|but|thanks|until|till|i|we|that
        using|before|after)\b)[\w'/-]+\s""",
    "i": r"(i|we)( (have|had|then|still|only|finally|later|also))*",
}

_TABLE: tuple[tuple[Reading, str], ...] = (
    # Asked, and answered at once.
    ("applied", r"^[^?]*X[^?]*\? ?(yes|sure|indeed|it (does|is)|absolutely)\b"),
    ("declined", r"^[^?]*X[^?]*\? ?(no|nope|not|hardly|probably not)\b"),
    ("overruled", r"\bshould (not|never) have (<defy>) X"),
    # Two negations, and what did not happen for the skill's sake.
    (
        "applied",
        r"""
        \bnot (only|just|merely|solely) (<gap>){0,3}(X|(Y,? )?but (also )?(<use> )?X)
        \bnot Y,? but X(?!.*\b(would|could) have)
        \b(nothing|anything|no \w+|none)( \w+)? (but|besides|except|(other )?than
          |other than) (to <use> )?X
        \bno choice but to <use> X
        ^(given|considering|minding|knowing) X,? (i|we|no)\b(?!.*\b(<anyway>|still)\b)
        \b(<not>|resist~|tempt\w+ to|reluctant to|afraid to|careful not to|mistake to
          |avoid~) (<gap>){0,4}(<defy>|skip\w*|forg[eo]t\w*|dismiss~|neglect~) X
        \b(reckless|foolish|unwise|careless|wrong) not to (<use>) X
        \b(if|had) (i|we) (had )?not (<use>) X
        \b(not been|were it not|was it not|if not|but) for X
        ^without X,? .*\b(would|could|might)\b
        \b(would|could|might)( not)? (have )?(<gap>){0,7}without X
        \b(would|will|might) (be (a )?)?(<defy>|violation of|breach of) X(?! if)(?!.*\b(<anyway>
          |but (i|we)))
        \bwould <use> X again\b(?! if)
        ^(?!not )[^?]*\b(check|compar|measur|verif|test|held|validat)\w* (<gap>){0,5}against X""",
    ),
    # Acted against, knowingly.
    (
        "overruled",
        r"""
        \b(despite|in spite of|in (defiance|violation|breach) of|contrary to|opposite of
          |in (conflict|contradiction) (to|with|of)|at odds with|notwithstanding|regardless of
          |in disregard of)( (having )?(<use>|seen|knowing))? X
        X,? (notwithstanding|be damned)
        \beven (after|with|though i) (<gap>){0,3}X
        \b(even though|although|though|while|whereas|knowing|know|knew|aware)( (that|of
          |full well))* X (<say>|applies)
        \b(even though|although|though) (i|we) (<gap>){0,2}(know|knew|read|seen|saw) X
        \b(accept|tak|took|run)\w* (the|this|that) (risk|danger|chance)( that| which| of)? X
        (?<!advise )(?<!advised )(?<!decided )(?<!opted )(?<!chose )(?<!argued )\bagainst X
        \bwhich X (warn|advise[sd]? against|forb|prohibit)
        \b(wav|brush|push|cast|put|set|lay|laid)\w* (X (aside|off|away)|aside X)
        X (<be>) (waved|brushed|pushed|put|set) (away|off|aside)
        \bunlike X,? (i|we)\b
        \b(know|knew|aware of|saw|read|seen|remembered|noticed|had|acknowledged?|admit|heard
          |warned by|told by|advised by)( about| of)? X.*\b(<anyway>|but <i> \w+ed|and still
          |yet (i|we)|(however|but),? (i|we) (proceeded|went|still|did it))
        X.*\b((i|we)\b.*\b(<anyway>)|(<anyway>),? (i|we))\b
        X.*\b(but|yet|however),? (i|we) still (?!follow|compl|obey|wait)
        X (has |had |have )?(<say>)\b.*\b(but|yet|however|whereas|still)\b(?!.*\b(followed
          |complied|obeyed|agreed|listened|stayed out))
        X (has |had |have )?(<say>)\b.*\b((i|we|which i) (did|do|have|would) not( (do|listen|heed
          |comply|obey|care)| ?\.|$)|(<anyway>)\s*\.?$)
        X.*\b(i|we) ((did|do) not (listen|heed|comply|obey|care)\b|(\w+ly )?disagreed?
          |beg to differ|knew better)
        X (<be>) (\w+ly )?(ignored|overr\w+|disregarded|violated|bypassed|defied|broken|flouted
          |breached)
        X ?[:(–—-]* ?(ignored|overruled|overridden|disregarded|violated|bypassed|defied|flouted
          |acted against)\b
        \b(not|never|without|rather than|instead of|refus\w+ to|nor)( (to|be|been|going|have
          |having|did|i|we))* (<obey>) X
        \b(?<!was )(?<!were )(?<!been )(<defy>):? X
        (^|[.,;:] |\b(and|but) )X,? <i> (<defy>)\b""",
    ),
    # Its mark, as in a list.
    (
        "declined",
        r"""
        \b(neither|none|nothing|no skills?) .{0,60}X(?! did\b)
        (\[ \]|~~|✗|✘|❌|\bnot|\bno|\bn/a):? X
        X( \([^)]*\))? ?([:=(|\[,–—→-]|->|=>|uses? )* ?(~~|✗|✘|❌|none\b|false\b|does not|did not
          |not (?!only|just|to |fully|entirely|all\b|completely|without )\w+|(<bad>)\b|no\b(?= ?($
          |[,.;:()|]|relevan|match|effect|bearing|use\b|need|longer|since|because|as\b|this
          |it\b)))""",
    ),
    (
        "applied",
        r"""
        (\[x\]|✓|✔|✅|☑) X
        X ?([:=(|–—→-]|->|=>)* ?(✓|✔|✅|☑|yes ?($|[,.;])|\((used|applied|followed|heeded)\b)
        X ?([:=(|–—→-]|->|=>)+ ?(yes|used|applied|followed|true|done|heeded|respected|obeyed)\b""",
    ),
    # It was not there, did not work, or is itself what was worked on.
    (
        "open",
        r"""
        X (<be>) (not |no longer )?(unavailable|missing|available|installed|found|there|loaded yet
          |retired|archived|gone|deleted|shown|given|offered|listed|recommended|suggested
          |retrieved|provided|served|mentioned|in the|among|on the list|on offer|written|renamed)\b
        X (library|format|files?|package)\b
        \blinks? to X
        X (by mistake|by accident|accidentally|too late|after the fact|(could|can) not be|exists?
          |came up|appears|showed up|is a skill)
        \b(there (is|are)|exist\w*|next to|write|updat~|edit~|renam~|extend~|add~|string|search~
          |find|called|heard of|text|typo|creat~|merg~) (<gap>){0,2}X
        \b(wrote|created|fixed|renamed|deleted|moved|installed) (<gap>){0,6}X""",
    ),
    (
        "declined",
        r"""
        X[.;,:]+ ?(but |and )?(never|not) (<use>)\b( it| X)?(?= ?($|[.;,]| because| since| as))
        X,? (and |but )?it (does|did|do|is|was) not\b
        X (failed|crashed|errored|timed out|hung|threw|raised|broke|did not (load|work|exist|open
          |help)|would not load)
        \b(start\w*|began|tr(y|ied)|attempt\w*)( (with|to <use>|<use>))* X(?!.*\bworked\b).*\b(but
          |error|fail\w*|gave up|stopped|abandoned|threw|timed out|crash\w*|to no avail|in vain
          |without (success|luck))\b""",
    ),
    # Turned down.
    (
        "declined",
        r"""
        \b(<not>) (<gap>){0,5}(<use> )?X
        \b(before|until) ((i|we) )?(got|get|getting)? ?(to )?X ?[.;]?$
        \bthan (to )?(<use>) X
        \b(no|little) (use|mention|application|account|notice|heed) (<be>)? ?(made|taken
          |paid)?( (of|to))? X
        \b(read|saw|seen|opened|checked|reviewed|look~ (at|into|through)|loaded|glanced at|offered
          |given) X,? .*\b(but|yet|however|closed it|moved on|wrong)\b(?!.*\b(used|applied
          |followed|kept)\b)
        \b(<decline>)( to)?( <use>)?:? X
        \b(?<!no choice )(?<!not )over X
        \b(left|leave|leaving|kept|ruled|saved|postponed|deferred) X (out|aside|alone|unused
          |unread|for|to|until)\b(?! (this|the rest|each))
        (^|[.,;:] |\b(and|but) )X <i> ?(did|do|could|can|would|have|had) not\b
        (^|[.,;:] |\b(and|but) )X,? <i> (<decline>|left|set aside|put aside)\b
        X,? (and |then )?((i|we) )?(concluded|decided|judged|found|felt|thought|saw
          |reali[sz]ed)( that)? (it|this|they|none).{0,20}\b(not|no|nothing|<bad>|little|about
          |only)\b
        X(?![^,;]{0,30}\b(i|we)\b)[^,;]{0,30}\b(has|had|have|did|do|does|<be>|can|could|will
          |would) (\w+ly )?(too |so |a bit |of )?(not\b(?! (allow|permit|let|like|want|recommend
          |support|optional|negotiable|to be|lie|only|ignored|wrong))|never|no\b|little|(<bad>)\b)
        X\)?,? (which |it )?(<be>) (\w+ly )?(not|never|no|of no|of little|too|impossible|(<bad>))\b
        X,? .{0,40}\b(so|and) (i|we) (left|put|set|dropped|skipped|disregarded|ignored|redid) (it
          |X)\b
        X (is|was|are|were) (only )?(meant |made |written |about |for )+(?!this|exactly|such
          |the key)
        X (never|no longer|hardly|barely|only (applies|covers|matters|works)|(has|had|plays|played
          |made|makes) (no|nothing)|(offers?|says?|gave) nothing|concerns?|refers? to|targets
          |addresses|deals with|lacks|covers (another|other|\w+ \w+ only)|handles)\b
        X .*\b(nothing to do with|none (fit|appl|was|were|of)\w*|(needed|used) (neither|none)
          |neither (was|were|fit|appl)\w*|off-topic)
        \b(nothing|little) .{0,40}\b(triggers?|calls? for|matche[sd]|touches) X""",
    ),
    # Would have been; perhaps, another time, by somebody else.
    (
        "declined",
        r"""
        \b(had|have) (i|we) (<gap>){0,3}X
        \bhad X been\b
        \b(would|could|should|might|ought to) have (<gap>){0,6}X
        X (would|could|should|might|may)( \w+)? (have|be|help|apply|fit|matter)
        ^with X,? .*\b(would|could|might) (not )?(have|be)\b
        \b(wish|if only|almost|nearly|intended|meant|wanted|hoped)\b(?! by).*X""",
    ),
    (
        "open",
        r"""
        \b(if|unless|whether|in case|were (i|we|it|this)|should|once|when
          |as soon as)\b[^,]{0,60}\b(<gap>){0,9}(, .*\b(will|would|can|could|may|might|<use>|is
          |do) (<gap>){0,4})X(?!.*\bso (i|we)\b)
        \b(if|unless|whether|in case) [^,]{0,60}X
        X.*\b(will|would|may|might|can)\b.*\b(if|unless|later|next time)\b
        \b(next|coming|upcoming|future|subsequent) (time|run|release|attempt|week|month|session
          |iteration|agent|round|day|job|task|batch|trade|sprint)s?\b.*X
        X.*\b(next (time|week|run|release|batch|iteration|session|migration|trade)
          |in (the )?future|tomorrow|going forward|from now on|later(?! Y)|follow-?up|the next one
          |last (week|month|time|year|run|session)|yesterday|afterwards|for whoever)\b
        \b(in (the |a )?future|tomorrow|going forward|from (now|tomorrow|the next \w+) on|later
          |to-? ?do|action items?|follow-?ups?|lessons? learned|takeaways?|remember|reminder
          |hindsight|not yet|note to self|planned|someday|eventually|remaining|pending|improvement
          |future reference)\b(?!.*\b(applied|used|followed|done:?) X).*X
        \b(plan(s|ning|ned)?|plan (is|was)|intend(s|ed)?|going|hop(e|ing)|about|likely|tempted
          |ready|supposed|expected) to (<gap>){0,3}X(?=.*\b(but|no time|ran out|then|tomorrow
          |later|next|did not|however|once|after|when|before|until|if|forgot)\b)
        \b(plan(s|ning)?|(plan|idea|aim|intention) (is|was)|planned|intend(s|ed)?|hop(e|ing)
          |was going
          |were going) to (<gap>){0,3}X
        \b((recommend|propose|suggest)( \w+)?|(recommendation|advice|suggestion|proposal|next
          |outstanding|missing|open|e\.g\.?)( (<gap>){0,3}is to|:|( \w+)?:)) (<use> )?X
        \b(would|could|might|may|can|shall)( not)? (<gap>){0,5}X
        \b(maybe|perhaps|possibly|not sure|unsure|unclear|wonder\w*|doubt\w*|worth)\b.*X
        X[^?.!]*\? ?$
        \b(please|let me know|you (may|must|should|can|could|might|have)|do not forget)\b.*X
        \b(another|other|previous|prior|earlier|last|yesterday\W?s?|your) (<gap>){1,3}(<gap>){0,2}X
        \b(colleagues?|some(one|body)( else)?|every(one|body)|baseline|they|he|she|who|predecessor
          |friend|user|customer|reviewer|operator|ops|admin|manager|team|developers?|engineers?
          |authors?|people|contributors|others|agents? (before|prior|above)|previous \w+
          |prior \w+)\b(?!.*\b(so|and|but) (i|we)\b)[^,;]* (<use>|<say>|propos~|prais~|prefer~
          |lik~|should|must|swore by)(?<!ing) (<gap>){0,2}X
        \b(to <use> X one|in general|example|yesterday|last (week|month|time|year|session|run)
          |previously|in the past|back then)\b.*X""",
    ),
    # Listed, or a quote of the prompt.
    (
        "open",
        r"""
        ^>
        \b(prompt|context|instructions?|list|task|receipt|pack|response|readme|fixture|message
          |index|catalog\w*|header|output|description|documentation|engine|recommend
          |\w+\.md)s? (\w+ ){0,3}(list|contain|mention|includ|show|nam|sa(id|ys?)|read|offer|had
          |has|gave|give|suggest|recommend|told|tells|present|propos|return)\w*\b.*X
        \b(was|were|got|am|are) (shown|given|offered|served|recommended|handed|told|presented
          |provided)( (with|about|to|of|the|not|use|<use>))* .{0,30}X
        \b(available|shown|offered|recommended|suggested|retrieved|listed|seen|related|candidates?
          |served|provided|given|relevant|received|considered|options?)( (\w+ ){0,2}(were|was|are
          |is)|( \w+){0,3}:) ?\(?X
        (?<!because )\b(of|among|amongst|out of|besides|beside|apart from
          |aside from)( \w+){0,2},? X(?=.*Y|.*nothing)
        \b(among|amongst) (them|these|those|which|others),?:? .*X
        \b(vault|shelf|catalog\w*|inventory|registry|archive|folder|contents|index|glossary
          |all skills)( has| holds| lists?| contains| offers| keeps|:).*X
        \b(skills?|lessons?|suggestions?|recommendations?|shown|listed|retrieved|suggested
          |options?|warnings?) \(X""",
    ),
    # What is to be done, and what was done.
    ("due", r"\b(i|we) (should|must|need to|have to|ought to) (<gap>){0,4}X"),
    ("due", r"\b(task|this|it) (calls for|needs|requires|wants) X"),
    ("open", r"\b(should|must) (<gap>){0,4}X"),
    ("named", r"X told"),
    ("named", r"\b(will|going to|let me|let us|time to) (<gap>){0,2}(<use>) (<gap>){0,2}X"),
    (
        "named",
        r"\b(look~ at|try|tr(ied|ying)|open~|load~|read(ing)?|consult~|check~) (<gap>){0,4}X",
    ),
    (
        "applied",
        r"""
        \b(<use>):? (<gap>){0,4}X
        \b(per|via|by|thanks to|because of|due to|owing to|given|according to|in (line|accordance
          |keeping|compliance) with|on account of|consistent with|based on|mindful of|in (view
          |light) (of|to)|courtesy of|kudos to|cf\.?|as|from|with) X
        X (kicked in|helped|matched|had me|made|led|saved|triggered|guided|decide[sd]|paid off
          |worked|fits?|applie[sd]|used|followed|heeded|settled|kept|caught|gave|told|convinced
          |stopped|came (in handy|into play|through))\b
        (but|because|as|since|and) X (<say>)
        \b(reminded|warned|prompted|inspired|driven|informed|motivated) by X
        \bapplication of X
        \bbut X did\b
        X (is|was) (clear|explicit|adamant|on point|enough)
        X ?(→|->|=>)
        X (<be>) (\w+ly |the |my |why )*(applied|used|followed|heeded|respected|obeyed|loaded
          |invoked|consulted|decisive|guide|key|useful|helpful|relevant|right|reason)
        X (<say>)\b.*\b(so|hence|therefore|thus|and (i|we))\b""",
    ),
    # A plain statement of nothing else.
    (
        "named",
        r"""
        [(:=] ?X\)?\W*$
        ^(?!.*\b(not|nor|never|neither|none|nothing|without|but|yet|although|though|except|unlike
          |instead|if|unless|whether|until|should|would|could|might|may|maybe|perhaps|later|future
          |lack\w*|miss\w*|fail\w*|crash\w*|aware|known?|knew|saw|seen|notic\w*|evaluat\w*
          |consider\w*|thought|suggest\w*|recommend\w*|return\w*|offer\w*|list\w*|prompt|readme
          |available|user|system|docs?|asked|mention\w*|other|another|replac\w*|updat\w*|edit\w*
          |renam\w*|delet\w*|heard|covers|section)\b)[^?]*X[^?]*$""",
    ),
)

_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]])*\]|\((?!\?)")


def _expand(pattern: str) -> str:
    """Return a pattern of the table as a regular expression that keeps no group."""
    while re.search(r"<\w+>", pattern):
        pattern = re.sub(r"<(\w+)>", lambda match: _alternatives(_WORDS[match[1]]), pattern)
    pattern = re.sub(r"(?<=[\w\])])~", "(?:e?[sd]|ing|y|ies|ied|ying|e)?", pattern)
    pattern = _TOKEN.sub(lambda match: "(?:" if match[0] == "(" else match[0], pattern)
    return re.sub(r"\bX\b", X, re.sub(r"\bY\b", Y, pattern))


def _alternatives(text: str) -> str:
    return "(?:" + "|".join(line.strip() for line in text.splitlines()) + ")"


_CUES = tuple(
    (reading, re.compile(_expand(line.strip())))
    for reading, table in _TABLE
    for line in re.sub(r"\n {10}", "", table).strip().splitlines()
)

_NOUN = (
    r"(?:skill|lesson|rule|warning|pattern|guide|guidance|advice|recommendation|instruction"
    r"|strategy|playbook|note"
    r"|approach|method|recipe|workflow|checklist|file|entry|style|step|procedure|way|spirit"
    r"|letter|terms|condition"
    r"|case|section|limit|script|conditions|help|check)s?"
)
_EITHER = f"[{X}{Y}]"
_REWRITES = tuple(
    (re.compile(pattern), by)
    for pattern, by in (
        ("’", "'"),
        (r"\b(?:wo|will)n't\b", "will not"),
        (r"\bca(?:nno|n')t\b", "can not"),
        (r"n't\b", " not"),
        (r"'ll\b", " will"),
        (r"'ve\b", " have"),
        (r"\b(i|we|they|you|he|she)'d\b", r"\1 would"),
        (rf"(?<!{_EITHER})'(?:m|re|s)\b", " is"),
        (rf"({_EITHER})'s\b", r"\1"),
        (r"(?<!\w)'|'(?!\w)|[\"`*“”«»_]", " "),
        (rf"\[+\s*({_EITHER})\s*\]+", r"(\1)"),
        (rf"(?:[\w.~-]+/)*skills?/(?:[\w.-]+/)*({_EITHER})(?:/[\w./-]+)?", r"\1"),
        (r"\s+", " "),
        (r" (?=[:,.;)])", ""),
        (
            (
                r"\b(?:also|then|(?<!not )just(?! a)|simply|really|actually|first|therefore|thus"
                r"|\w{3,}(?<!on)(?<!app)(?<!rep)ly(?<!family)"
                r"|again|already|here|quite|very|at all|always|ever|today|(?:if|when) in doubt,?)"
                r" (?=\S)"
            ),
            "",
        ),
        (
            rf"(?<=[:(])(?: ?[\w./-]+(?:, (?:and |or )?| and | or )){{1,8}}(?:the )?(?={_EITHER})",
            " ",
        ),
        (rf"\bboth (?:the )?[\w./-]+ and (?={_EITHER})", ""),
        (rf"\b(?:the|this|that|our) (?:[\w-]+ ){{0,3}}{_NOUN} \(({_EITHER})\)", r"\1"),
        (rf"({_EITHER}) (?:\({_NOUN}\)|{_NOUN}(?!\w| (?:it|them|me|us)\b))", r"\1"),
        (
            (
                rf"\b(?:(?:the|this|that|these|an?|our|my|any|its|both|all|each|either|named"
                rf"|{_NOUN}) )+(?={_EITHER})"
            ),
            "",
        ),
        (
            (
                rf"\b(?:(?:on|in) )?(?:the )?{_NOUN} "
                rf"(?:of|from|in|by|called|named|about|on|behind|for) (?={_EITHER})"
            ),
            "",
        ),
        (
            (
                rf"\bwhat ({_EITHER}) (?:said"
                r"|(?:say|suggest|recommend|advise|prescribe|demand|describe|teache?)[sd])"
            ),
            r"\1",
        ),
    )
)
_LIST = re.compile(
    r"[\s\"'`*“”‘’«»)\]]*(?:\([^()]{0,60}\)\s*)?(?:,|;|&|\+|/|(?:,\s*)?(?:and|or"
    r"|nor)(?:(?:\s+(?:later|then|also))*\s+(?:by|with|on|to|of))?)"
    r"\s*(?:the\s+)?[\s\"'`*“”‘’«»(\[]*",
    re.IGNORECASE,
)
_ALONE = re.compile(r"\W?\s+(?:was|is|did|does|has|had)\b", re.IGNORECASE)
_END = re.compile(
    r"(?<!\bcf)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\betc)(?<!^\d)(?<!\n\d)(?<!\n\d\d)[.!]+[\"'”’)\]]*(?=\s|$)"
    r"|[?][\"')\]]*\s+(?!(?i:yes|no|nope|not|sure|indeed|it (?:does|is)|absolutely|hardly"
    r"|probably)\b)|;\s|\\n"
    r"|\n\s*(?:\n|(?=[-*+>#|]|\d+[.)]\s|\[))|(?<=[:.!?|])\s*\n"
)
# A mention taken up again: `I read x and ignored it`, `X says wait. I shipped anyway.`
_IT = re.compile(
    r"\b(?:it|them|this|that|the (?:warning|advice|lesson|rule|guidance|skill|pattern))"
    r"(?= ?(?:[,.;!)]|$)| (?:and|but|anyway|because|since|as|to|for|on|in|instead|too|does|did|is"
    r"|was|has|had|raised|threw|failed)\b)"
)
_TURN = re.compile(
    _expand(r"(?<!me to )(?<!us to )\b(((<not>) (<gap>){0,2})?(<use>)|<defy>|<decline>) X")
)
_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"\s*(?:#+\s*(.+?)|[*_]*([^:\n]{3,80}:|\w[\w ,'-]{2,40}(?=\n))[*_]*)\s*$")


def read_mentions(text: str, mentions: Sequence[Mention]) -> Iterator[tuple[Mention, Reading]]:
    """Read each mention of a text, in order; one that is taken up again is read twice."""
    place, heading, words = 0, "", ""
    group: Sequence[Mention] = ()
    reading: Reading = "open"
    ends = [0, *(match.end() for match in _END.finditer(text)), len(text)] if mentions else []
    for start, end in pairwise(ends):
        first = place
        while place < len(mentions) and mentions[place].start < end:
            place += 1
        if first == place:
            if text[start:end].strip():
                is_item = _BULLET.match(text, start)
                heading = heading if is_item else _heading_of(text[start:end])
                if group and not heading and (again := _turn(reading, words, text[start:end])):
                    yield from ((mention, again) for mention in group)
                group = ()
            continue
        groups = _join(text, mentions[first:place])
        for number, group in enumerate(groups):
            words = _plain_around(text, (start, end), groups, number)
            is_one_more = first > 0 and text[:start].rstrip().endswith(";")
            if not (is_one_more and words.strip(" .") == X):  # `shown: x; y`
                reading = _look_up(words)
                if heading and _BULLET.match(text, start) and reading in ("named", "open"):
                    reading = _look_up(f"{heading}: {words.lstrip('-+ ')}")
                if reading == "due":
                    reading = "named" if text[end:].strip() else "open"
            yield from ((mention, reading) for mention in group)


def _turn(reading: Reading, words: str, sentence: str) -> Reading | None:
    """Return the reading by which a sentence takes back the mention in the words before it."""
    sentence = _IT.sub(X, _simplify(sentence))
    if reading == "applied" and X not in sentence:
        return None
    again = _look_up(f"{words} {sentence}")
    return again if again in ("overruled", "declined") else None


def _heading_of(sentence: str) -> str:
    match = _HEADING.match(sentence)
    return _simplify(match[1] or match[2]).rstrip(":") if match else ""


def _join(text: str, mentions: Sequence[Mention]) -> list[list[Mention]]:
    """Put the mentions of a sentence together that are listed as one."""
    groups = [[mentions[0]]]
    for previous, mention in pairwise(mentions):
        between = text[previous.end : mention.start]
        is_alone = "," in between and len(groups[-1]) == 1 and _ALONE.match(text, mention.end)
        if _LIST.fullmatch(between) and not (is_alone and not re.search(r"[a-z&+/]", between)):
            groups[-1].append(mention)
        else:
            groups.append([mention])
    return groups


def _plain_around(
    text: str, place: tuple[int, int], groups: Sequence[Sequence[Mention]], target: int
) -> str:
    """Return a sentence in plain form: the group of this number as `X`, others as `Y`."""
    parts, at = [], max(place[0], groups[target][0].start - NEAR)
    for number, group in enumerate(groups):
        if group[0].start >= at:
            parts += [text[at : group[0].start], X if number == target else Y]
            at = group[-1].end
    return _simplify("".join(parts) + text[at : min(place[1], groups[target][-1].end + NEAR)])


def _simplify(sentence: str) -> str:
    """Return a sentence in lower case, without short forms, quotes, and words that say nothing."""
    sentence = sentence.lower()
    for pattern, by in _REWRITES:
        sentence = pattern.sub(by, sentence)
    return sentence.strip()


def _look_up(sentence: str) -> Reading:
    """Return the reading of the first cue that a plain sentence holds, or takes up again."""
    reading = _first_cue(sentence)
    head, _, tail = sentence.partition(X)
    turn = _TURN.search(tail := _IT.sub(X, tail))
    if turn and Y not in tail[: turn.start()] and not (reading == "declined" and Y in head):
        return _first_cue(turn[0])
    return reading


def _first_cue(sentence: str) -> Reading:
    return next((reading for reading, cue in _CUES if cue.search(sentence)), "open")
