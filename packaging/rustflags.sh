#!/bin/sh
# Prints flags for CARGO_ENCODED_RUSTFLAGS: those of RUSTFLAGS, the arguments, and the names that
# folders get in the binary. Messages of panics hold the paths of sources; without this they would
# tell where it was built, and no two places would build the same. Encoded, as folders may have spaces.
set -eu

home=${CARGO_HOME:-${HOME:-}/.cargo}
here=$(pwd -P)

# The folder of the downloaded crates must be known before the build, or the second build would have
# other flags than the first and begin anew.
[ -d vendor ] || [ -d "$home/registry/src" ] || "${CARGO:-cargo}" fetch --locked >&2

set -f # RUSTFLAGS is words, not patterns
# shellcheck disable=SC2086
set -- ${RUSTFLAGS:-} "$@"
set +f

# Of several that fit, the last counts. Crates have one name, be they downloaded or in vendor/.
set -- "$@" "--remap-path-prefix=$home=/cargo" "--remap-path-prefix=$here=/mcp-uplift"
for folder in "$home"/registry/src/* "$here/vendor"; do
	set -- "$@" "--remap-path-prefix=$folder=/crates"
done

printf '\037%s' "$@" | cut -b2-
