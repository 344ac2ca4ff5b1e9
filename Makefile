# Every target does its own set-up, so each works on a fresh clone. `make help` lists them.

# The Go release that go.mod names, fetched when the installed one is older.
export GOTOOLCHAIN := auto

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
SOLIDITY_TOOLS := contracts/node_modules/.installed

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: dev
dev: build ## Run the whole product on this machine: API, chain, contracts, funded wallets
	@bin/sortie dev

.PHONY: build
build: ## Build bin/sortie
	@test -e bin/sortie || echo "build: the first build fetches and compiles all dependencies, which takes minutes" >&2
	@go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o bin/sortie ./cmd/sortie

.PHONY: test
test: setup ## Run every test: Go, Solidity, command line
	@scripts/test

.PHONY: short
short: ## Run the Go tests that need nothing but Go: no PostgreSQL, anvil, Node, S3 server
	@go test -short ./...
	@go -C bench test -short ./...

.PHONY: race
race: setup ## Run the Go tests under the race detector
	@go test -race -timeout 120m ./...
	@go -C bench test -race -timeout 60m ./...

.PHONY: lint
lint: ## Check formatting, vet and staticcheck
	@scripts/lint

.PHONY: generate
generate: $(SOLIDITY_TOOLS) ## Rebuild contract artifacts, Go bindings and the gas snapshot
	@go generate ./...

.PHONY: verify
verify: generate ## Fail when a generated file differs from what is committed
	@scripts/verify

.PHONY: mutants
mutants: setup ## Plant bugs in the contract and in the service, one at a time, and expect the tests to see each
	@cd contracts && node mutants.mjs
	@node scripts/mutants.mjs

.PHONY: soak
soak: setup ## Run twenty honest clients for ten minutes while an attacker does what costs it nothing
	@SORTIE_ATTACK_SOAK=10m go test ./e2e -run TestAttackSoak -v -count=1 -timeout 30m

.PHONY: money
money: setup ## Move money at random for 12,000 steps and compare the books with the contract after each
	@SORTIE_MONEY_STEPS=12000 go test ./internal/service -run 'TestBooksEqualTheChain$$' -v -count=1 -timeout 120m

.PHONY: bench
bench: ## Measure the hot paths as ratios against bare limits of the same run
	@scripts/bench

.PHONY: fuzz
fuzz: ## Fuzz every parser, a minute each
	@scripts/fuzz 60s

.PHONY: setup
setup: $(SOLIDITY_TOOLS) ## Install what the tests need (the other targets call it)
	@scripts/setup

$(SOLIDITY_TOOLS): contracts/package-lock.json
	@echo "setup: installing the Solidity tools from npm" >&2
	@cd contracts && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

.PHONY: clean
clean: ## Remove what was built; data in .sortie stays
	@rm -rf bin contracts/out contracts/cache contracts/node_modules
