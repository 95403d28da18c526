#!/usr/bin/env bash
# usage: install_test.sh BUILD
#
# Installs a build into a folder whose path has a space, and checks the installed documents. Then
# builds and runs programs against it: the guide's first project; a consumer and the README's first
# program, each with pkg-config and find_package, shared and static; and the example of a test with
# the simulator, once with a bug that it must find.
set -euo pipefail

build=$1
here=$(cd "$(dirname "$0")" && pwd)
examples=$(cd "$here/../../examples" && pwd)
readme=$(cd "$here/../.." && pwd)/README.md
work=$(mktemp -d "${TMPDIR:-/tmp}/sherd install.XXXXXX")
trap 'rm -rf "$work"' EXIT
prefix="$work/the prefix"
passed=0

pass() {
    echo "ok: $1"
    passed=$((passed + 1))
}

# expect NAME PROGRAM: runs the program, which must print the consumer's text.
expect() {
    local said
    said=$(LD_LIBRARY_PATH="$libdir" "$2")
    [[ $said == "success "* ]] || {
        echo "$1 said: $said"
        exit 1
    }
    pass "$1"
}

# expect_first NAME PROGRAM: runs first twice; the second run must continue with the stored count.
expect_first() {
    local said
    said=$(LD_LIBRARY_PATH="$libdir" "$2" "sqlite:$2.db" && LD_LIBRARY_PATH="$libdir" "$2" "sqlite:$2.db") &&
        [[ $said == "clicks: 1"$'\n'"clicks: 2" ]] || {
        echo "$1 said: $said"
        exit 1
    }
    pass "$1"
}

# expect_readme TEXT: checks that a line of the README contains the text.
expect_readme() {
    grep -qF -- "$1" "$readme" || { echo "the README lacks: $1"; exit 1; }
}

cmake --install "$build" --prefix "$prefix" >"$work/install.log"
libdir=$(dirname "$(find "$prefix" -name libsherd.a)")
export PKG_CONFIG_PATH="$libdir/pkgconfig"
cc=${CC:-cc}

# prints TEXT COMMAND...: succeeds if the command prints the text. The output goes to a file first:
# a pipe into "grep -q" would end the command early, and pipefail would count that as a failure.
prints() {
    local text=$1
    "${@:2}" >"$work/printed" || exit 1
    grep -q "$text" "$work/printed"
}

# expect_sim NAME PROGRAM: runs some seeds of hello_sim, which must not need libsherd.so.
expect_sim() {
    local said
    said=$("$2" 3 2>&1) || {
        echo "$1 said: $said"
        exit 1
    }
    [[ $said == "3 passed, 0 failed" ]] && ! prints libsherd readelf -d "$2" || {
        echo "$1 said: $said, or needs libsherd.so"
        exit 1
    }
    pass "$1"
}

# The libraries export only names that begin with sherd_.
shown=$({ nm -D --defined-only "$libdir/libsherd.so"; nm -g --defined-only "$libdir/libsherd.a"
    nm -g --defined-only "$libdir/libsherd-sim.a"; } |
    awk 'NF == 3 && $3 !~ /^sherd_/ && $3 !~ /^SHERD_0/ { print $3 }')
[ -z "$shown" ] || {
    echo "symbols without the prefix are visible: $shown"
    exit 1
}
pass "only sherd_* is visible"
prints ' T sherd_sim_open$' nm -g --defined-only "$libdir/libsherd-sim.a" || {
    echo "the simulator is not in its own library"
    exit 1
}
if prints sherd_sim_ nm -g --defined-only "$libdir/libsherd.a"; then
    echo "the simulator is in libsherd.a"
    exit 1
fi
pass "the simulator is in its own library"
prints 'SONAME.*\[libsherd\.so\.0\]' readelf -d "$libdir/libsherd.so" || {
    echo "libsherd.so has not the soname libsherd.so.0"
    exit 1
}
pass "soname libsherd.so.0"

# Each header compiles alone, as C, and as C++ if there is a compiler.
for header in "$prefix"/include/sherd/*.h; do
    printf "#include <sherd/%s>\nextern int nothing;\n" "$(basename "$header")" >"$work/alone.c"
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$prefix/include" -fsyntax-only "$work/alone.c"
    if command -v c++ >/dev/null; then
        cp "$work/alone.c" "$work/alone.cc"
        c++ -Wall -Wextra -Werror -I"$prefix/include" -fsyntax-only "$work/alone.cc"
    fi
done
pass "every header compiles alone"

for page in man7/sherd.7 man1/sherd-sim.1 man1/sherd.1; do
    [ -n "$(find "$prefix" -path "*/$page")" ] || { echo "no manual page $page"; exit 1; }
done
pass "manual pages"

# The documents are installed where the links between them work.
source=$(cd "$here/../.." && pwd)
documents=$(dirname "$(find "$prefix/share" -name CHANGELOG.md)")
for file in README.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md LICENSE; do
    cmp "$source/$file" "$documents/$file" || { echo "the document $file is not installed"; exit 1; }
done
for folder in docs/guide docs/protocol docs/decisions; do
    diff -r "$source/$folder" "$documents/$folder" || { echo "the documents of $folder are not installed"; exit 1; }
done
diff -r --exclude=CMakeLists.txt --exclude="*.py" --exclude="*.conf" --exclude=data "$source/examples" "$documents/examples" ||
    { echo "the examples are not installed"; exit 1; }
pass "documents"

# Each relative link in an installed document names an installed file or folder.
find "$documents" -name '*.md' >"$work/documents"
links=0
while IFS= read -r document; do
    grep -oE '\]\([A-Za-z0-9_./-]+[)#]' "$document" >"$work/links" || continue
    while IFS= read -r link; do
        link=${link:2:-1}
        [ -e "$(dirname "$document")/$link" ] || { echo "$document: a link is broken: $link"; exit 1; }
        links=$((links + 1))
    done <"$work/links"
done <"$work/documents"
((links > 50)) || { echo "the documents have only $links links"; exit 1; }
pass "links between documents"

# The guide's first project builds and runs.
mkdir "$work/visits"
cp "$documents/examples/guide/visits.c" "$work/visits"
sed -n '/^```cmake$/,/^```$/{/^```/d;p}' "$documents/docs/guide/first-cluster.md" >"$work/visits/CMakeLists.txt"
cmake -G Ninja -S "$work/visits" -B "$work/visits/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    >"$work/cmake.log" && cmake --build "$work/visits/build" >>"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
said=$(printf 'tell home\nask home\n' | "$work/visits/build/visits" 65535 2>"$work/visits.log") || {
    cat "$work/visits.log"
    exit 1
}
[[ $said == "visits=2, the page lives on port "* ]] || { echo "visits said: $said"; exit 1; }
pass "the guide's first cluster"
"$prefix/bin/sherd-sim" replay 1 --mode lite --nodes 3 --length 30s >"$work/replay.log" || { cat "$work/replay.log"; exit 1; }
pass "sherd-sim"

# pkg-config quotes spaces in paths for a shell, hence eval.
eval "\"$cc\" -o \"$work/shared\" \"$here/consumer/main.c\" $(pkg-config --cflags --libs sherd)"
expect "pkg-config, shared" "$work/shared"
static=$(pkg-config --static --cflags --libs sherd | sed 's/-lsherd\b/-l:libsherd.a/')
eval "\"$cc\" -o \"$work/static\" \"$here/consumer/main.c\" $static"
if prints libsherd readelf -d "$work/static"; then
    echo "the static consumer needs libsherd.so"
    exit 1
fi
expect "pkg-config, static" "$work/static"

# Builds the README's first program with the README's command.
expect_readme 'cc examples/first.c $(pkg-config --cflags --libs sherd) -o first'
eval "\"$cc\" -o \"$work/first\" \"$examples/first.c\" $(pkg-config --cflags --libs sherd)"
expect_first "first.c, pkg-config, shared" "$work/first"
eval "\"$cc\" -o \"$work/first static\" \"$examples/first.c\" $static"
expect_first "first.c, pkg-config, static" "$work/first static"

# The journal in PostgreSQL is a library of its own, and only that needs libpq.
if [ -e "$libdir/libsherd-postgres.so" ]; then
    for library in libsherd.so libsherd.a libsherd-sim.a; do
        if nm -u "$libdir/$library" 2>/dev/null | grep -q ' PQ' || nm -D -u "$libdir/$library" 2>/dev/null | grep -q ' PQ'; then
            echo "$library needs libpq"
            exit 1
        fi
    done
    shown=$({ nm -D --defined-only "$libdir/libsherd-postgres.so"; nm -g --defined-only "$libdir/libsherd-postgres.a"; } |
        awk 'NF == 3 && $3 !~ /^(sherd_postgres_register(@@SHERD_0)?|SHERD_0)$/ { print $3 }')
    [ -z "$shown" ] || { echo "libsherd-postgres shows $shown"; exit 1; }
    for file in 001.sql roles.sql; do
        [ -e "$prefix/share/sherd/postgres/$file" ] || { echo "$file is not installed"; exit 1; }
    done
    pass "libsherd-postgres alone needs libpq"
    eval "\"$cc\" -Wall -Wextra -Werror -o \"$work/postgres\" \"$examples/guide/postgres.c\" $(pkg-config --cflags --libs sherd-postgres)"
    static=$(pkg-config --static --cflags --libs sherd-postgres | sed 's/-lsherd-postgres\b/-l:libsherd-postgres.a/; s/-lsherd\b/-l:libsherd.a/')
    eval "\"$cc\" -o \"$work/postgres static\" \"$examples/guide/postgres.c\" $static"
    LD_LIBRARY_PATH="$libdir" python3 -B "$here/postgres_installed.py" "$prefix/bin/sherd-conform" "$libdir/libsherd-postgres.so" \
        "$work/postgres" "$work/postgres static"
    pass "a journal in PostgreSQL, shared and static"
fi

# The management by HTTP is a library of its own, and only that needs libevent.
if [ -e "$libdir/libsherd-http.so" ]; then
    for library in libsherd.so libsherd.a libsherd-sim.a; do
        if nm -u "$libdir/$library" 2>/dev/null | grep -q ' evhttp_' || nm -D -u "$libdir/$library" 2>/dev/null | grep -q ' evhttp_'; then
            echo "$library needs libevent"
            exit 1
        fi
    done
    shown=$({ nm -D --defined-only "$libdir/libsherd-http.so"; nm -g --defined-only "$libdir/libsherd-http.a"; } |
        awk 'NF == 3 && $3 !~ /^(sherd_http_(register|get_status|counter_text)(@@SHERD_0)?|SHERD_0)$/ { print $3 }')
    [ -z "$shown" ] || { echo "libsherd-http shows $shown"; exit 1; }
    for file in systemd/app.service docker/Dockerfile kubernetes/app.yaml; do
        [ -e "$documents/packaging/$file" ] || { echo "$file is not installed"; exit 1; }
    done
    pass "libsherd-http alone needs libevent"
    for file in prometheus/sherd-alerts.yml grafana/sherd-overview.json; do
        [ -e "$prefix/share/sherd/$file" ] || { echo "$file is not installed"; exit 1; }
    done
    eval "\"$cc\" -Wall -Wextra -Werror -D_POSIX_C_SOURCE=200809L -o \"$work/managed\" \"$examples/guide/managed.c\" $(pkg-config --cflags --libs sherd-http)"
    static=$(pkg-config --static --cflags --libs sherd-http | sed 's/-lsherd-http\b/-l:libsherd-http.a/; s/-lsherd\b/-l:libsherd.a/')
    eval "\"$cc\" -D_POSIX_C_SOURCE=200809L -o \"$work/managed static\" \"$examples/guide/managed.c\" $static"
    mkdir "$work/managed by cmake"
    cp "$examples/guide/managed.c" "$work/managed by cmake"
    cat >"$work/managed by cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(managed C)
find_package(sherd REQUIRED)
add_executable(managed managed.c)
target_compile_definitions(managed PRIVATE _POSIX_C_SOURCE=200809L)
target_link_libraries(managed PRIVATE sherd::http)
END
    cmake -S "$work/managed by cmake" -B "$work/managed by cmake/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
        >"$work/cmake.log" && cmake --build "$work/managed by cmake/build" >>"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
    for program in "$work/managed" "$work/managed static" "$work/managed by cmake/build/managed"; do
        LD_LIBRARY_PATH="$libdir" python3 -B "$here/management_installed.py" "$program"
    done
    pass "management by HTTP, shared, static and with find_package"
fi

# libsherd-sim.a replaces libsherd. A program may still link both, in any order.
[[ " $(pkg-config --libs sherd-sim) " != *" -lsherd "* ]] || { echo "sherd-sim asks for sherd"; exit 1; }
for packages in sherd-sim "sherd-sim sherd" "sherd sherd-sim"; do
    # shellcheck disable=SC2086
    eval "\"$cc\" -Wall -Wextra -Werror -Wl,--as-needed -o \"$work/sim\" \"$examples/hello_sim.c\" $(pkg-config --cflags --libs $packages)"
    if [[ $packages == "sherd "* ]]; then
        LD_LIBRARY_PATH="$libdir" "$work/sim" 1 2>"$work/sim.log" || { cat "$work/sim.log"; exit 1; }
        pass "pkg-config, $packages"
    else
        expect_sim "pkg-config, $packages" "$work/sim"
    fi
done

# Breaks hello.c, so that it changes its state without storing an event. hello_sim must report the
# failure and its seed.
mkdir "$work/broken"
cp "$examples/hello_sim.c" "$work/broken"
sed 's/sherd_persist(ctx, GREETED, msg->body)/hello_apply(self, GREETED, msg->body)/' "$examples/hello.c" >"$work/broken/hello.c"
if cmp -s "$examples/hello.c" "$work/broken/hello.c"; then
    echo "hello.c has no line that this test can break"
    exit 1
fi
eval "\"$cc\" -o \"$work/broken/hello_sim\" \"$work/broken/hello_sim.c\" $(pkg-config --cflags --libs sherd-sim)"
if "$work/broken/hello_sim" 10 2>"$work/broken/said"; then
    echo "hello_sim does not find that hello.c forgets"
    exit 1
fi
sed -i 's/[0-9][0-9]*/N/g' "$work/broken/said"
for line in "Person N: N known, N before" "seed N: the test returned N at t=NmN.Ns"; do
    grep -qxF -- "$line" "$work/broken/said" || { echo "hello_sim does not print: $line"; cat "$work/broken/said"; exit 1; }
done
pass "hello_sim of an entity that forgets"

cmake -G Ninja -S "$here/consumer" -B "$work/cmake build" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" -DEXAMPLES="$examples" >"$work/cmake.log" ||
    { cat "$work/cmake.log"; exit 1; }
cmake --build "$work/cmake build" >"$work/cmake.log" || { cat "$work/cmake.log"; exit 1; }
expect "find_package, shared" "$work/cmake build/consumer_shared"
expect "find_package, static" "$work/cmake build/consumer_static"
expect_first "first.c, find_package, shared" "$work/cmake build/first_shared"
expect_first "first.c, find_package, static" "$work/cmake build/first_static"
expect_sim "find_package, simulator" "$work/cmake build/consumer_sim"

# The installed folder still works after it is moved.
mv "$prefix" "$work/moved"
libdir=${libdir/the prefix/moved}
export PKG_CONFIG_PATH="$libdir/pkgconfig"
eval "\"$cc\" -o \"$work/moved shared\" \"$here/consumer/main.c\" $(pkg-config --cflags --libs sherd)"
expect "pkg-config, after a move" "$work/moved shared"
echo "$passed passed, 0 failed"
