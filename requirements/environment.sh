# Makes the virtual environment that ./run and ./test use. To be sourced from the repository's root.
# prepare_environment LOCK installs LOCK (with hashes) and the project, unless that has been done already.

find_python() {
  local name
  for name in python3 python3.13 python3.12 python3.11 python3.14 python; do
    if command -v "$name" >/dev/null 2>&1 &&
      "$name" -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      command -v "$name"
      return
    fi
  done
  echo "Memoranda needs Python 3.11 or newer; none was found on PATH." >&2
  return 1
}

prepare_environment() {
  local lock=$1 stamp=.venv/.memoranda-${1##*/} wanted python
  wanted="$PWD $(cat "$lock" pyproject.toml | cksum)"
  if [ -x .venv/bin/python ] && [ -f "$stamp" ] && [ "$(<"$stamp")" = "$wanted" ]; then
    return
  fi
  python=$(find_python)
  echo "Setting up .venv with $("$python" --version 2>&1) (once; this takes a minute or two) …" >&2
  if command -v uv >/dev/null 2>&1; then
    [ -x .venv/bin/python ] || uv venv --quiet --python "$python" .venv
    uv pip install --quiet --python .venv/bin/python --require-hashes -r "$lock" >&2
    uv pip install --quiet --python .venv/bin/python --no-deps -e . >&2
  else
    [ -x .venv/bin/python ] || "$python" -m venv .venv
    echo "  installing dependencies …" >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock" >&2
    echo "  installing memoranda …" >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e . >&2
  fi
  rm -f .venv/.memoranda-*
  printf '%s' "$wanted" > "$stamp"
  case "$lock" in # what tests need holds what users need
    */lock-dev.txt) printf '%s' "$PWD $(cat requirements/lock.txt pyproject.toml | cksum)" > .venv/.memoranda-lock.txt ;;
  esac
  echo "Done." >&2
}
