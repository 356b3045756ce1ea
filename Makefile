# mcp-uplift: build, test, install. `make help` lists the targets.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

CARGO  ?= cargo
PREFIX ?= /usr/local
TARGET := $(or $(CARGO_TARGET_DIR),target)
BIN    := $(TARGET)/release/mcp-uplift
LOG    := $(TARGET)/test.log

# Where installed files go, and below share/ what is looked for there under these names.
ROOT      = $(DESTDIR)$(PREFIX)
MAN_PAGE := man/man1/mcp-uplift.1
FOR_BASH := bash-completion/completions/mcp-uplift
FOR_ZSH  := zsh/site-functions/_mcp-uplift
FOR_FISH := fish/vendor_completions.d/mcp-uplift.fish
SHARED   := $(MAN_PAGE) $(FOR_BASH) $(FOR_ZSH) $(FOR_FISH)

.PHONY: release dynamic check test sim fuzz mutants bench interop sweep conformance demo pages install \
	uninstall vendor dist size clean help

# Static, and at a fixed address: position-independent, the tables that a static program relocates
# itself by would be 55 KB of it.
# Random bytes come by a system call: looking for a function to call by name needs a dynamic linker,
# and without one a device file would be opened.
STATIC := -C target-feature=+crt-static -C relocation-model=static -C link-arg=-Wl,--no-eh-frame-hdr \
	--cfg getrandom_backend=\"linux_getrandom\"

release:   ## one static binary: target/release/mcp-uplift
	flags=$$(CARGO="$(CARGO)" sh packaging/rustflags.sh $(STATIC)); \
	CARGO_ENCODED_RUSTFLAGS="$$flags" $(CARGO) build --release --locked --bins

dynamic:   ## the same binary, linked to the system's C library
	$(CARGO) build --release --locked --bins

check:     ## the quick look: formatting, lints, unit tests
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	$(CARGO) test --locked --lib --bins

test:      ## everything that needs no network, with the counts at the end
	$(CARGO) fmt --check
	$(CARGO) clippy --locked --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --no-deps --lib --document-private-items
	@$(CARGO) test --locked --no-fail-fast 2>&1 | tee "$(LOG)" && status=0 || status=$$?; \
	sed -nE 's/^(.* )?([0-9]+) passed[,;] ([0-9]+) failed.*/\2 \3/p' "$(LOG)" | \
	awk '{ok += $$1; bad += $$2} END {printf "make test: %d passed, %d failed\n", ok, bad}'; \
	exit $$status

sim:       ## play N seeds of the simulation, optimized, e.g. make sim N=1000000
	SIM_SEEDS=$(or $(N),100000) CARGO_PROFILE_DEV_OPT_LEVEL=2 \
	$(CARGO) test --locked --target-dir "$(TARGET)/sim" --test sim -- --nocapture

fuzz:      ## play each fuzz target for SECONDS on all cores, optimized, e.g. make fuzz SECONDS=600
	FUZZ_SECONDS=$(or $(SECONDS),60) CARGO_PROFILE_DEV_OPT_LEVEL=2 \
	$(CARGO) test --locked --target-dir "$(TARGET)/fuzz" --test fuzz

mutants:   ## plant faults in the core, one by one, and see the checks catch them, e.g. make mutants ONLY=lane
	$(CARGO) build --locked --example mutants
	CARGO="$(CARGO)" "$(TARGET)/debug/examples/mutants" "$(TARGET)/mutants" $(ONLY)

bench: release ## measure what the bridge costs and write it into README.md; QUICK=1 only shows it
	$(if $(QUICK),,$(CARGO) build --locked --example bench-table)
	@BRIDGE="$(BIN) --" BRIDGE_PARALLEL="$(BIN) --parallel 32 --" BENCH_BUILD="$(TARGET)/bench" \
	bench/bench.py $(if $(QUICK),--quick,--json bench/results.json --check bench/targets.json) \
	&& status=0 || status=$$?; \
	[ -n "$(QUICK)" ] || [ $$status -gt 1 ] || \
	"$(TARGET)/debug/examples/bench-table" bench/results.json README.md; \
	exit $$status

# Of some, nothing is written: a report is of all.
define prove
	@BRIDGE="$(BIN) --" $(1) \
	$(or $(foreach name,$(ONLY),--only '$(name)'),--json evidence/results/$(2).json) \
	&& status=0 || status=$$?; \
	$(if $(ONLY),,UPDATE_DOCS=1 $(CARGO) test --quiet --locked --test evidence;) \
	exit $$status
endef

interop: release ## real clients against real servers, see evidence/README.md; ONLY="rmcp-* fixture" for some
	$(call prove,evidence/interop/run.sh,interop)

sweep: release ## published servers, directly and through the bridge; ONLY=NAME for some
	$(call prove,evidence/sweep/sweep.py,sweep)

conformance: release ## the official suite; ONLY=SCENARIO for some
	$(call prove,node evidence/conformance/run.mjs,conformance)
	$(if $(ONLY),,$(call prove,node evidence/conformance/run.mjs --era legacy,conformance-legacy))

demo: release ## a checked conversation with a legacy server through the bridge
	$(CARGO) build --locked --examples
	"$(TARGET)/debug/examples/demo" "$(BIN)" "$(TARGET)/debug/examples/legacy-server"

pages:     ## write the man page and the shell completions in share/ anew, from the tables of options
	$(CARGO) run --quiet --locked --example pages -- share

install:   ## copy the built binary (run make first), man page and completions below $(DESTDIR)$(PREFIX)
	@test -x "$(BIN)" || { echo "$(BIN) is missing: run make first" >&2; exit 1; }
	install -d "$(ROOT)/bin" $(patsubst %,"$(ROOT)/share/%",$(dir $(SHARED)))
	install -m 755 "$(BIN)" "$(ROOT)/bin/mcp-uplift"
	install -m 644 share/man/mcp-uplift.1 "$(ROOT)/share/$(MAN_PAGE)"
	install -m 644 share/completions/mcp-uplift.bash "$(ROOT)/share/$(FOR_BASH)"
	install -m 644 share/completions/_mcp-uplift "$(ROOT)/share/$(FOR_ZSH)"
	install -m 644 share/completions/mcp-uplift.fish "$(ROOT)/share/$(FOR_FISH)"

uninstall: ## remove what was installed
	rm -f "$(ROOT)/bin/mcp-uplift" $(patsubst %,"$(ROOT)/share/%",$(SHARED))

vendor:    ## copy the crates to vendor/, so that builds need no network
	$(CARGO) vendor --quiet --locked --versioned-dirs vendor
	install -D -m 644 packaging/vendored.toml .cargo/config.toml
	@echo "Builds use vendor/ now. Undo: rm -r vendor .cargo/config.toml"

dist:      ## the archives to hand out, with their sums and a bill of materials: target/dist
	CARGO="$(CARGO)" python3 packaging/dist.py "$(TARGET)/dist"

size:      ## facts about the built binary
	@test -x "$(BIN)" || { echo "$(BIN) is missing: run make first" >&2; exit 1; }
	@echo "$$(wc -c < "$(BIN)") bytes"
	@if command -v file >/dev/null; then file -b "$(BIN)"; fi
	@if command -v ldd >/dev/null; then ldd "$(BIN)" 2>&1 || true; fi

clean:     ## remove what was built
	$(CARGO) clean

help:      ## this list
	@sed -nE 's/^([a-z]+):[^#]*## (.*)$$/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18
