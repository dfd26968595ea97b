# The toolchain of our own builds; embedders need only what go.mod says.
export GOTOOLCHAIN = go1.27.2+auto
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

# The C of SQLite, translated to Go, takes five times as long with -race, which
# finds nothing in it: its locks are C's.
QUICKER = -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc/...=-race=false

.DEFAULT_GOAL := help
.PHONY: help check fmt vet lint audit vuln modules licences sbom reproducible supply mutate servers test e2e race verify bench figures scale fuzz build release dev clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: fmt vet lint test ## what every commit passes

fmt: ## fail if gofmt would change anything
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

vet: ## go vet
	go vet ./...

lint: ## staticcheck
	go run $(STATICCHECK) ./...

audit: ## gosec and errcheck
	.ci/audit

vuln: build ## govulncheck on the source and the binary; fails if no database can be reached
	.ci/vuln --self-test
	.ci/vuln ./authsvc

modules: ## the modules are as go.mod and go.sum say, and none too many
	go mod verify
	go mod tidy -diff
	go run ./internal/tools/inventory count

licences: ## write THIRD_PARTY_LICENSES.md
	go run ./internal/tools/inventory licences

sbom: build ## out/authsvc.cdx.json, what the binary is made of (CycloneDX)
	go run ./internal/tools/inventory sbom authsvc out/authsvc.cdx.json

reproducible: ## two builds in different places, with different caches, have the same bytes
	.ci/reproducible

supply: audit modules sbom reproducible ## the supply chain, as CI checks it, but for vuln
	go run ./internal/tools/inventory licences -check

mutate: ## take out each security check in turn; a test has to fail (up to an hour)
	go run ./internal/tools/mutate

servers: ## PostgreSQL, MariaDB, Redis and FerretDB for the tests, from Debian's packages
	.ci/servers

test: ## all tests; those of a database server that is not there are skipped
	go test -race -shuffle=on $(QUICKER) $(TESTFLAGS) ./...

e2e: ## also those with Node.js and Chromium, but for verify
	AUTHSVC_E2E=1 go test -race -shuffle=on $(QUICKER) -p 3 -timeout 25m $(TESTFLAGS) $$(go list ./... | grep -v /verify$$)

race: ## the attacks that race, a few of each, with -race
	AUTHSVC_VERIFY=quick go test -race -shuffle=on $(QUICKER) -timeout 15m -v -run 'TestVerify/(race|session|tokens|email)' ./verify

AUTHSVC_VERIFY ?= ci
REPORT ?= out/verify.txt
verify: ## attacks and faults, minutes; AUTHSVC_VERIFY=full takes hours; writes REPORT=out/verify.txt
	@mkdir -p $(dir $(REPORT))
	AUTHSVC_VERIFY=$(AUTHSVC_VERIFY) AUTHSVC_VERIFY_REPORT=$(abspath $(REPORT)) \
	go test -count 1 -p 1 -timeout $(if $(filter full,$(AUTHSVC_VERIFY)),48h,40m) -v ./verify/...

bench: ## ns/op, B/op and allocs/op of the routes that matter
	go test -run '^$$' -bench . -benchtime 2000x . ./internal/seal ./internal/test/engine
	go test -run '^$$' -bench . -benchtime 20000x ./adapter/sqlite

figures: ## hold GET session to its floor (no -race)
	go test -run TestSessionFloor -v .

USERS = 100000
scale: ## GET session, the sweep and the revocation log in stores of USERS=1000000 (default 100000)
	AUTHSVC_SCALE=$(USERS) go test -count 1 -p 1 -timeout 30m -run Scale -v ./internal/test/scale ./adapter/redis | awk '!/ rows\/s$$/'

FUZZTIME = 10s
fuzz: ## every fuzz target for FUZZTIME=30m (default 10s)
	.ci/fuzz $(FUZZTIME)

build: ## the static binary ./authsvc
	CGO_ENABLED=0 GOFLAGS= go build -trimpath -ldflags '-s -w' -o authsvc ./cmd/authsvc

release: supply vuln ## out/: the binary, its SBOM, licences and checksums
	mkdir -p out
	cp authsvc THIRD_PARTY_LICENSES.md LICENSE out/
	cd out && sha256sum authsvc authsvc.cdx.json THIRD_PARTY_LICENSES.md LICENSE >SHA256SUMS

dev: ## sign in on http://localhost:3000
	go run ./cmd/authsvc dev

clean: ## remove what builds and runs left
	rm -rf authsvc out .authsvc
