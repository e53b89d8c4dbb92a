#!/usr/bin/env bash
# Installs what some tests drive and pip cannot bring: a browser. Without it those tests skip, except in CI.
set -euo pipefail
if command -v chromium >/dev/null || command -v google-chrome >/dev/null; then
    exit 0
fi
if ! command -v apt-get >/dev/null; then
    echo "no apt-get here: install Chromium yourself, or the browser tests skip" >&2
    exit 0
fi
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo -n)
"${as_root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends chromium >/dev/null
