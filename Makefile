# The toolchain of our own builds; embedders need only the version in go.mod.
export GOTOOLCHAIN = go1.27.2+auto
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
CYCLONEDX = github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0
VALE = github.com/vale-cli/vale/v3/cmd/vale@v3.22.0
BENCHSTAT = golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

# The C of SQLite, translated to Go, takes five times as long with -race, which finds
# nothing in it, because its locks are those of C. Our code does not use unsafe, so
# pointers need no check, either.
QUICKER = -gcflags=all=-d=checkptr=0 -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc/...=-race=false

# Most tests with servers wait for them, so more tests run at once than there are cores.
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
AT_ONCE = -parallel $(shell echo $$((2 * $(CORES))))

.DEFAULT_GOAL := help
.PHONY: help quick check racing calm counts timed full fmt vet lint prose audit vuln modules licences sbom parts reproducible rehome supply marks mutate servers test e2e race skew verify bench bench-check bench-gate bench-peers bench-docs bench-parts figures rotation scale fuzz build release newcomer routers traefik openapi openapi-check types dev clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# -race needs cgo, which go switches off if there is no C compiler.
RACE = $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

quick: fmt vet lint prose ## for use while you work: tests without -race, servers, attacks and size
	go test -short $$(go list ./... | grep -v -e /verify -e /test/scale)
	@echo "Left out: -race, database servers, verify, scale (make check), browsers and Node.js (make e2e)."

# Packages with files that only make full builds.
FULL = ./adapter/postgres ./engine ./cmd/authsvc ./internal/test/skewed

# Packages of the product, whose constants and types must also fit 32 bits.
PRODUCT = . ./engine/... ./adapter/... ./bearer ./mail ./provider ./cmd/...

# Packages that start no goroutines. They wait for servers or contain data, and run
# without -race, which would take four times as long; make full runs them with -race, too.
CALM = /adapter/mongodb$$ /adapter/mysql$$ /adapter/postgres$$ /provider$$ /test/counts$$
LATER = /verify$$ /verify/advisories$$ /e2e$$ /test/scale$$

check: fmt vet lint racing calm ## what every commit must pass; make -j2 -O check is faster
	@$(if $(RACE),,echo "Without -race: there is no C compiler, or CGO_ENABLED is 0.";) \
	echo "Left out: the attacks (make verify), browsers and Node.js (make e2e), size (make scale)."

racing: ## the part of make check with goroutines, with -race
	go test $(RACE) -shuffle=on $(QUICKER) -p $(shell echo $$((3 * $(CORES) / 2))) $(AT_ONCE) -timeout 20m $(TESTFLAGS) $$(go list ./... | grep -v $(addprefix -e ,$(CALM) $(LATER)))

calm: ## the part of make check without goroutines, which mostly waits
	go test -shuffle=on -p $(shell echo $$((2 * $(CORES)))) -parallel $(shell echo $$((3 * $(CORES)))) -timeout 20m $(TESTFLAGS) $$(go list ./... | grep $(addprefix -e ,$(CALM)))

counts: ## count the allocations of a session and a sign-in (no -race); make check counts statements, trips and commits
	go test -count 1 -run TestAllocations $(TESTFLAGS) ./engine ./internal/test/engine ./internal/test/counts

timed: ## all tests of make check, which then also compare times and memory
	go test -tags full -timeout 30m $(TESTFLAGS) $$(go list ./... | grep -v $(addprefix -e ,$(LATER)))

full: ## everything else, over an hour: races, stress, clocks, supply chain, fuzz, speed; ONLY="verify bench", MUTATE=1
	.ci/full

fmt: ## fail if gofmt would change anything
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

vet: ## go vet, also for machines of 32 bits
	go vet ./...
	go vet -tags full $(FULL)
	GOARCH=386 CGO_ENABLED=0 go vet $(PRODUCT)
	GOARCH=arm CGO_ENABLED=0 go vet $(PRODUCT)

lint: ## staticcheck
	go run $(STATICCHECK) ./...

# Vale parses Go with a library in C.
prose: ## check the English of comments, string literals and Markdown by the rules in .vale
	@$(if $(RACE),go run $(VALE) --no-global $$(git ls-files '*.go' '*.md') && rm -rf out/texts && go run ./internal/tools/prose texts out/texts && cd out/texts && go run $(VALE) --no-global --config ../../.vale.ini .,echo "Without Vale: there is no C compiler, or CGO_ENABLED is 0.")

audit: ## gosec and errcheck
	.ci/audit

vuln: build ## govulncheck on the source and the binary; fails if no database can be reached
	.ci/vuln --self-test
	.ci/vuln ./authsvc

modules: ## check that the modules match go.mod and go.sum, and that there are not too many
	go mod verify
	go mod tidy -diff
	go run ./internal/tools/inventory count

licences: ## write THIRD_PARTY_LICENSES.md
	go run ./internal/tools/inventory licences

marks: ## write internal/text/pages/marks_outlines.go, from the pinned npm package
	@mkdir -p out
	go run ./internal/tools/marks "out/$$(npm pack --silent --pack-destination out "$$(go run ./internal/tools/marks -package)")"

sbom: build ## write out/authsvc.cdx.json, the parts of the binary (CycloneDX)
	@mkdir -p out
	@$(MAKE) --no-print-directory parts

# The SBOM of an existing binary.
SBOM = out/authsvc.cdx.json
parts:
	go run ./internal/tools/inventory same $(BINARY)
	GOFLAGS= go run $(CYCLONEDX) bin -json -noserial -std -output $(SBOM) $(BINARY)
	grep -v '"timestamp": ' $(SBOM) >$(SBOM).new && mv $(SBOM).new $(SBOM)

# all, or some of linux/amd64,linux/arm64,…; the default is this machine.
TARGETS = host
reproducible: ## build a release in two places, with different caches, and compare the bytes; TARGETS=all
	go run ./internal/tools/release -twice -targets $(TARGETS)

rehome: ## move a copy of the module to another path, build it there, and install it from a module proxy
	go vet -tags rehome ./internal/tools/rehome
	go test -tags rehome -count 1 -timeout 60m -run TestCopy -v ./internal/tools/rehome

supply: audit modules sbom reproducible ## the supply chain, as CI checks it, except vuln
	go run ./internal/tools/inventory licences -check

mutate: ## remove each security check in turn; a test must fail (one to three hours)
	go run ./internal/tools/mutate -cover out/coverage.json

servers: ## start PostgreSQL, MariaDB, Redis and FerretDB for the tests, from Debian's packages
	.ci/servers

test: ## all tests; tests of missing database servers are skipped
	go test $(RACE) -shuffle=on $(QUICKER) $(TESTFLAGS) ./...

# With E2EFLAGS="-race …" it also finds races between the requests of browsers, and takes twice as long.
e2e: ## the tests with Node.js and browsers
	AUTHSVC_E2E=1 go test -shuffle=on $(AT_ONCE) -timeout 25m $(E2EFLAGS) $(TESTFLAGS) ./e2e

race: ## the packages of make calm and a few of the concurrent attacks, with -race
	go test -race -shuffle=on $(QUICKER) -timeout 30m -v $$(go list ./... | grep $(addprefix -e ,$(CALM) /verify/advisories$$))
	AUTHSVC_VERIFY=quick go test -race -shuffle=on $(QUICKER) -timeout 15m -v -run 'TestVerify/(race|session|tokens|email)' ./verify

SKEWED = ^(race|session|token)$$
skew: ## the attacks of SKEWED=^race$ on PostgreSQL, with replicas whose clocks are half a minute off
	AUTHSVC_VERIFY=quick go run ./internal/tools/skew -test.timeout 10m -test.v -test.run 'TestVerify/$(SKEWED)'

AUTHSVC_VERIFY ?= ci
REPORT ?= out/verify.txt
verify: ## attacks and faults (minutes; hours with AUTHSVC_VERIFY=full); writes REPORT=out/verify.txt
	@mkdir -p $(dir $(REPORT))
	AUTHSVC_VERIFY=$(AUTHSVC_VERIFY) AUTHSVC_VERIFY_REPORT=$(abspath $(REPORT)) \
	go test -count 1 -p 1 -timeout $(if $(filter full,$(AUTHSVC_VERIFY)),48h,40m) -v ./verify/...

# Flags of the program in bench/; go run -C bench . -help lists them.
BENCHFLAGS =
bench: ## measure the service and its floors, into out/bench.json; BENCHFLAGS="-growth -latency"
	@mkdir -p out
	go run -C bench . -out $(abspath out/bench.json) $(BENCHFLAGS)

bench-check: ## compare processor time, memory and start with the previous commit and the floors (10 minutes)
	go -C bench vet ./...
	go -C bench test ./...
	go run -C bench . -check $(BENCHFLAGS)

bench-peers: ## measure the service beside next-auth 4, PocketBase and Ory Kratos
	@mkdir -p out
	go run -C bench . -peers -out $(abspath out/bench-peers.json) $(BENCHFLAGS)

bench-docs: ## measure everything, and write the tables and plots of docs/performance.md (an hour)
	go run -C bench . -all -out $(abspath docs/performance.json) -plots $(abspath docs/images) -page $(abspath docs/performance.md) $(BENCHFLAGS)

# OLD=FILE is an earlier out/bench-parts.txt; benchstat needs six runs of each.
COUNT = $(if $(OLD),6,1)
bench-parts: ## ns/op, B/op and allocs/op of the parts; OLD=FILE compares with benchstat
	@mkdir -p out
	@{ go test -run '^$$' -count $(COUNT) -bench . -benchtime 2000x ./engine ./internal/seal ./internal/test/engine && \
	go test -run '^$$' -count $(COUNT) -bench . -benchtime 20000x ./adapter/sqlite; } >out/bench-parts.new; \
	status=$$?; cat out/bench-parts.new; exit $$status
	@mv out/bench-parts.new out/bench-parts.txt
	$(if $(OLD),go run $(BENCHSTAT) $(OLD) out/bench-parts.txt)

figures: ## compare GET session with its floor, and the most frequent requests with their allocations (no -race)
	go test -tags full -run 'TestSessionFloor|TestAllocations|TestExposeFloor' -v ./engine ./internal/test/engine
	AUTHSVC_FIGURES=1 go test -run TestReadFigures -v ./reader

bench-gate: ## make bench-check for the gate, an upstream and the values in GET session (4 minutes)
	go run -C bench . -check -only '^(gate|upstream|session with three)'

rotation: ## three rotations of signing keys at three replicas: 100 000 tokens verified (5 minutes)
	AUTHSVC_ROTATION=full go test -count 1 -timeout 30m -run 'TestRotation$$' -v ./cmd/authsvc

USERS = 100000
scale: ## GET session, the sweep and the revocation log in stores of USERS=1000000 (default 100000)
	AUTHSVC_SCALE=$(USERS) go test -count 1 -p 1 -timeout 30m -run Scale -v ./internal/test/scale ./adapter/redis | awk '!/ rows\/s$$/'

FUZZTIME = 10s
fuzz: ## every fuzz target for FUZZTIME=30m (default 10s)
	.ci/fuzz $(FUZZTIME)

# go-redis has some 600 methods on each of eight types. Because of text/template, the
# linker cannot leave them out. Inlined into one another, they take 2 MB more.
SMALLER = -gcflags=github.com/redis/go-redis/v9=-l

BINARY = authsvc
build: ## build the static binary ./authsvc
	CGO_ENABLED=0 GOFLAGS=-trimpath go build -ldflags '-s -w' $(SMALLER) -o $(BINARY) ./cmd/authsvc

release: supply vuln ## write archives for every system, SBOMs and checksums to out/release; VERSION=v0.1.0, SIGNING_KEY=FILE
	rm -rf out/release
	go run ./internal/tools/release $(if $(VERSION),-version $(VERSION)) $(if $(SIGNING_KEY),-key $(SIGNING_KEY))

newcomer: ## follow the README word by word, in Chromium too; uses port 3000
	go vet -tags newcomer ./e2e/newcomer
	go test -tags newcomer -count 1 -timeout 20m -v ./e2e/newcomer

routers: ## test chi, Echo and Gin in front of protected pages, in a separate module
	go -C examples/routers vet ./...
	go -C examples/routers test ./...

# Debian has no Traefik: it is built from its module, which takes some 2 GB of Go's cache.
traefik: ## attack the gate behind Traefik, set up as its page says; builds Traefik first (minutes)
	CGO_ENABLED=0 GOFLAGS= go -C tools/traefik build -trimpath -ldflags '-s -w' -o $(abspath out/traefik) github.com/traefik/traefik/v3/cmd/traefik
	AUTHSVC_TRAEFIK=$(abspath out/traefik) AUTHSVC_VERIFY=ci AUTHSVC_VERIFY_REPORT=$(abspath out/traefik.txt) \
	go test -count 1 -timeout 30m -run 'TestVerify/gate/(1[1-7]|28|29|33)$$' ./verify
	@grep '^gate-' out/traefik.txt

EXCHANGES ?= $(abspath out/exchanges)
openapi: ## compare docs/openapi.yaml with exchanges that tests record, both ways
	rm -rf out/exchanges
	AUTHSVC_EXCHANGES=$(EXCHANGES) go test -count 1 -run 'TestWire|TestRareAnswers' ./engine
	AUTHSVC_EXCHANGES=$(EXCHANGES) go test -count 1 -run TestOriginAsDescribed ./cmd/authsvc
	$(MAKE) --no-print-directory openapi-check

openapi-check: ## the same with the existing exchanges in EXCHANGES=DIR
	go -C tools/openapi vet ./...
	go -C tools/openapi test ./...
	go -C tools/openapi run . $(EXCHANGES)

types: ## write clients/js/types.d.ts from docs/openapi.yaml
	npm --prefix tools/openapi ci --no-fund --no-audit --ignore-scripts --loglevel=error
	npm --prefix tools/openapi run --silent types

dev: ## sign in on http://localhost:3000
	go run ./cmd/authsvc dev

clean: ## remove the files of builds and runs
	rm -rf authsvc out .authsvc
