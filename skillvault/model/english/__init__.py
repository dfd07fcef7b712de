"""English: function words, and the irregular forms that no stemmer knows."""

FUNCTION_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being between but by
    can could d did do does doing don done during each either etc for from had has have having
    he her here hers him his how i if in into is it its itself just ll m may me might must my no nor
    not of on onto or other our ours over per re s shall she should so some such t than that the
    their theirs them then there these they this those to until upon us used using ve very via
    was we were what when where whether which while who whom whose why will with within without
    would you your yours
    """.split()
)

_IRREGULAR = """
    begin began begun; break broke broken; bring brought; build built; buy bought; catch caught;
    child children; choose chose chosen; come came; draw drew drawn; drive drove driven; eat ate
    eaten; fall fell fallen; feel felt; find found; fly flew flown; freeze froze frozen; give
    gave given; go went gone goes; grow grew grown; hear heard; hide hid hidden; hold held; keep
    kept; know knew known; lead led; leave left; lose lost; make made; man men; mean meant; meet
    met; pay paid; person people; ride rode ridden; rise rose risen; run ran; say said; see saw
    seen; sell sold; send sent; sing sang sung; sit sat; speak spoke spoken; spend spent; stand
    stood; swim swam swum; take took taken; teach taught; tell told; think thought; throw threw
    thrown; understand understood; wear wore worn; win won; woman women; write wrote written
"""
_GROUPS = [line.split() for line in _IRREGULAR.split(";")]
_FORMS = {form: forms for forms in _GROUPS for form in forms}


def other_forms(word: str) -> list[str]:
    """The other forms of an irregular word: `went` -> go, gone, goes."""
    return [form for form in _FORMS.get(word, ()) if form != word]


def base_form(word: str) -> str:
    """The first form of an irregular word: `went` -> go; any other word as it is."""
    return _FORMS[word][0] if word in _FORMS else word
