#!/usr/bin/env bash
# Installs what some tests drive and pip cannot bring: a browser and a PostgreSQL server. Without
# them those tests skip, except in CI.
set -euo pipefail
missing=()
command -v chromium >/dev/null || command -v google-chrome >/dev/null || missing+=(chromium)
compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null || command -v initdb >/dev/null || missing+=(postgresql)
[ ${#missing[@]} -gt 0 ] || exit 0
if ! command -v apt-get >/dev/null; then
    echo "no apt-get here: install ${missing[*]} yourself, or the tests that need them skip" >&2
    exit 0
fi
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo -n)
"${as_root[@]}" apt-get update -qq
# The package would start a cluster of its own; the tests start theirs.
if [[ " ${missing[*]} " == *" postgresql "* ]]; then
    "${as_root[@]}" mkdir -p /etc/postgresql-common/createcluster.d
    echo 'create_main_cluster = false' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.d/no-cluster.conf >/dev/null
fi
DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
