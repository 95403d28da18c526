#!/usr/bin/env bash
# usage: conform_sqlite.sh SHERD-CONFORM
#
# Runs the cases of sherd-conform on an SQLite journal in a folder of its own, with the faults that a file
# can have. The folder is a file system of its own where one may be mounted, so that it can be full.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ -z "${SHERD_CONFORM_ALONE:-}" ]; then
    export SHERD_CONFORM_ALONE=yes
    rights=$([ "$(id -u)" = 0 ] || echo --map-root-user)
    # shellcheck disable=SC2086  # one word or none
    if unshare --mount $rights true 2>/dev/null; then
        exec unshare --mount $rights "$0" "$@"
    fi
fi
folder=$(mktemp -d "${TMPDIR:-/tmp}/sherd-conform.XXXXXX")
clean() {
    umount "$folder" 2>/dev/null || true # it may be none of its own
    rm -rf "$folder"
}
trap clean EXIT
mount -t tmpfs -o size=512m none "$folder" 2>/dev/null || true # then some cases are skipped
python=$(python3 -c 'import sys; print(sys.executable)') # once, as it may be a slow script
faults="$(printf '%q ' "$python" -B "$here/../e2e/conform_sqlite_faults.py" "$folder/journal.db")"
"$1" --break "$faults break" --mend "$faults mend" "sqlite:$folder/journal.db"
