#!/usr/bin/env bash
# usage: canary_test.sh PROGRAM
#
# Passes if the fuzzer finds the planted bug within a minute, and AddressSanitizer reports it.
set -uo pipefail

work=$(mktemp -d "${TMPDIR:-/tmp}/sherd canary.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/corpus"
if "$1" -seed=1 -max_total_time=60 -max_len=256 -artifact_prefix="$work/" "$work/corpus" >"$work/log" 2>&1; then
    echo "the fuzzer did not find the planted bug"
    tail -5 "$work/log"
    exit 1
fi
grep -q 'heap-buffer-overflow' "$work/log" || {
    echo "the fuzzer ended for another reason:"
    tail -20 "$work/log"
    exit 1
}
echo "found: $(grep -m 1 'SUMMARY' "$work/log")"
