# Sourced by the other scripts: finds a Python, makes .venv once, installs this checkout into it when it changed.
# Usage: . scripts/setup.sh; octop_setup [extra …]

octop_python() {
    local candidate
    for candidate in "${OCTOP_PYTHON:-}" python3.11 python3.12 python3.13 python3 \
        "$HOME"/.pyenv/versions/3.1[1-9]*/bin/python3; do
        [ -n "$candidate" ] || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return 0
        fi
    done
    echo "octop-bridge needs Python 3.11 or newer, with venv: none found on PATH (set OCTOP_PYTHON)" >&2
    return 1
}

octop_setup() {
    local extras="${1:-}" wanted
    [ -x .venv/bin/python ] || "$(octop_python)" -m venv .venv
    wanted="$extras $(cksum < pyproject.toml)"
    if [ "$(cat .venv/.installed 2>/dev/null)" != "$wanted" ]; then
        .venv/bin/python -m pip install --quiet --disable-pip-version-check -e ".${extras:+[$extras]}" >&2 &&
            echo "$wanted" > .venv/.installed
    fi
}
