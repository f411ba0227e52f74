# Pinfold's build. Go, make and git are all it takes; what else a target needs it installs by itself (Debian packages through
# apt, tools by Go from tools/go.mod). CONTRIBUTING.md says which target is for what.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

GO ?= go
# Development tools have a module of their own, so that none of their dependencies becomes the project's.
TOOL := $(GO) tool -modfile=tools/go.mod
# Every platform must compile and pass vet, also those that can enforce nothing yet: there the code says so at run time.
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
# The folders with programs that people install.
PROGRAMS := ./cmd/... ./plugins/...
# Narrows test and test-short: make test PKG=./core/...
PKG ?= ./...
# On a CI machine, in a run of everything, a test that must run there may not skip; elsewhere a skip is only shown.
TESTLOG := $(GO) run ./internal/mustrun $(if $(CI),$(if $(filter ./...,$(PKG)),-list .ci/must-run))

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Build pinfold and watch it confine a real build and a hostile script
	PATH="$(CURDIR)/bin:$$PATH" PINFOLD="$(CURDIR)/bin/pinfold" $(GO) run ./examples/tour

.PHONY: build
build: ## Build the programs into bin/
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ $(PROGRAMS)

.PHONY: test
# -count=1: the kernel is not among the inputs that Go's test cache compares. -p 1: every host sweeps what dead hosts of the
# user left on the machine, so packages that kill hosts on purpose would clear away each other's scenes.
test: need-cc ## Run every test under the race detector, against the real kernel
	$(GO) test -race -count=1 -p 1 -json $(PKG) | $(TESTLOG)

.PHONY: test-short
test-short: ## Run the quick tests without the race detector
	$(GO) test -short -json $(PKG) | $(GO) run ./internal/mustrun

.PHONY: bench
bench: build need-cc ## Time launches, sessions and kills beside a bare fork and exec
	PATH="$(CURDIR)/bin:$$PATH" PINFOLD="$(CURDIR)/bin/pinfold" $(GO) run ./internal/bench

# GOLDEN=update takes what was seen for right, ONLY=REGEXP narrows it to some machines: make matrix-all ONLY='6.1, user'
MATRIX := $(GO) run ./internal/matrix $(if $(filter update,$(GOLDEN)),-update) $(if $(ONLY),-only '$(ONLY)')

.PHONY: matrix
matrix: ## Boot four kernels, and compare what is enforced in each with README.md
	$(MATRIX)

.PHONY: matrix-all
matrix-all: ## The same as any user, with any layout of cgroups, with and without Landlock
	$(MATRIX) -all

.PHONY: goldens
goldens: ## Rewrite the golden files under testdata/ from what the code does now
	$(GO) test -count=1 $$(grep -rlE 'flag\.Bool\("update"|internal/golden"' --include='*_test.go' . | xargs -r dirname | LC_ALL=C sort -u) -update

.PHONY: lint
lint: ## Check formatting, go vet for every platform, staticcheck
	@echo "gofmt"; unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w:" >&2; echo "$$unformatted" >&2; exit 1; fi
	@for platform in $(PLATFORMS); do \
		echo "go vet $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) vet ./...; \
	done
	@# Built apart from its run, for a run under another GOOS would build it for that one.
	$(GO) build -modfile=tools/go.mod -o bin/tools/ honnef.co/go/tools/cmd/staticcheck
	@# U1000, unused code, counts on Linux alone: the pure part of a Linux backend compiles everywhere and is used there.
	@for platform in linux/amd64 linux/arm64 darwin/arm64; do \
		echo "staticcheck $$platform"; \
		checks=inherit; [ $${platform%/*} = linux ] || checks=inherit,-U1000; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} bin/tools/staticcheck -checks "$$checks" ./...; \
	done

.PHONY: cross
cross: ## Build the programs for every platform into dist/
	@for platform in $(PLATFORMS); do \
		echo "go build $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} \
			$(GO) build -trimpath -o dist/$${platform/\//-}/ $(PROGRAMS); \
	done

.PHONY: proto
proto: ## Format and lint the contract and regenerate its Go
	$(TOOL) buf format --write
	$(TOOL) buf lint
	$(TOOL) buf generate

.PHONY: check-proto
check-proto: ## Fail if the contract breaks a lint rule or its generated Go is not up to date
	$(TOOL) buf format --diff --exit-code
	$(TOOL) buf lint
	tools/check-proto.sh

.PHONY: clean
clean: ## Remove what the build made
	rm -rf bin dist

# The race detector links with a C compiler. The pure Go builds above do not need one.
.PHONY: need-cc
need-cc:
	@tools/need-cc.sh
