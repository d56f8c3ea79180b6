# ruff: noqa: RUF001 - words of many scripts; a list of words reads best as words
"""Languages written with spaces: which one a text is in, its stems, and the words of it that say little.

A text's language is told by its function words, the classic light detector (Grefenstette 1995, "Comparing two language
identification schemes"); words of other scripts tell their language themselves. Stems are those of Snowball, for
English the older Porter's. All words here are folded (`scripts.fold`): without diacritics, in small letters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache

import Stemmer

from memoranda.domain.stopwords import STOP_WORDS

ENGLISH = "english"
"""What a text is taken for that says nothing else."""

_WORDS = {
    "german": """
    aber alle allem allen aller alles als also am an auch auf aus bei beim bin bis bist da dabei dafur damit dann
    das dass dein deine dem den denn der des dich die dies diese diesem diesen dieser dieses dir doch dort du
    durch ein eine einem einen einer eines er es euch euer fur gegen gewesen hab habe haben hat hatte hatten
    hier hin ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist ja jede jedem jeden jeder jedes jetzt
    kann kannst kein keine keinem keinen keiner konnen konnte man mein meine meinem meinen meiner mich mir mit
    muss nach nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit sich sie
    sind so soll sondern uber um und uns unser unsere unter vom von vor wann war waren warum was weil welche
    welchem welchen welcher welches wem wen wenn wer werde werden wie wieder wird wo wurde wurden zu zum zur
    zwischen
    """,
    "french": """
    ai alors as au aucun aussi autre aux avait avant avec avez avoir avons c ca car ce cela ces cet cette ceux chez
    comme comment d dans de deja depuis des deux dois doit donc dont du elle elles en encore est et etait
    etaient ete etes etre eu eux fait il ils j je jusque l la le les leur leurs lui m ma mais me meme mes moi
    mon n ne nos notre nous on ont ou par parce pas peu peut plus pour pourquoi quand que quel quelle quelles
    quels qui quoi qu s sa sans se sera ses si son sont sous suis sur t ta te tes toi ton tous tout toute toutes
    tres tu un une vos votre vous y
    """,
    "spanish": """
    a al algo ante antes aunque bajo bien cada como con contra cual cuales cuando cuanto de del desde donde dos
    durante e el ella ellas ellos en entre era eran es esa esas ese eso esos esta estaba estan estar estas este
    esto estos estoy fue fueron ha habia hace han hasta hay he la las le les lo los mas me mi mis mucho muy nada
    ni no nos nosotros nuestra nuestro o os otra otro para pero poco por porque pues que quien quienes se sea
    ser si sido sin sobre solo son soy su sus tambien tanto te tengo tiene tienen todo todos tu tus un una uno
    unos usted y ya yo
    """,
    "italian": """
    a ad agli ai al alla alle allo anche avere aveva c che chi ci come con contro cosa cui da dagli dai dal dalla
    dalle dei del della delle dello di dopo dove e ed era erano essere gli ha hai hanno ho i il in io la le lei
    lo loro lui ma me mi mia mie miei mio molto ne nei nel nella nelle nello noi non nostra nostro o ogni per
    perche piu poi prima qual quale quali quando quanto quella quelle quelli quello questa queste questi questo
    qui se sei senza si siamo sono sta stata stato su sua sue sui sul sulla suo suoi te tra tu tua tuo tutti
    tutto un una uno vi voi
    """,
    "portuguese": """
    a ao aos as ate com como da das de dela dele deles depois do dos e ela elas ele eles em entre era eram essa esse
    esta estao estar estava este eu foi foram ha isso isto ja la lhe mais mas me mesmo meu meus minha minhas
    muito na nao nas nem no nos nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque pra qual
    quando que quem sao se seja sem ser seu seus sim sobre so sua suas tambem te tem tenho ter teve tinha tu tua
    tudo um uma umas uns voce voces
    """,
    "dutch": """
    aan al alles als altijd andere ben bij daar dan dat de deze die dit doch doen door dus een eens en er ge geen
    geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je jij jou jouw kan kon
    kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons onze ook op over
    reeds te tegen toch toen tot u uit uw van veel voor waar waarom wanneer want waren was wat we wel welke werd
    wie wij wil worden wordt zal ze zei zelf zich zij zijn zo zonder zou
    """,
    "russian": """
    а без более бы был была были было быть в вам вас ведь во вот все всего всех вы где да даже для до его ее если
    есть еще же за здесь и из или им их к как какая какие какой когда кто ли либо мне может мой моя мы на надо
    наш не него нее нет ни них но ну о об однако он она они оно от очень по под при с сам свой себя со так также
    такой там те тем то того тоже той только том ты у уже хотя чего чей чем что чтобы чье эта эти это этот я
    """,
}

_RANGES = (
    (0x0370, 0x03FF, "greek"), (0x0400, 0x052F, "russian"), (0x0600, 0x06FF, "arabic"), (0x0900, 0x097F, "hindi"),
)  # fmt: skip
_SHARES = 420
"""What a function word counts, divisible by the number of languages that may share it."""

_LETTERS = 3
"""A word of fewer letters is its own stem."""

_ROUNDS = 3
"""Stemming is repeated until nothing changes: endings that rest on an accent go in two steps without it."""

FUNCTION_WORDS = {name: frozenset(words.split()) for name, words in _WORDS.items()}
LATIN = tuple(name for name in FUNCTION_WORDS if name != "russian")
"""Languages whose words do not tell by their letters which one they are of, English aside."""


def _telling() -> dict[str, tuple[str, ...]]:
    """Return the languages that each function word speaks for."""
    spoken: dict[str, list[str]] = {}
    for name, words in (*((name, FUNCTION_WORDS[name]) for name in LATIN), (ENGLISH, STOP_WORDS)):
        for word in words:
            spoken.setdefault(word, []).append(name)
    return {word: tuple(names) for word, names in spoken.items()}


_TELLING = _telling()


def language_of(words: Iterable[str], least: int = 1) -> str:
    """Return the language of a text of these folded words, "" where it does not tell.

    The language with most function words, each counted for the less the more languages have it; of equal ones none.
    Another than English needs `least` different ones: Dan is a word of Dutch.
    """
    votes: Counter[str] = Counter()
    different: Counter[str] = Counter()
    for word, count in Counter(words).items():
        for name in (names := _TELLING.get(word, ())):
            votes[name] += count * _SHARES // len(names)
            different[name] += 1
    best = votes.most_common(2)
    if not best or (len(best) > 1 and best[0][1] == best[1][1]):
        return ""
    name = best[0][0]
    return name if name == ENGLISH or different[name] >= least else ""


def says_little(word: str, language: str) -> bool:
    """Tell whether a folded word is a function word of this language or of English."""
    return word in STOP_WORDS or word in FUNCTION_WORDS.get(language, ())


def stem(word: str, language: str = "") -> str:
    """Return the stem of a folded word as in a text of this language; English where that is "".

    A word in letters of another script is stemmed by those; anything that is not letters is returned as it is.
    """
    if len(word) < _LETTERS or not word.isalpha():
        return word
    if not word.isascii():
        language = _script_of(word)
        return _fixed(word, language) if language else word
    return _fixed(word, language) if language in FUNCTION_WORDS else str(_stemmer("porter").stemWord(word))


@lru_cache(maxsize=1 << 14)
def stems(word: str, language: str = "") -> tuple[str, ...]:
    """Return the stems that a word is found by: as English, as which every text is indexed, and in its language.

    Where that is "" the word may be of any language, and all stems of it that differ are returned.
    """
    named = LATIN if not language else (language,)
    return tuple(dict.fromkeys((stem(word), *(stem(word, name) for name in named))))


def _script_of(word: str) -> str:
    code = ord(word[0])
    return next((name for low, high, name in _RANGES if low <= code <= high), "")


@lru_cache(maxsize=1 << 14)
def _fixed(word: str, language: str) -> str:
    for _ in range(_ROUNDS):
        found = str(_stemmer(language).stemWord(word))
        if found == word or len(found) < _LETTERS:
            break
        word = found
    return word


@cache
def _stemmer(name: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(name, 0)
