#!/bin/sh
# setup.sh FOLDER    installs every pinned client, server and tool there; fast when nothing changed
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=$1
mkdir -p "$cache"

fresh() { # fresh NAME FILE...: true when NAME was installed from exactly these files
    name=$1; shift
    sum=$(cat "$@" | sha256sum | cut -c1-64)
    [ -e "$cache/$name.stamp" ] && [ "$(cat "$cache/$name.stamp")" = "$sum" ]
}

for name in js cli servers; do
    if ! fresh $name "$here/deps/$name/package.json" "$here/deps/$name/package-lock.json"; then
        echo "installing $name" >&2
        mkdir -p "$cache/$name"
        cp "$here/deps/$name/package.json" "$here/deps/$name/package-lock.json" "$cache/$name/"
        # not "npm ci": it refuses the lock of cli, where a Windows-only optional package has no entry
        (cd "$cache/$name" && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
        echo "$sum" >"$cache/$name.stamp"
    fi
done

for name in py-modern py-legacy py-validate py-fastmcp; do
    if ! fresh $name "$here/deps/$name.txt"; then
        echo "installing $name" >&2
        rm -rf "${cache:?}/$name"
        python3 -m venv "$cache/$name"
        "$cache/$name/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$here/deps/$name.txt"
        echo "$sum" >"$cache/$name.stamp"
    fi
done

if ! fresh rmcp "$here/clients/rmcp/Cargo.toml" "$here/clients/rmcp/Cargo.lock" "$here/clients/rmcp/src/main.rs"; then
    echo "building rmcp client" >&2
    CARGO_TARGET_DIR="$cache/rmcp-target" cargo build --quiet --release --locked --manifest-path "$here/clients/rmcp/Cargo.toml"
    cp "$cache/rmcp-target/release/interop-rmcp" "$cache/interop-rmcp"
    echo "$sum" >"$cache/rmcp.stamp"
fi
