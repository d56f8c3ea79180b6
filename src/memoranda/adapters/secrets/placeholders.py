"""Tells a credential from what merely stands in its place."""

from __future__ import annotations

import re

_TEMPLATE = re.compile(r"[<>{}]|\$[A-Za-z_({]|%[sd(]|\[[A-Za-z _-]+\]|…|\.{3}")
"""Marks of something to be filled in: `<token>`, `${VAR}`, `{{ var }}`, `%s`, `[password]`, `...`."""
_MASK = re.compile(r"([xX*•.●_#0?-])\1{4,}")
"""Five times the same filler; in 40 random characters of base62 that is a chance of about one in 400,000."""
_WORDS = re.compile(
    r"example|placeholder|redacted|changeme|change[-_]me|replace[-_]?(?:me|with)|your[-_ ]|[-_]here\b|"
    r"insert[-_]|dummy|sample[-_]|not[-_]a[-_]real|fake[-_]",
    re.IGNORECASE,
)
_COUNTING = re.compile(r"0123456789|1234567890|abcdefghij|abcdef0123", re.IGNORECASE)
_STAND_INS = frozenset(
    {
        "password",
        "passwd",
        "passphrase",
        "passwort",
        "pass",
        "pwd",
        "pw",
        "secret",
        "token",
        "key",
        "apikey",
        "api_key",
        "string",
        "str",
        "text",
        "none",
        "null",
        "nil",
        "undefined",
        "true",
        "false",
        "bool",
        "int",
        "optional",
        "required",
        "empty",
        "blank",
        "unknown",
        "tbd",
        "todo",
        "xxx",
        "xxxx",
        "foo",
        "bar",
        "foobar",
        "baz",
        "test",
        "testing",
        "default",
        "value",
        "username",
        "user",
        "mypassword",
        "my_password",
        "mysecret",
        "my_secret",
        "somepassword",
        "newpassword",
        "new_password",
        "oldpassword",
        "old_password",
        "secretpassword",
        "changed",
        "rotated",
        "expired",
        "forgotten",
        "lost",
        "unchanged",
        "disabled",
        "enabled",
        "hidden",
        "masked",
        "encrypted",
        "hashed",
        "protected",
        "generated",
        "managed",
        "stored",
        "shared",
        "reset",
        "policy",
        "field",
        "input",
        "login",
        "prompt",
        "sample",
        "bitwarden",
        "keepass",
        "keepassxc",
        "lastpass",
        "1password",
        "dashlane",
        "keychain",
        "vault",
    }
)
"""Single words that stand where a password would, in code, forms and notes; compared without case."""
_ALGORITHM = re.compile(
    r"(?:sha-?[1235]|md[45]|base-?(?:32|64|58)|utf-?8|bcrypt|scrypt|argon2|pbkdf2|aes-?\d|rsa-?\d|ed25519|oauth2?|"
    r"ipv[46]|saml2?|tls1|x509|p12|pkcs)[\w.-]*",
    re.IGNORECASE,
)
_SIGNS = "!@#$%^&*+=~?"
_CASE_CHANGE = re.compile(r"[a-z][A-Z]")
_CASE_CHANGES = 3
"""`KeePassXC` changes twice; 12 random letters change three times on average."""
_PIECES = re.compile(r"[^A-Za-z0-9]+")


def is_placeholder(value: str) -> bool:
    """Say whether a value that has the form of a token is a template, a mask or an example.

    Values with `EXAMPLE` in them, such as the key ids in AWS's own documentation, count as examples.
    """
    return is_template(value) or bool(_COUNTING.search(value))


def is_template(value: str) -> bool:
    """Say whether a value is a template, a mask or says of itself that it is an example."""
    return bool(_TEMPLATE.search(value) or _MASK.search(value) or _WORDS.search(value))


def is_stand_in(value: str) -> bool:
    """Say whether a value in the place of a password is none: a template, mask, type or common word."""
    few = 2  # a mask such as `****` or `x-x-x`
    return len(set(value)) <= few or value.casefold() in _STAND_INS or is_template(value)


def looks_chosen(value: str) -> bool:
    """Say whether an unquoted value looks like a password rather than a word.

    That is letters with digits or signs, or letters whose case changes at least three times. Names of
    algorithms and encodings (`SHA256-hashed`) are words.
    """
    if _ALGORITHM.fullmatch(value):
        return False
    letters = any(character.isalpha() for character in value)
    others = any(character.isdigit() or character in _SIGNS for character in value)
    return letters and (others or len(_CASE_CHANGE.findall(value)) >= _CASE_CHANGES)


def looks_random(value: str) -> bool:
    """Say whether a value has a piece of 8 or more letters and digits mixed; keys do, identifiers do not."""
    minimum, digits_needed = 8, 2
    return any(
        len(piece) >= minimum
        and sum(character.isdigit() for character in piece) >= digits_needed
        and any(character.isalpha() for character in piece)
        for piece in _PIECES.split(value)
    )
