# The toolchain of our own builds; embedders need only what go.mod says.
export GOTOOLCHAIN = go1.27.2+auto
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.DEFAULT_GOAL := help
.PHONY: help check fmt vet lint servers test e2e bench figures scale fuzz build dev clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

check: fmt vet lint test ## what every commit passes

fmt: ## fail if gofmt would change anything
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

vet: ## go vet
	go vet ./...

lint: ## staticcheck
	go run $(STATICCHECK) ./...

servers: ## PostgreSQL, MariaDB, Redis and FerretDB for the tests, from Debian's packages
	.ci/servers

test: ## all tests; those of a database server that is not there are skipped
	go test -race -shuffle=on $(TESTFLAGS) ./...

e2e: ## also those with Node.js and Chromium
	AUTHSVC_E2E=1 go test -race -shuffle=on -timeout 20m $(TESTFLAGS) ./...

bench: ## ns/op, B/op and allocs/op of the routes that matter
	go test -run '^$$' -bench . -benchtime 2000x . ./internal/seal
	go test -run '^$$' -bench . -benchtime 20000x ./adapter/sqlite

figures: ## hold GET session to its floor (no -race)
	go test -run TestSessionFloor -v .

USERS = 100000
scale: ## GET session and the sweep in stores of USERS=1000000 (default 100000)
	AUTHSVC_SCALE=$(USERS) go test -count 1 -timeout 30m -run Scale -v ./internal/scale | awk '!/ rows\/s$$/'

FUZZTIME = 10s
fuzz: ## every fuzz target for FUZZTIME=30m (default 10s)
	.ci/fuzz $(FUZZTIME)

build: ## the static binary ./authsvc
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o authsvc ./cmd/authsvc

dev: ## sign in on http://localhost:3000
	go run ./cmd/authsvc dev

clean: ## remove what builds and runs left
	rm -rf authsvc out .authsvc
