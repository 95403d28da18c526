#!/usr/bin/env bash
# Tests tools/packages with fake programs dpkg-query, apt-get, id and sudo. The tool names the
# missing packages and installs only those, as root or with sudo. It installs nothing if none is
# missing. It reports errors. A missing Maven or JDK is not an error.
set -uo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/sherd packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
for tool in bash env cat sed mktemp rm; do
    ln -s "$(command -v "$tool")" "$work/bin/$tool"
done

fake() {
    printf '#!/usr/bin/env bash\n%s\n' "$2" >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}

# The packages in $MISSING are not installed. $UID_IS is the user id. apt-get and sudo log their
# arguments to $CALLS.
fake dpkg-query 'for package; do :; done
[[ " $MISSING " == *" $package "* ]] && exit 1
echo installed'
fake apt-get 'echo "apt-get $*" >>"$CALLS"
[[ -z "${FAILS:-}" || "$*" != *"$FAILS"* ]] || { echo "E: no network"; exit 100; }'
fake id 'echo "$UID_IS"'

passed=0
failed=0

# run NAME STATUS SAID CALLED: runs tools/packages with the argument $what (default: build). SAID is
# a pattern of both outputs, and CALLED of all calls. $FAILS is a word in the arguments of a call
# that apt-get must fail.
run() {
    local said status calls
    : >"$work/calls"
    said=$(CALLS="$work/calls" PATH="$work/bin" "$root/tools/packages" "${what:-build}" 2>&1)
    status=$?
    calls=$(cat "$work/calls")
    if [ "$status" = "$2" ] && [[ "$said" =~ ^$3$ ]] && [[ "$calls" =~ ^$4$ ]]; then
        passed=$((passed + 1))
        echo "ok: $1"
    else
        failed=$((failed + 1))
        echo "FAILED: $1: status $status, said: $said; called: $calls"
    fi
}

update='apt-get update -qq'
install='apt-get install .*--no-install-recommends'
export MISSING='' UID_IS=0 FAILS=''
run "no package is missing" 0 '' ''
MISSING='cmake liblmdb-dev'
run "as root" 0 'installing Debian packages: cmake liblmdb-dev' "$update"$'\n'"$install cmake liblmdb-dev"
FAILS=install
run "apt-get fails" 1 'installing Debian packages: cmake liblmdb-dev.*E: no network.*cannot install: cmake liblmdb-dev' ".*$install cmake liblmdb-dev"
FAILS='' UID_IS=1000
run "neither root nor sudo" 1 'needs root or sudo to install: cmake liblmdb-dev' ''
fake sudo 'echo "sudo $*" >>"$CALLS"
exec "$@"'
run "with sudo" 0 'installing Debian packages: cmake liblmdb-dev' "sudo $update.*sudo env DEBIAN_FRONTEND=noninteractive $install cmake liblmdb-dev.*"

MISSING='libpq-dev postgresql' UID_IS=0
run "PostgreSQL is for its demonstration" 0 'installing Debian packages: libpq-dev' "$update"$'\n'"$install libpq-dev"
what=postgres
run "the demonstration with PostgreSQL" 0 'installing Debian packages: libpq-dev postgresql' "$update"$'\n'"$install libpq-dev postgresql"
UID_IS=1000 MISSING=''
what=

rm "$work/bin/sudo"
what=test skipped='tests of clusters with JVM nodes will be skipped'
MISSING=''
run "no JDK, no Maven, no root" 0 "needs root or sudo to install: maven default-jdk-headless; $skipped" ''
MISSING='cmake'
run "no JDK, no Maven, no root, and more" 1 "needs root or sudo to install: maven default-jdk-headless; $skipped"$'\n''needs root or sudo to install: cmake' ''
UID_IS=0
run "a JDK and Maven" 0 'installing Debian packages: cmake'$'\n''installing Debian packages: maven default-jdk-headless' "$update"$'\n'"$install cmake"$'\n'"$update"$'\n'"$install maven default-jdk-headless"
FAILS=jdk
run "a JDK cannot be installed" 0 ".*E: no network.*cannot install: maven default-jdk-headless; $skipped" ".*$install maven default-jdk-headless"
FAILS='' MISSING=''
fake mvn ''
run "Maven is installed" 0 'installing Debian packages: default-jdk-headless' "$update"$'\n'"$install default-jdk-headless"
fake javac ''
run "Maven and a JDK are installed" 0 '' ''

# Both commands call tools/packages, unless they have --no-install.
for name in demo:build test:test; do
    if grep -qE "\[ \"\\\$install\" = 0 \] \|\| tools/packages ${name#*:}( |\$)" "$root/${name%:*}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: ./${name%:*} does not install"
    fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
