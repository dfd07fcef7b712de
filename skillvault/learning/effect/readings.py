"""Read how a text mentions skills: applied, overruled, declined, or left open.

How, not who: that is `mentions`. Tables of patterns read the plain form of each sentence; the
first that is there decides. Their order is: what two negations come to, what was acted against,
what was turned down, what never came to be, what is only listed, what speaks for use.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from skillvault.learning.effect.mentions import Mention
from skillvault.learning.effect.quantities import differ, quantities_in
from skillvault.learning.effect.sentences import X, Y, in_plain, joined, plain, sentences

# `named` is a mention as of what is used, which a later sentence may still take back; `open` one
# that says nothing of use.
Reading = Literal["applied", "named", "overruled", "declined", "open"]


def _alternatives(text: str) -> str:
    return "(?:" + "|".join(line.strip() for line in text.strip().splitlines()) + ")"


# In the tables <word> stands for one of these, X for the mention, Y for another one.
_WORDS = {
    "done": """
        appl(ied|ying)|us(ed|ing)|follow(ed|ing)|re(lied|lying) (up)?on|load(ed|ing)
        consult(ed|ing)|invok(ed|ing)|heed(ed|ing)|obey(ed|ing)|respect(ed|ing)|honou?r(ed|ing)
        adopt(ed|ing)|employ(ed|ing)|leverag(ed|ing)|utili[sz](ed|ing)|implement(ed|ing)
        r[au]n(ning)?( through)?|opened|pick(ed|ing)|chose|choosing|select(ed|ing)|took
        trust(ed|ing)|compl(ied|ying) with|adher(ed|ing) to|st(uck|icking) (to|with|by)
        abid(ed|ing) by|went (with|by)|going (with|by)|act(ed|ing) (up)?on|lean(ed|t|ing) on
        listen(ed|ing) to|switch(ed|ing) to|combin(ed|ing)|cit(ed|ing)|drew on|drawing on
        point(ed|ing) to|(went|going|work(ed|ing)|walk(ed|ing)|step(ped|ping)) through
        (kept|keeping) to|stay(ed|ing) (with|within)|mirror(ed|ing)
        (went|going|came|fell) back to|return(ed|ing) to""",
    "do": """
        apply|use|follow|rely (up)?on|load|consult|invoke|need|require|heed|obey|respect|honou?r
        adopt|employ|leverage|utili[sz]e|implement|run|open|read|pick|choose|select|take|trust
        comply with|adhere to|stick (to|with)|abide by|go (with|by)|act (up)?on|lean on
        listen to|look at|switch to|try|check|bother with|fall back (to|on)|turn to|refer to
        make use of|have|find|get|see|want|like|care about|think of|know( of)?|touch|recall""",
    "does": """
        applies|uses|follows|respects|heeds|obeys|honou?rs|implements|relies (up)?on|sticks to
        adheres to|complies with|mirrors""",
    "any": "<done>|<do>|<does>|opening|reading|trying|needing",
    "obey": """
        follow(ing|ed)?|heed(ing|ed)?|obey(ing|ed)?|listen(ing|ed)? to|respect(ing|ed)?
        compl(y|ying|ied) with|adher(e|ing|ed) to|st(ick|uck|icking) (to|with)
        abid(e|ing|ed) by|honou?r(ing|ed)?|do(ing)?|did""",
    "defy": """
        ignor(e|es|ed|ing)|overr(ide|ides|ode|idden|iding)|overrul(e|es|ed|ing)
        disregard(s|ed|ing)?|violat(e|es|ed|ing)|def(y|ies|ied|ying)|disobey(s|ed|ing)?
        bypass(es|ed|ing)?|flout(s|ed|ing)?|br(eak|eaks|oke|oken|eaking)( with)?|breach(ed|ing)?
        contraven(e|es|ed|ing)|contradict(s|ed|ing)?|exceed(s|ed|ing)?|deviat(e|ed|ing) from
        depart(ed|ing)? from|disagreed? with
        (go|goes|going|went|gone|act|acts|acted|acting|trade|traded|trading|move|moved) against
        r[au]n counter to|(went|go|goes|going|gone) (past|beyond|around|over)""",
    "decline": """
        skip(s|ped|ping)?( reading)?|reject(s|ed|ing)?|declin(e|es|ed|ing)|refus(e|es|ed|ing)
        dismiss(ed|ing)?|discard(s|ed|ing)?|dr(op|ops|opped|opping)|abandon(ed|ing)?
        avoid(s|ed|ing)?|omit(s|ted|ting)?|neglect(ed|ing)?|forg[eo]t(ten|ting)?( about)?
        pass(es|ed|ing)? on|left out|leaving out|ruled out|ruling out|gave up on|overlook(ed)?
        opt(s|ed|ing)? out of
        stopped (using|following|applying)|replac(e|es|ed|ing)|consider(s|ed|ing)?
        ditch(ed|ing)?|miss(ed)?|remov(ed|ing)|contemplat(ed|ing)|toyed with|debated|weighed
        thought about|disabled?|excluded?|excluding|unused|not (used|applied|followed|needed)""",
    "say": """
        sa(ys?|id)|warn(s|ed)?( of| about| against)?|advis(es|ed)|suggest(s|ed)?
        recommend(s|ed)?|tells?|told|asks?( for)?|asked( for)?|wants?|wanted|demand(s|ed)?
        requires?|required|state(s|d)?|argue(s|d)?|urge(s|d)?|prescribe(s|d)?|mandate(s|d)?
        counsel(s|led)?|flag(s|ged)?|forb(ids|ade)|prohibit(s|ed)?|call(s|ed)? for
        point(s|ed) to|disagree(s|d)?
        would have (had|made|kept|told|stopped|sent) (me|us)""",
    "anyway": """
        anyways?|nonetheless|nevertheless|regardless|all the same|just the same|instead|even so
        (in spite of|despite|against) (it|that)|knowingly""",
    "differ": r"(\w+ly )?disagree[sd]?|beg to differ|thought otherwise|knew better",
    "modal": "would|could|should|might|may|must|ought to|shall",
    # What a plain statement of what was done does not hold.
    "doubt": r"""
        not|nor|never|neither|none|nothing|nobody|hardly|without|but|yet|however|although|though
        except|unlike|instead|rather|if|unless|whether|when|once|until|should|would|could|might|may
        will|shall|ought|going to|maybe|perhaps|tomorrow|next|later|future|too|hoped?
        lack\w*|miss\w*|fail\w*|crash\w*|error\w*|timed out|ran out|unable|reject\w*|dr[oe]p\w*
        aware|known?|knew|saw|seen|see|notic\w*|look\w*|judg\w*|evaluat\w*|consider\w*|thought|think
        suggest\w*|recommend\w*|return\w*|gave|give[sn]?|offer\w*|show\w*|list\w*|prompt|readme|ticket
        overlook\w*|available|target\w*|wav(es|ed|ing)|brush\w*|user|system|docs?|plan\w*|want\w*|asked|describ\w*|mention\w*|contrast|different|other|another
        contradict\w*|aside|risk|replac\w*|add\w*|updat\w*|edit\w*|writ\w*|wrote|creat\w*|renam\w*
        delet\w*|remov\w*|read|heard|wonder\w*|like|prefer\w*|against""",
    # What a pattern may pass over: no comma, and no word that begins a reason.
    "gap": r"(?!(because|since|per|due|so|given|following|as|but|thanks)\b)[\w'-]+\s",
    "be": "is|was|were|are|be|been|got|has been|had been|have been|will be",
}

_TABLES: tuple[tuple[Reading, str], ...] = (
    # What it says was done, or what was done was held against it.
    ("applied", r"(^|, |and )(?<!not )(?<!never )(did|doing)( just| exactly)? X"),
    (
        "applied",
        r"""
        \b(?<!not )(?<!never )(check|compar|measur|verif|test|hold|held|validat)\w* (<gap>){0,5}
          against X""",
    ),
    # Known, and not believed.
    (
        "overruled",
        r"""
        \b(warned|told|advised|cautioned|reminded) by X.*\b(but|yet|however)\b
        X.*\b(i|we) (<differ>)\b
        (^|[.,;:] |\b(and|but) )X,? (i|we) ((have|had|then|still) )?(<defy>)\b""",
    ),
    # Two negations are none; so is what did not happen for the skill's sake.
    (
        "applied",
        r"""
        \bnot (only|just|merely|solely)( <any>)? X
        \bnot (only|just|merely|solely) (<gap>){1,4}but X
        \bnot (only|just|merely|solely)( <any>)? Y(,| but)( also)? X
        \b(nothing (else )?but|no \w*( \w+)? ?(other )?than) X
        \b(no|not|never|nor|without|refus\w+ to|rather than|instead of|avoid\w*|resist\w*|afraid to
          |reluctant to|unwilling to|tempt\w+ to|urge to|no reason to|careful not to|nobody|no one
          |(wrong|reckless|foolish|unwise|careless|stupid|risky|mistake) to)( (to|did|do|we|i|be
          |been|going|want\w*|dare|wish\w*|mean\w*|try\w*|the|any|should|would|can|must))*( urge to
          | temptation to)? (<defy>|skip\w*|forg[eo]t\w*|neglect\w*|dismiss\w*) X
        \b(if|had) (i|we) (had )?not (<any>) X
        \bwithout X,? .*\b(would|could|might)\b
        \b(would|could|might) (not )?(have )?(<gap>){0,7}without X
        \b(not been|were it not|was it not|were not|was not|if not|but) for X""",
    ),
    (
        "applied",
        r"\b(reckless|foolish|unwise|careless|stupid|risky|wrong) not to (<obey>|use|apply) X",
    ),
    ("applied", r"\bwould (<do>) X again\b(?! if)"),
    ("overruled", r"\bshould (not|never) have (<defy>) X"),
    ("overruled", r"\bwhich X (warn|advise[sd]? against|forb|prohibit)"),
    ("overruled", r"\bwould (<defy>) X.*\b(but i|but we|anyway|nonetheless|regardless)\b"),
    ("applied", r"\b(would|will|might) (be )?(a )?(<defy>|violation of|breach of) X"),
    # Acted against, knowingly.
    (
        "overruled",
        r"""
        \b(despite|in spite of|in defiance of|in violation of|in breach of|contrary to
          |(the )?opposite of|in contradiction (to|of|with)|in conflict with|at odds with)(
           (having )?(read|reading|seen|seeing|knowing|<done>))? X
        \beven (after|with|though i|though we)( (having|had|i|we))*( <any>| seen| seeing)?
           X(?! in mind)""",
    ),
    ("open", r"\b(despite|in spite of) (<gap>){1,4}X, "),
    (
        "overruled",
        r"""
        X,? (notwithstanding|be damned|or not)\b
        \bnotwithstanding X
        \b(even though|although|though) X applies, (i|we)\b
        \b(accept|tak|took|run|bear)\w* (the|this|that) (risk|danger|chance)( that| which| of)? X
        \b(regardless|in disregard) of X""",
    ),
    (
        "declined",
        r"""
        \b(decided|chose|opted|choosing|deciding|opting|argued|voted) against( using| applying
          | following| loading)? X""",
    ),
    (
        "overruled",
        r"""
        (?<!advise )(?<!advised )(?<!advises )\bagainst X
        \b(wav|brush|push|cast|put|set|la)\w* X aside\b
        \b(wav|brush|push|cast|put|set)\w* aside X
        \b(even though|although|though|while|whereas|knowing|i know|we know|i knew|we knew|aware)(
           (that|of|full well|well|was|had|has|were))* X (<say>)
        \b(even though|although|though) X (?!(is|was|does|has|applies|covers|concerns
          |lacks|remains|refers|deals|addresses|exists|seems|looks|fails|appears)\b)\w+s\b
        \bunlike X,? (i|we)\b
        \b(even though|although|though) (i|we) (<gap>){0,2}(know|knew|read|seen|saw|aware of) X
        \b(know|knew|aware of|saw|read|seen|remembered|noticed|had) X,? (and|but|yet)( still|
           (<gap>){0,4}(<anyway>))
        X( <say>)? .*\b(but|yet|however|still),? (i|we)\b.*\b(<anyway>)
        X .*\b(but|yet|however),? (i|we) still (?!followed|complied|obeyed|waited|stayed)
        \b(saw|read|knew|noticed|seen|acknowledged?|admit|heard) X,? .*\b(<anyway>|(however|but),?
           (i|we) (proceeded|went|still|did it))
        \b(know|knew|aware of|knowing)( of)? X.*\b(but|yet|and still|still)\b
        X (has |had |have )?(<say>)\b.*\b(but|yet|however|whereas|still)\b,? ?(i|we|my|our|the|it
          |this|fees|in this)\b(?!.*\b(followed|complied|obeyed|agreed|listened|stayed out
          |waited for it)\b)
        X (has |had |have )?(<say>)\b.*\b(<anyway>)\s*\.?$
        X (has |had |have )?(<say>)\b.*\b(i|we) (did|do|have|would) not\s*\.?$
        X (has |had |have )?(<say>)\b.*, which (i|we) (did|do|have|would) not\b
        X (has |had |have )?(<say>)?.*\b(i|we) (did|do|would) not (listen|heed|comply|obey|care)\b
        X (<be>) (\w+ly )?(ignored|overr\w+|disregarded|violated|bypassed|defied|broken|flouted
          |breached|disobeyed)
        X (ignored|overruled|overridden|disregarded|violated|bypassed|defied|flouted)\b
        X ?[:(–—-]+ ?(overrul|overrid|violated|disregarded|bypassed|acted against)
        \b(not|never|without|rather than|instead of|refus\w+ to|chose not to|decided not to
          |opted not to|nor)( (to|be|been|going|have|having|did|i|we))* (<obey>) X
        \b(?<!was )(?<!were )(?<!been )(<defy>):? X""",
    ),
    # In view of it, something was done.
    ("applied", r"^(given|considering|minding|knowing) X,? (i|we|no)\b(?!.*\b(<anyway>|still)\b)"),
    # Asked, and answered at once.
    ("applied", r"^[^?]*X[^?]*\?\s*(yes|sure|indeed|it (does|is)|absolutely)\b"),
    ("declined", r"^[^?]*X[^?]*\?\s*(no|nope|not|hardly)\b"),
    # Its mark, as in a list.
    (
        "declined",
        r"""
        \b(neither|none|nothing) .{0,60}X(?! did\b)
        (\[ \]|~~|✗|✘|❌|\bnot|\bno|\bn/a):? X
        X( \([^)]*\))? ?([:=(|\[,–—→-]|->|=>)* ?(~~|✗|✘|❌|n\.?/?a\b|none\b|ignored\b|irrelevant
          |inapplicable|unused|off-topic|rejected|dismissed|declined|moot|considered\b|false\b
          |does not|did not|unnecessary|not (?!only|just|to |fully|entirely|all\b|completely
          |without )\w+|skip(ped)? ?($|[,.;()]|since|because|as\b|for\b))
        X( \([^)]*\))? ?([:=(|\[,–—→-]|->|=>)* ?no\b(?= ?($|[,.;()|]|relevan|match|effect|bearing
          |impact|use\b|need|hit|fit|longer|conn|since|because|as\b|this|it\b))""",
    ),
    (
        "applied",
        r"""
        (\[x\]|✓|✔|✅|☑) X
        X ?([:=(|–—→-]|->|=>)* ?(✓|✔|✅|☑)
        X yes ?($|[,.;])
        X ?([:=(|–—→-]|->|=>)* ?\((used|applied|followed|heeded)\b
        X ?([:=(|–—→-]|->|=>)+ ?(yes\b|used\b|applied\b|followed\b|true\b|done\b|heeded\b
          |respected\b|obeyed\b)""",
    ),
    # Not there, or it did not work.
    (
        "open",
        r"""
        X (<be>)( not| no longer)? (unavailable|missing|available|installed|found|there|loaded yet
          |retired|archived|gone|deleted|shown|given|offered|listed|recommended|suggested|retrieved
          |provided|served|handed|in the (list|prompt|pack|context)|among|on the list|on offer)\b
        X (by mistake|accidentally|by accident|(only )?(too late|after the fact))\b
        X (could|can) not be (found|loaded|opened|read)
        X\)? (<be>) (impossible|infeasible|out of reach|off the table|not possible)\b
        X ?[:(–—-]+ ?((could|can) not|unable|impossible|no time|ran out)\b""",
    ),
    (
        "declined",
        r"""
        X (failed|crashed|errored|timed out|hung|threw|raised|did not (load|work|exist|open)
          |would not load)
        \b(start\w*|began|tried) to <do> X,? (but|then|and) .*\b(gave up|stopped|abandoned|aborted
          |ran out)
        \b(tried|trying|attempted|attempting|try)( to <do>| <done>| opening)? X
          (?!.*\bworked\b).*\b(but|error
          |fail\w*|fell back|gave up|no luck|without success|timed out|crash\w*|hung|refused|denied
          |unreachable|not found|no (answer|response|such)
          |no success|in vain|to no avail)\b""",
    ),
    # Turned down.
    (
        "declined",
        r"""
        \b(not|never|nor|hardly|without|unable to|no longer|did nothing with|no one|nobody
          |rather than|instead of|fail(ed|ing|ure)? to|inability to|forg[eo]t\w* to|refus\w+ to
          |declin\w+ to|omit\w* to|neglect\w* to|avoid\w*|stopped|skip\w*|too \w+ to|no (need
          |reason|point|use|time|cause|occasion)( to| for| in| of)?|little (need|use|reason)( to
          | for| of)?)( (to|be|been|going|have|having|want\w*|wish\w*|any|even|much|ever|for|by|i
          |we|bother\w*|<any>|say|claim|think|believe|feel|deem|consider|opening|loading|looking at
          |calling))*( (that|to|for|on|with|at|it|of|in))*:? X
        (?<!and )(?<!say )\b(neither|none|nothing|no|not|nor|unlike|instead of|rather than
          |other than|different(ly)? (from|than)|distinct from|except
          |except for|in place of|in lieu of|as opposed to|over|minus)( (of|in
          |from|that|like|about|for))*( the)?( (skills?|lessons?|warnings?)( \w+)?)?:? ?\(?X
        \b(no|little) (use|mention|application|account|notice|heed) (<be>)? ?(made|taken|paid)?(
           (of|to))? X
        \bnot (<gap>){0,3}(any|either) of .{0,40}X
        \b(not|never) (\w+ly )?\w+( (up|on|in|into|to|for|with|at|of|from))? X
        \b(read|saw|seen|opened|checked|reviewed|looked (at|into|through)) X,? (but|yet|however)\b
          (?!.*\b(used|applied|followed|kept) (only|its|the first|one|two|part)\b)
        \b(<decline>)( <any>)?:? X
        \b(left|ruled|leaving) X (out|aside|alone|unused|unread)
        \b(left|leaving|kept|saved|saving|postponed|deferred) X (for|to|until|till)
           (?!(this|the rest|step|each)\b)
        (^|[.,;:] |\b(and|but) )X (i|we) (did|do|could|can|would|have|had) not( <any>| need)?
          ( \w+ly)?\s*($|[.,;!])
        (^|[.,;:] |\b(and|but) )X,? (i|we) ((have|had|then|only|still) )?(<decline>|left|set aside
          |put aside)\b
        X,? (and )?((i|we) )?(concluded|decided|judged|found|felt|thought|figured|saw|reali[sz]ed
          |established)( that)? (it|this|they|none)( of (it|them|that))? (<be>|has|had|have|does|did
          |do|bears|bore|fits|applies) ?(no|not|nothing|none|neither|irrelevant|inapplicable
          |unrelated|outdated|unnecessary|overkill|little|about|only)\b
        X .*\bnot (the|a|any) skill\b
        X,? (which |that |it )?((<be>|has|have|had|did|does|do|can|could|will|would|seem\w*|look\w*
          |feels?|felt|turned out( to be)?|appear\w*|proved|remain\w*|went|became
          |to be) )+(\w+ly )?(too |so |a bit |of |a )?(not\b(?! (allow|permit|let\b|like|want
          |recommend|advise|support|optional|negotiable|to be (ignored|missed|taken)|lie|disappoint
          |only|violated|ignored|overr|broken|wrong))|never|no\b|irrelevant|inapplicable|unrelated
          |outdated|stale|unused|unnecessary|needless|superfluous|redundant|overkill|moot|off-topic
          |off topic|out of (scope|place|date)|left|rejected|skipped|dismissed|declined|dropped
          |discarded|considered|set aside|put aside|abandoned|omitted|replaced|refused|generic
          |neither|useless|pointless|unhelpful|silent|wrong|(about|for) (an? |the )?(different
          |another|other|something))
        X (is|was|are|were) (only )?(meant |intended |made |written )?for (?!this|exactly|such
          |precisely)
        X (never|no longer|hardly|barely|only (applies|covers|matters|concerns|holds|works)|(has
          |had|have|plays|played|made|makes|bears) (no|nothing)\b|(says|said|gives|gave) nothing
          |(covers|applies to|holds for|concerns|speaks of|talks about|is for) (\w+ ){1,5}(only
          |alone)
          |covers (an? )?(other|another|different)|concerns?|refers? to|(is|was) about|addresses
          |deals with|applies (only|to other|to a different|to another|elsewhere)|lacks|remained)\b
        X .*\b(nothing to do with|none (fit|appl|was|were|of (them|which))\w*|neither (was|were|of
          |fit|appl)\w*|needed neither|used none|used neither|(all|both|which (is|are)) (off-topic
          |irrelevant|not relevant))
        \b(nothing|little) .{0,40}\b(triggers?|relates? to|calls? for|matche[sd]|touches|concerns?)
           X
        \b(none|nothing|neither|no skills?)\b[^.]{0,30}[:;(] ?X""",
    ),
    # Would have been.
    (
        "declined",
        r"""
        \b(had|have) (i|we) (<gap>){0,3}X
        \bhad X been\b
        \b(would|could|should|might) have (<gap>){0,6}X
        X (would|could|should|might|may)( \w+)? (have|be|help|apply|fit|matter)
        (^|[,;:] |\b(but|and) )with X,? .*\b(would|could|might) (not )?have\b
        \b(wish|if only)\b.*X""",
    ),
    # Perhaps, or another time.
    (
        "open",
        r"""
        \b(if|unless|whether|in case|were (i|we|it|this)) [^,]{0,60}X
        \b(if|when|once|unless|should)\b[^,]*, (<do>) X
        \b(will|shall|going to)\b.*X.*\b((in|on|with|during) the next \w+|later|afterwards)\b
        \b(if|unless|once|as soon as|when)\b.*\b(will|would|can|could|may|might)\b.*X
        X.*\b(will|would|may|might)\b.*\b(if|unless|later|next time)\b
        \b(next|coming|upcoming|future|subsequent) (time|run|release|attempt|week|month|session
          |iteration|round|day|job|task|quarter|trade|entry|ticket)s?\b.*X
        X.*\b(next time|in (the )?future|tomorrow|going forward|from now on|next week|later on
          |on the next (run|attempt|try|job|release)|(for|before) the next (run|job|release|time
          |attempt|trade|entry|session|round|one|batch|iteration|migration|deploy\w*)|last (week
          |month|time|year|run|session)|yesterday|(should|must) be (extended|updated|revised
          |applied|used|followed))
        \b(in (the )?future|tomorrow|going forward|from now on|later|to ?do|to-do|action( items?)?
          |follow-?ups?|lessons? learned|takeaways?|remember|(in|with) (hindsight|retrospect)
          |not yet|reminder|note to self|planned|someday|eventually|improvement
          |recommendation for)\b(?!.*\bdone: X).*X
        \b(plan|plans|planning|plan is|intend|intends|going|hope|hoping|about|need|ought|likely
          |tempted|ready) to (<gap>){0,3}X(?=.*\b(but|no time|ran out|then the|tomorrow|later|next
          |did not|however|once|as soon as|after|when|before|until|if)\b| ?[.!]?$)
        \b(future|recommendation:|recommendation is|advice:|advice is|suggestion:
          |proposal:)(?!.*\b(applied|followed|used) X).*X
        \b(remaining|pending|next|outstanding|open|missing|e\.g\.?)( \w+)?: .*X
        \b((i|we|plan|idea|aim|intention) (was|were)|planned|supposed|expected) (going |about
          |supposed )?to (<gap>){0,3}X""",
    ),
    ("declined", r"\b(almost|nearly|intended to|meant to|wanted to|hoped to) (<gap>){0,3}X"),
    (
        "open",
        r"""
        \b(<modal>) (not )?(<gap>){0,5}X
        X (could|should|might|may|must|can|ought)\b(?! (not )?be ignored)
        X needs? (to be|an? (update|revision|edit)|updating|work)
        \b(maybe|perhaps|possibly|not sure|unsure|unclear|wonder\w*|doubt\w*|questionable)\b.*X
        X.*\b(is|was|remains) (unclear|unknown|open|doubtful|uncertain|questionable)
        X[^?.!]*\? ?$""",
    ),
    # Somebody else, another day.
    (
        "open",
        r"""
        \b(ask|told|want|instruct|request|remind|encourag)\w* (me|us|you) to <do>
           X(?!.*\b(so|and|but) (i|we)\b)
        \b((another|other|previous|prior|earlier|last|past|yesterday) (<gap>){1,3}|(colleagues?
          |someone|somebody|baseline|they|he|she|who|predecessor|friend|user|customer|reviewer
          |operator|ops|admin|manager|team|developers?|engineers?|authors?|people|others|anyone
          |everyone) )(?!.*\b(so|and|but) (i|we)\b)((before|after|above) (me|us) |else )?((has|had
          |have|\w+ly) )?(<any>|suggested|mentioned|proposed|asked|sw(ore|ears) by|insist\w* on
          |prais\w+|prefer\w*|lik\w+)(?<!ing) (<gap>){0,2}X
        ^(the )?(\w+ )?(agents?|runs?|models?|sessions?|assistants?|bots?|one) (before|prior to
          |ahead of|above|after) (me|us|mine|ours|this|that)( one| run)?,? ((has|had|have|\w+ly)
           )?(<any>) X
        \bexample\b.*X
        \b(yesterday|last (week|month|time|year|session|run)|previously|in the past
          |back then)\b[^.]*X""",
    ),
    # A verb that holds for the second, too: `used y to write and x to export`.
    ("named", r"\b(<done>) Y [^,:;]*,? and (then )?X (to|for|in|on|when|while)\b"),
    (
        "named",
        r"\b(took|taking|drew|borrow\w+|copied|lifted) (<gap>){1,4}(from|out of) X(?! and Y)",
    ),
    # Listed, or a quote of the prompt.
    (
        "open",
        r"""
        ^>
        \b(prompt|context|instruction|list|task|receipt|pack|response|readme|fixture|message|index
          |catalog\w*|header|tool( output)?)s? (\w+ ){0,3}(list\w*|contain\w*|mention\w*|includ\w*
          |show\w*|nam\w*|sa(id|ys?)|reads?|offer\w*|had|has|gave|give|suggest\w*|recommend\w*|told|tells
          |present(s|ed)|proposed?)\b.*X
        \b(was|were|got|been|am|are) (shown|given|offered|served|recommended|handed|told|presented
          |provided)( (with|about|to|of|the))* .{0,30}X
        \b(available|shown|offered|recommended|suggested|retrieved|listed|candidates?|served
          |provided|given|relevant|possible|received)( (\w+ ){0,2}(were|was|are|is)
          |( \w+){0,3}:) ?\(?X
        \b(retrieved|received|was handed) X
        \b(have|has|had|having|with) access to .{0,30}X
        \b(according to the (system )?prompt|you (may|must|should|can|have)|please)\b.*X
        \b(of|among|from|between|out of|besides|beside|apart from|aside from)( \w+){0,2} X(?=.*Y)
        \b(among|amongst) (them|these|those|which|others),?:? ([^.]*\band )?X
        \b(vault|shelf|catalog\w*|inventory|registry|archive) (has|holds|lists?|contains|offers
          |keeps|had|held|listed|contained|offered)\b.*X
        \b(table of contents|contents|inventory|catalogue|catalog|index|glossary|all skills): .*X
        \b(there is|there are|exists?|existence of|contains?|containing|mentions|next to|write
          |wrote|update|updat\w+|edit\w*|rename\w*|extend\w*|add|adding|string|search\w*( for)?
          |look\w* for|find|called|asked whether|heard of|text) (<gap>){0,4}X
        X (exists?|is a (skill|lesson)|came up|appears|showed up)
        X ?[(:–—-]? ?(relevance|\d+ ?%|🆕|📊|proven \(|testing \(|new\b)
        \b(skills?|lessons?|suggestions?|candidates?|recommendations?|shown|recommended|listed
          |retrieved|suggested|options?|warnings?) \(X""",
    ),
    # Plainly in its favour.
    (
        "applied",
        r"""
        \b(<done>)( (to|the|both|only|all|two|three|some|as|with|in)){0,3} X
        \b(<done>): X
        \b(<done>) (<gap>){0,4}(skills?|lessons?|rules?):? ?\(?X
        \b(per|via|by|thanks to|because of|due to|owing to|given|according to|in line with
          |in accordance with|in keeping with|on account of|consistent with|in compliance with
          |based on|mindful of|in (view|light|deference) (of|to)
          |courtesy of|kudos to|cf\.?|citing|on the basis of|on the strength of|as) X
        \bwith X in mind
        \bit (is|was) X (that|which|who) (?!broke|failed|caused|misled|cost|hurt|stopped working)
        \b(approach|method|procedure|recipe|order|plan|idea) (is|was|comes from|came from) X
        X .*\b(is|was) the (key|decisive|crucial|main) (step|point|part|insight|thing)\b
        \b(out of|from|through) X
        X (turned up|uncovered|surfaced|exposed|revealed|spotted)\b
        X (in action|at work|in practice)\b
        \breading X (first )?(saved|helped|paid off|showed|told|made)\b
        \b(each|every) (step|box|item|line|point|rule) of X (<be>) (ticked|done|met|followed)
        \blet(ting)? X (decide|guide|drive|lead|set|choose|pick)\b
        X (has |have |had )?(kicked in|helped|made me|led me|led to|saved|triggered|guided
          |decide[sd]|paid off|worked|fits|fit|applies|applied|did apply|used\b|followed\b|heeded
          |respected|obeyed|did\b|settled|tipped|matche[sd]|holds|came (in handy|into play
          |to the rescue|through)|to the rescue|ftw\b|did the job|(\w+ed|gave|kept|caught|took|sent
          |got|brought|drew|drove|had|set) (?<!warned )(?<!advised )(?<!asked )(me|us|my|our)\b
          |(gave|provided|had|delivered|supplied|contained) (the|a|me) (plan|recipe|answer|idea
          |steps))
        X (<be>) (the |my |our )?(guide|reference|template|blueprint)\b
        X( (<be>))? (\w+ly |the )?(why|reason|decisive|key|useful|helpful|lesson that|basis
          |relevant|right|spot on|on point|to the point
          |apt|pertinent|crucial|instrumental|what (made|kept|saved|stopped|told)|it was\b
          |enough)
        X\)? (<be>) (now |both |all |each )*(\w+ly )?(applied|used|followed|heeded|respected|obeyed
          |loaded|invoked|consulted|decisive|observed|honou?red|adopted|(worked|gone|run|walked)
           through|carried out|ticked off|met)
        X (<say>)\b.*\b(so|hence|therefore|thus|and (so )?(i|we)) ?(i|we|no|it)?\b
        \b(factor|reason|basis|lesson|rule|source|motive|argument|ground|cause|credit)s? ((for
          |behind) \w+ |here )?(was|is|goes to|belongs to) X
        \b(took|taking|put|putting) X (into account|seriously|to heart|on board|to use
          |to work|into practice|into action)
        \b(driven|guided|informed|prompted|inspired|motivated|capped|limited|set|demanded|required
          |suggested|advised|prescribed|recommended) by X""",
    ),
    # A mention as of what is used.
    (
        "named",
        r"""
        ^\W*X\W*$
        ^[^\w(]*X ?(\([^)]*\) ?)?([:,;=–—→]|->|=>|-\s)
        ([:=→–—]|->|=>) ?X\W*$
        \(([\w.]+:? ){0,3}X[^)]*\)
        ([=→]|->|=>) ?X
        \b(reason|rationale|why|sources?|basis|because|see|refs?|references?|skills?|applied
          |appliedskills|rules?|lessons?|warnings?|patterns?|guides?|used|by|via
          |following)\s?[:=] ?X
        \b(<do>|<does>) (to |the |both )?X
        \b(with|see|from|because|as in|as|like|which is|not only .{1,40}but) X
        \b(help|aid|support|all|most|much|(made|making) use) of X
        \b(i|we) did X
        (^|(, |;|and |then )(then )?)X for (?!(another|other|different|a different)\b)\w+
        X is what (i|we) (did|used|applied|followed|needed|went (with|by))
        \b(after|upon|on|having|by) (reading|consulting|checking|seeing|loading|opening|read) X,?
           (i|we)\b
        \b(preferred|prefer|started (with|from)|began with) X
        X (is|was) (clear|explicit|adamant|unambiguous|unequivocal)\b
        X (\w+s) (it|this|that|these|them|me|us) (out|off|down|back|in|through|up)\b
        X (?!miss|fail|concern|address|cover|assum|target|predat|lack|mention|list|refer|return
          |expir|contain|describ|arriv|recommend|suggest)(\w+ed|kept|made|gave|took|led|cut|caught)
           (an?|the|this|that|it|our|my|us|me)\b
        \b(match(es|ed)?|falls? under|covered by|comes? (straight )?from|described (in|by)) X
        \b(situation|case|thing|mistake|trap|problem|setup|kind of \w+) X (describes|warns|is about)
        X (<say>|shows?|teaches|taught|describes|covers)\b
        X (?!and |or |but )(\w+ ){1,3}(?<!and )(caught|found|spotted|saved|flagged|revealed
          |uncovered)\b
        \b(steps?|parts?|points?|rules?|items?|sections?) [\d, -]+(to \d+ |and \d+ )?(of|in|from) X
        X (is|was|describes|fits) (exactly|precisely|just) (this|the|our|my) \w+
        , X ?[.!]?$
        \b(that|this|which) (is|was) X ?[.!]?$
        \b(that|this|which) (is|was) X (?!(and|but|or|not|which|that)\b)([\w.,]+ ){0,4}(target
          |threshold|limit|number|figure|value|size|procedure|order|step|sizing|work|doing)\b
        skills?/([\w.-]+/)*X
        X ?/
        X (it is|first|here|again)\b
        ^(?!.*\b(<doubt>)\b)[^?]*X[^?]*$""",
    ),
)


# What is escaped, a set of characters, or a group that opens.
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]])*\]|\((?!\?)")


def _expanded(pattern: str) -> str:
    """A pattern of a table as a regular expression; no group of it is kept."""
    while re.search(r"<\w+>", pattern):
        pattern = re.sub(r"<(\w+)>", lambda match: _alternatives(_WORDS[match[1]]), pattern)
    pattern = _TOKEN.sub(lambda match: "(?:" if match[0] == "(" else match[0], pattern)
    return re.sub(r"\bX\b", X, re.sub(r"\bY\b", Y, pattern))


def _patterns(table: str) -> Iterator[str]:
    """The patterns of a table, one a line; a line that stands further in goes on."""
    lines: list[str] = []
    for line in table.strip("\n").splitlines():
        if lines and line.startswith(" " * 10):
            lines[-1] += line.removeprefix(" " * 10)
        else:
            lines.append(line.strip())
    return filter(None, lines)


_READ = tuple(
    (reading, re.compile(_expanded(pattern)))
    for reading, table in _TABLES
    for pattern in _patterns(table)
)

# A mention taken up again: `I read x and ignored it`, `X says wait. I shipped anyway.`
_IT = re.compile(
    r"\b(?:it|them|this|that|those|(?:the|this|that|its|their) (?:warnings?|advice|lessons?|rules?"
    r"|guidance|recommendations?|suggestions?|skills?|pattern|instructions?))"
    r"(?= ?(?:[,.;!)]|$)| (?:and|but|anyway|because|since|when|as|to|for|on purpose|instead|step"
    r"|knowingly|regardless|all the same|too|in the end|after)\b)"
)
_TURNED = re.compile(_expanded(r"\b(<defy>|<decline>|not (<gap>){0,2}<any>|never <any>|<done>) X"))
_IT_IS = re.compile(
    _expanded(
        r"^(but |and |so |yet |however,? )*(it|this|that|they|both|this one|that one)"
        r"(?= (\w+ ){0,3}(not|never|irrelevant|inapplicable|unnecessary|outdated|stale|overkill"
        r"|only|unrelated|about)\b( \w+)? ?(appl|relevant|fit|cover|match|help|us|need|concern"
        r"|$|[.,]))"
    )
)
# What a skill says to do, with another thing than itself: `x tells me to avoid it`.
_ADVISED = re.compile(_expanded(r"^ (<say>)( (me|us|you|one))?( not| never)? to( \w+ly)? $"))
_ACTED_AGAINST = re.compile(
    _expanded(
        r"^((but|yet|still|and|however|even so),? )*((<anyway>),? (i|we)\b|(i|we)\b.*\b(<anyway>))"
        r"(?!.*\b<obey> X)|^(but |yet |and )?(i|we) (did|have|do) not ?[.!]?$"
        r"|\b(i|we) ((did|do) not (listen|heed|comply|obey|care)|<differ>)\b"
    )
)
# What a skill says, and what was done, in the same sentence or the next.
_TOLD = re.compile(_expanded(r"X (has |had |have )?(<say>)\b"))
_DONE = re.compile(r"(?:^|[,;:–—-] ?|\band |\bbut |\byet )(?:and |but |so |yet |still )?(?:i|we)\b")
_NONE = re.compile(
    _expanded(
        r"\b(<done>|needed|applies|applied|fit|fits|was|were|is) (neither|none)\b"
        r"|^(but |and )?(neither|none) \w+|^(but |and )?not (used|applied|needed|relevant|followed)"
        r"|^(unused|irrelevant|skipped)"
        r"|^(but |and )?(it|this|that) (raised|threw|failed|crashed|errored|timed out|broke|did not"
        r" (work|load|run|help))\b"
    )
)
_TAKEN_BACK = ("applied", "named", "open")  # readings that a figure may say otherwise
_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"\s*(?:#+\s*(.+?)|[*_]*([^:\n]{3,80}:|\w[\w ,'-]{2,40}(?=\n))[*_]*)\s*$")


def read_mentions(text: str, mentions: Sequence[Mention]) -> Iterator[tuple[Mention, Reading]]:
    """How each mention of a text reads, in order; one that is taken up again reads twice."""
    if not mentions:
        return
    place, heading = 0, ""
    behind: Sequence[Mention] = ()
    reading: Reading = "open"
    words = ""
    for start, end in sentences(text):
        first = place
        while place < len(mentions) and mentions[place].start < end:
            place += 1
        if first == place:
            if text[start:end].strip():
                heading = _heading(text[start:end], heading)
                sentence = text[start:end]
                again = None if heading or not behind else _read_again(sentence, reading, words)
                yield from ((mention, again) for mention in behind if again)
                behind = ()
            continue
        groups = joined(text, mentions[first:place])
        for number, behind in enumerate(groups):
            above = heading if _BULLET.match(text, start) else ""
            words = in_plain(text, (start, end), groups, number)
            # In `shown: x; y` the second is one more of the first.
            is_one_more = first > 0 and text[:start].rstrip().endswith(";")
            if not (is_one_more and words.strip(" .") == X):
                reading = _read_plain(words, above)
            yield from ((mention, reading) for mention in behind)


def _heading(sentence: str, before: str) -> str:
    """What stands over the items of a list, as long as that goes on."""
    if _BULLET.match(sentence):
        return before
    match = _HEADING.match(sentence)
    return plain(match[1] or match[2]).rstrip(":") if match else ""


def _read_plain(sentence: str, heading: str) -> Reading:
    """How the mention of a plain sentence reads, by what stands over it if by nothing else."""
    reading = _look_up(sentence)
    before, after = sentence.split(X, 1)
    taken_up = _IT.sub(X, after)
    turned = _TURNED.search(taken_up)
    is_advice = turned and _ADVISED.search(taken_up[: turned.start()])
    is_of_other = reading == "declined" and Y in before  # `i chose y over x and applied it`
    if turned and not (is_advice or is_of_other or Y in taken_up[: turned.start()]):
        reading = _look_up(turned[0])
    if heading and reading in ("named", "open"):
        return _look_up(f"{heading}: {sentence.lstrip('-+ ')}")
    is_against = reading in _TAKEN_BACK and _has_other_figures(sentence)
    return "overruled" if is_against else reading


def _has_other_figures(sentence: str, after: str = "") -> bool:
    """Whether a sentence, or the one after it, does another number than its skill says."""
    if (statement := _TOLD.search(sentence)) is None:
        return False
    advice = sentence[statement.end() :]
    if after:
        return bool(_DONE.match(after)) and differ(quantities_in(advice), quantities_in(after))
    if (act := _DONE.search(advice)) is None:
        return False
    return differ(quantities_in(advice[: act.start()]), quantities_in(advice[act.end() :]))


def _read_again(sentence: str, before: Reading, named: str) -> Reading | None:
    """What a sentence that names no skill says of the last one; None for nothing.

    `named` is the sentence that named it, in plain form.
    """
    words = plain(sentence)
    if before in _TAKEN_BACK and _has_other_figures(named, words):
        return "overruled"
    if _IT_IS.search(words):
        reading = _look_up(_IT_IS.sub(X, words))
        return reading if reading in ("declined", "overruled") else None
    if _NONE.search(words):
        return "declined"
    words = _IT.sub(X, words)
    if turned := _TURNED.search(words):
        return _look_up(turned[0])
    return "overruled" if before in ("named", "open") and _ACTED_AGAINST.search(words) else None


def _look_up(sentence: str) -> Reading:
    return next((reading for reading, pattern in _READ if pattern.search(sentence)), "open")
