"""What is noted of a turn when it is indexed, so that a search need not read it again."""

from __future__ import annotations

import re

from memoranda.domain.scripts import is_hardly_latin

SHORT_QUESTION, TIME_WORD, FOREIGN = 1, 2, 4
"""Bits: a short question; a word that tells when something was; hardly any of it is Latin script."""

QUESTION_WORDS = 30
"""A question of at most so many words is asked to be answered, not told."""

_ASIDE = re.compile(r"\s*\[[^\]]*\]\s*$")
_TIME = re.compile(
    r"\b(yesterday|today|tonight|tomorrow|last|next|ago|this (?:morning|weekend)|weekend|week|month|year|recently|just"
    r"|since|the other day|20\d\d|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
    r"|\b(?:gestern|heute|morgen|letzten?|letztes|nächsten?|nächstes|vor \w+ \w+en|woche|monat|jahr|neulich|seit)\b"
    r"|\b(?:hier|aujourd'hui|demain|dernière?|prochaine?|semaine|mois|année|récemment|depuis)\b"
    r"|\b(?:ayer|hoy|mañana|pasad[oa]|próxim[oa]|semana|mes|año|recientemente|desde)\b"
    r"|\d+[年月日]|[今昨明去][天年日]|[上下先来今][周週月]|星期|曜日",
    re.IGNORECASE,
)
_ASKS_WHEN = re.compile(
    r"^\s*(when|what (date|day|month|year|time)|how long|how often|how many (days|weeks|months|years)"
    r"|which (month|year|day|week)"
    r"|wann|seit wann|wie lange|wie oft|an welchem tag|quand|depuis quand|combien de (temps|jours)"
    r"|¿?cuándo|¿?desde cuándo|¿?cuánto tiempo)\b|什么时候|何时|哪天|哪一天|いつ|何日|何月",
    re.IGNORECASE,
)


def marks_of(text: str, words: int) -> int:
    """Return the marks of a turn of so many words. What stands in brackets at its end is not said."""
    is_question = words <= QUESTION_WORDS and _ASIDE.sub("", text).rstrip().endswith(("?", "\uff1f"))
    return SHORT_QUESTION * is_question | TIME_WORD * bool(_TIME.search(text)) | FOREIGN * is_hardly_latin(text)


def asks_when(question: str) -> bool:
    """Whether a question asks for a time."""
    return bool(_ASKS_WHEN.search(question))
