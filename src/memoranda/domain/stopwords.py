# ruff: noqa: SIM905 - a list of words reads best as words
"""English function words, which say little about what a text is about."""

from __future__ import annotations

STOP_WORDS = frozenset(
    """a about again all also am among an and any are as at be because been being both but by can could d did
    do does doing don done dont during each either else etc even ever every for from had has have having he
    hed her here hers herself him himself his how i id if im in into is isn it its itself ive just ll m may
    me might mine my myself many much no nor not now of off often on once one or other our ours ourselves
    please re s shall she should so some such t tell than that thats the their theirs them themselves then
    there these they this those to too until upon us used ve very was we went were what whats when where
    which while who whom whose why will with would you your yours yourself yourselves aren couldn didn
    doesn hadn hasn haven shouldn wasn weren won wouldn
    """.split()
)
"""Dropped from questions unless nothing else is left; kept in the index and in phrases."""

SPOKEN_STOP_WORDS = STOP_WORDS - frozenset(
    """about again all also am among any aren because being both couldn didn doesn doing don done dont during each
    either else etc even ever every hadn hasn haven having hed here hers herself him himself id im isn itself ive just
    many may mine much myself no nor not now off often once one other ours ourselves please shall shouldn some such
    tell thats theirs themselves then there these those too until upon us used very wasn went weren whats while won
    wouldn yours yourself yourselves""".split()
)
"""Dropped from questions about what was said: a shorter list, for talk has few other words (`docs/benchmarks.md`)."""

FUNCTION_CHARACTERS = frozenset(
    "的了是在什么谁哪个吗呢吧把被将和与或及这那些有为以于之其对从到给让都也就还又不没很最更等着过地得们你我他她它会能可要怎样多少几何时候"
)
"""Chinese characters that mostly serve grammar; with the letters of hiragana, they say little alone."""

TURNING_WORDS = frozenset("off all any every both either once again until many much each now".split())
"""Stop words that make another statement all the same ("on" or "off", "once" or "every day")."""

NEGATIONS = frozenset(
    """
    no not never none neither nor without cannot cant dont doesnt didnt isnt arent wasnt werent wont wouldnt
    shouldnt couldnt hasnt havent hadnt mustnt neednt
    """.split()
)
"""Words that turn a statement round: two texts that differ in one of them do not say the same."""
