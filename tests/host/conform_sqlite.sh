#!/usr/bin/env bash
# usage: conform_sqlite.sh SHERD-CONFORM
#
# Runs the cases of sherd-conform on an SQLite journal in a folder of its own.
set -euo pipefail
folder=$(mktemp -d "${TMPDIR:-/tmp}/sherd-conform.XXXXXX")
trap 'rm -rf "$folder"' EXIT
"$1" "sqlite:$folder/journal.db"
