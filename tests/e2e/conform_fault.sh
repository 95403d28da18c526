#!/usr/bin/env bash
# usage: conform_fault.sh PORT break|mend FAULT
#
# Passes a command of sherd-conform on to the test that listens at the port, and ends as the test says.
set -euo pipefail
exec 3<>"/dev/tcp/127.0.0.1/$1"
printf '%s %s %s %s\n' "$2" "$3" "$SHERD_CONFORM_TYPE" "${SHERD_CONFORM_ROUND:-0}" >&3
read -r status text <&3
echo "$text"
exit "$status"
