"""The server's own token, made at the first start and kept in the home for its owner alone."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from memoranda.errors import BackendError, ConfigurationError

TOKEN_BYTES = 32
"""256 random bits: far beyond guessing, short enough to paste."""


def own_token(home: Path) -> str:
    """Return the token in `<home>/.state/token`, made (0600) where absent.

    Raises:
        BackendError: it cannot be read or written.
        ConfigurationError: the file is empty.
    """
    path = home / ".state" / "token"
    try:
        with contextlib.suppress(FileExistsError):
            _create(path, secrets.token_urlsafe(TOKEN_BYTES))
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BackendError(f"the token file {path} cannot be used: {type(error).__name__}") from error
    if not token:
        raise ConfigurationError(f"the token file {path} is empty; delete it to get a new token")
    return token


def _create(path: Path, token: str) -> None:
    """Write the file whole or not at all: a second server that starts now never reads half a token."""
    if path.exists():
        return
    draft = path.with_name(f"token.{os.getpid()}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(token + "\n")
        os.link(draft, path)
    finally:
        draft.unlink(missing_ok=True)
