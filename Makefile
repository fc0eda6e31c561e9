# Everything a developer does here, by name. Steps whose sources did not change are skipped.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DELETE_ON_ERROR:

# Tests need traces, and points at which they kill. All builds of one target directory are alike, so that nothing is built
# twice.
features := --features otlp,fail/failpoints
# What proves: programs of tests that take minutes each.
proofs := --test faults --test model

client_sources := $(shell find client/src -type f) client/tsconfig.json
client_built   := client/dist/.built
client_modules := client/node_modules/.package-lock.json
web_sources := $(shell find web-demo \( -name node_modules -o -name dist -o -name generated.ts \) -prune -o -type f -print) schema/schema.graphql ops/alerts.yaml
web_built   := web-demo/dist/.built
web_modules := web-demo/node_modules/.package-lock.json
example_modules := examples/your-app/node_modules/.package-lock.json

.PHONY: help
help: ## List these targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 22

.PHONY: run
run: prerequisites web ## Build and start Plaudit with demo data; ARGS="…" goes to `plaudit serve`
	cargo build --profile quick -p plaudit
	exec ./target/quick/plaudit serve --seed-if-empty $(ARGS)

.PHONY: watch
watch: $(client_built) $(web_modules) ## Serve the web pages with hot reload, beside `make run` or the server that PLAUDIT_URL names
	npm --prefix web-demo run dev

.PHONY: cluster
cluster: prerequisites-cluster web ## Start Plaudit on a Redis Cluster and PostgreSQL with a standby, all on this machine; ARGS as for run
	cargo build --profile quick -p plaudit
	exec node scripts/cluster/main.mjs $(ARGS)

.PHONY: example
example: $(client_built) $(example_modules) ## Start the example app beside `make run`, at http://127.0.0.1:3000/; PORT=4000
	exec node examples/your-app/server.js

.PHONY: client-package
client-package: $(client_built) ## Make the npm package plaudit-client, target/client/plaudit-client-<version>.tgz
	mkdir -p target/client
	npm pack ./client --pack-destination target/client --silent

.PHONY: test
test: prerequisites-test lint test-rust test-clients test-browser ## Check style and lints, and run all tests but those of `prove`

.PHONY: prove
prove: prerequisites-test web audit ## Check dependencies, explore the models, run schedules of faults, compare plans for long
	cargo test $(features) --no-fail-fast $(proofs)
	PLANS_SECONDS=60 cargo test $(features) --test oracle

# Most of a test's time is waiting for its servers: with two tests more at once than there are cores, all take a third less.
.PHONY: test-rust
test-rust: export RUST_TEST_THREADS ?= $(shell expr $$(nproc) + 2)
test-rust: prerequisites-test web ## Run the Rust tests
	cargo test $(features) --no-fail-fast --lib --test integration --test calls --test style --test checker

.PHONY: model
model: ## Explore the models further than the tests do: minutes, and some GB of memory
	cargo test -p plaudit-model -- --include-ignored --nocapture

.PHONY: soak
soak: prerequisites-test web ## Kill and stall Plaudit and its stores for an hour; FOR=10m, SCHEDULES=100, KIND=cluster, LOSS=2 (percent of packets)
	$(if $(LOSS),scripts/lossy.sh $(LOSS)) cargo test $(features) --test faults soak -- --ignored --nocapture

# Each run has its own corpus; copy inputs that are worth keeping into fuzz/corpus by hand.
.PHONY: fuzz
fuzz: ## Try random bytes on each fuzz target, a minute each; FOR=seconds, TARGETS="guard ids"
	scripts/fuzz.sh

.PHONY: test-browser
test-browser: prerequisites-test web $(example_modules) ## Run the browser tests against a server of their own
	npm --prefix web-demo test --silent
	cargo build $(features) --bin plaudit
	tests/browser/run.sh

.PHONY: pictures
pictures: prerequisites-test web ## Take the pictures of README.md again
	cargo build $(features) --bin plaudit
	PLAUDIT_BIN=target/debug/plaudit tests/browser/run.sh pictures

.PHONY: test-clients
test-clients: prerequisites-test web ## Run the tests of plaudit-client and of real clients from npm, and the audit of GraphQL over HTTP
	npm --prefix client test --silent
	cargo build $(features) --bin plaudit
	tests/clients/run.sh

# No part of `make test`, because of its packages.
.PHONY: test-gateway
test-gateway: prerequisites-test web ## Run the tests of a federated graph with Hive Gateway from npm, some 500 MB
	cargo build $(features) --bin plaudit
	tests/gateway/run.sh

# No part of `make test`, because it needs root, systemd and cargo-deb.
.PHONY: test-package
test-package: export PROFILE ?= quick
test-package: prerequisites-test web ## Install, run, restore, upgrade and remove packages under a systemd of their own, as root; needs cargo-deb
	scripts/package.sh --deb-version 0.1.0-1~first
	scripts/package.sh
	scripts/try-package.sh target/package/plaudit_0.1.0-1~first_*.deb target/package/plaudit_0.1.0-1_*.deb

# No part of `make test`, because it builds another revision.
.PHONY: test-upgrade
test-upgrade: prerequisites-test web ## Run the last release, or the newest revision with equal migrations, beside this source, under likes; or REV=<revision>
	scripts/test-upgrade.sh

.PHONY: bench
bench: prerequisites web ## Run the benchmarks
	cargo measure

.PHONY: package
package: prerequisites web ## Build a package for Debian into target/package; needs cargo-deb
	scripts/package.sh

.PHONY: style
style: ## Check formatting, and the sums and rules of tests/style, within seconds
	cargo fmt --all --check
	cargo test --manifest-path tests/style/Cargo.toml --quiet

# Cargo repeats the warnings of what is compiled already.
.PHONY: lint
lint: style web ## Check style and lints, also of the web pages
	cargo test $(features) --all-targets --no-run 2>&1 | awk '{ print } /^warning/ { found = 1 } END { exit found }'

.PHONY: check
check: lint ## Check style, lints and units: what to run before a commit
	cargo test $(features) --lib --quiet

.PHONY: audit
audit: prerequisites-test ## Check dependencies: advisories, licences, sources; STRICT=1 fails when some cannot be checked
	@scripts/audit.sh

.PHONY: fmt
fmt: ## Format the Rust code
	cargo fmt --all

.PHONY: web
web: $(web_built) ## Build the web pages into web-demo/dist, and plaudit-client, which they use

# The server's binary contains the pages, so they are built first.
$(web_built): $(web_sources) $(web_modules) $(client_built)
	npm --prefix web-demo run build
	touch $@

$(client_built): $(client_sources) $(client_modules)
	npm --prefix client run build
	touch $@

$(client_modules): client/package.json client/package-lock.json
	npm --prefix client ci
	touch $@

$(web_modules): web-demo/package.json web-demo/package-lock.json
	npm --prefix web-demo ci
	touch $@

$(example_modules): examples/your-app/package.json examples/your-app/package-lock.json
	npm --prefix examples/your-app ci
	touch $@

.PHONY: prerequisites
prerequisites: ## Install what is missing to build and run
	@scripts/prerequisites.sh

.PHONY: prerequisites-cluster
prerequisites-cluster:
	@scripts/prerequisites.sh cluster

.PHONY: prerequisites-test
prerequisites-test:
	@scripts/prerequisites.sh test

.PHONY: clean
clean: ## Remove all that was built, but no data
	rm -rf target client/dist client/node_modules web-demo/dist web-demo/node_modules web-demo/shared/api/generated.ts tests/browser/node_modules tests/clients/node_modules tests/gateway/node_modules examples/your-app/node_modules
