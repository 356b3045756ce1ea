#!/bin/sh
# run.sh [--only NAME]... [--json FILE] [--jobs N] [--taps DIR]    BRIDGE="command --"
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${EVIDENCE_CACHE:-$HOME/.cache/mcp-uplift-evidence}/interop
"$here/setup.sh" "$cache"
exec "$cache/py-validate/bin/python" -B "$here/interop.py" "$@"
