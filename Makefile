# Every target needs Go alone, but where its line says otherwise. CI runs these
# same targets (.ci/run).

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
PKG      ?= ./...
FUZZTIME ?= 30s
WIRETIME ?= $(FUZZTIME)
SOAK     ?= 10000000
BENCH    ?= .

# The race detector needs a C compiler on Linux; without one the tests run
# without it, and say so.
RACE := $(if $(shell command -v $${CC:-gcc} || command -v cc || true),-race,)

.PHONY: help
help: ## show the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "  make %-13s %s\n", $$1, $$2}'

.PHONY: build
build: ## build bin/clusterzone (PGO=cmd/clusterzone/serve.pgo: as the image has it, which takes minutes)
	$(GO) build $(if $(PGO),-pgo=$(PGO)) -o bin/ ./cmd/clusterzone

# The lines to try stand in the example files, each with the answer it gives. The
# names that they lead to outside of the zone are invented: nobody is asked.
.PHONY: run
run: build ## serve the objects of deploy/example on 127.0.0.1:5353, and say what to ask
	@echo "Once it serves, try in another terminal:"
	@sed -n 's/^# try: /  /p' deploy/example/*.yaml
	@echo
	@exec bin/clusterzone serve --manifests deploy/example --zone corp.test --listen 127.0.0.1:5353 \
		--metrics-address 127.0.0.1:7979 --shutdown-delay 0 --resolver none

# kube-apiserver and etcd are built before the tests, so that one sees it: "go
# test" keeps to itself what a package prints until it is done.
.PHONY: test
test: ## vet and run all tests with the race detector, the end-to-end suite included
	@$(if $(RACE),,echo "No C compiler here: the race detector is off.")
	$(GO) vet ./...
	$(if $(filter ./...,$(PKG)),$(GO) run ./test/kubetest/cmd/build)
	$(GO) test $(RACE) -timeout 40m $(PKG)

.PHONY: e2e
e2e: ## run the end-to-end suite alone, against a real kube-apiserver and etcd
	$(GO) run ./test/kubetest/cmd/build
	$(GO) test $(RACE) -timeout 40m -count=1 -v ./test/e2e/...

# named, nsd, knotd, unbound and their tools, musl-gcc: Debian packages that .ci/run
# names. CoreDNS is built from the module plugin on first use: some minutes on two cores.
.PHONY: test-peers
test-peers: ## run the tests with other name servers, which must be installed, and with nodes (root)
	CLUSTERZONE_PEERS=1 $(GO) test $(RACE) -timeout 20m -count=1 $(if $(V),-v) ./test/peers/... ./test/fronts/... ./test/nodes/...

# promtool (Debian package prometheus) must be installed. Helm's library is built from
# test/helm on first use: some minutes on two cores.
.PHONY: test-deploy
test-deploy: ## lint and render the chart, apply it to a real kube-apiserver, test its rights and the alerts
	$(GO) run ./test/kubetest/cmd/build
	CLUSTERZONE_DEPLOY=1 $(GO) test -timeout 20m -count=1 $(if $(V),-v) ./test/deploy

# CoreDNS is built on first use: some minutes on two cores. The program is built without
# the race detector, which would build all of CoreDNS once more; the tests need a part.
.PHONY: test-plugin
test-plugin: ## vet and test the CoreDNS plugin, and build CoreDNS with it
	cd plugin && $(GO) vet ./... && $(GO) build -o /dev/null ./cmd/coredns && $(GO) test $(RACE) -parallel 16 -timeout 20m -count=1 $(if $(V),-v) ./...

.PHONY: deploy
deploy: ## copy alerts and dashboard into the chart, and render it anew for kustomize and the tests
	cp deploy/monitoring/alerts.yaml deploy/monitoring/dashboard.json deploy/helm/clusterzone/files/
	CLUSTERZONE_DEPLOY=1 $(GO) test -timeout 20m -count=1 -run '^Test(ChartRenders|Kustomize|ChartRefuses)' ./test/deploy -update

.PHONY: lint
lint: ## gofmt, vet, staticcheck, govulncheck (reads a database on the network), golangci-lint
	@GO=$(GO) .ci/lint

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (30s), those that read packets or zone files for WIRETIME
	@GO=$(GO) FUZZTIME=$(FUZZTIME) WIRETIME=$(WIRETIME) .ci/fuzz

# Needs Linux: the memory is read from /proc.
.PHONY: soak
soak: ## send SOAK (10 million) good and malformed packets to the program, and watch its memory
	CLUSTERZONE_SOAK=$(SOAK) $(GO) test -timeout 120m -count=1 -run '^TestSoak$$' -v ./test/peers

.PHONY: bench
bench: ## run the benchmarks of the core and the wire (BENCH=regexp)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -timeout 40m ./zones ./server

.PHONY: bench-latency
bench-latency: ## report the time from the API server's response to the first right answer, at 10 000 Ingresses
	$(GO) run ./test/kubetest/cmd/build
	$(GO) test -run '^$$' -bench ChangeToAnswer -benchtime 1000x -timeout 40m ./test/e2e

# CoreDNS is built from the module plugin on first use: some minutes on two cores.
.PHONY: bench-memory
bench-memory: ## report resident memory at 10 000 Ingresses, beside CoreDNS with a file zone (Linux)
	$(GO) run ./test/kubetest/cmd/build
	$(GO) test -run '^$$' -bench Memory -benchtime 1x -timeout 40m ./test/e2e

.PHONY: bench-zones
bench-zones: ## report the time from start to answer with 12 673 small zone files (Linux)
	$(GO) test -run '^$$' -bench SmallZones -benchtime 3x -timeout 40m ./test/peers

# An imitation of Route 53 in the benchmark's process takes the place of the cloud, at
# the cloud's pace: about eight minutes.
.PHONY: bench-mirror
bench-mirror: ## report API calls, time and memory of a mirror of 50 000 names (Linux)
	$(GO) test -run '^$$' -bench Program -benchtime 1x -timeout 60m ./upstream/route53
	$(GO) test -run '^$$' -bench LargeZone -benchtime 1x -timeout 40m ./upstream/mirror

.PHONY: bench-large
bench-large: ## at 100 000 Ingresses: start and memory, change to answer, 1 000 changes a second (Linux, takes minutes)
	$(GO) run ./test/kubetest/cmd/build
	$(GO) test -run '^$$' -bench 'Large|Imitated' -benchtime 1x -timeout 40m ./test/e2e

# As root on a machine with other work: make bench-peers PEERS=-boost
.PHONY: bench-peers
bench-peers: ## compare with NSD, Knot and BIND under dnsperf (Linux; PEERS=flags of test/bench, -h lists them)
	$(GO) run ./test/bench $(PEERS)
# An imitation of AWS, which is a Python program: it is kept outside of this folder,
# and PyPI is asked for it once. The file "ready" says that it was installed whole.
MOTO_VERSION := 5.2.5
MOTO = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/clusterzone/moto-$(MOTO_VERSION)

.PHONY: test-cloud
test-cloud: ## run the tests of mirrors that need an imitation of a cloud (Python 3 with venv; PyPI on first use)
	@test -e $(MOTO)/ready || { echo "Installing moto $(MOTO_VERSION) into $(MOTO)"; rm -rf $(MOTO); python3 -m venv $(MOTO); \
		$(MOTO)/bin/pip install --quiet --disable-pip-version-check 'moto[server]==$(MOTO_VERSION)'; touch $(MOTO)/ready; }
	CLUSTERZONE_CLOUD=1 CLUSTERZONE_MOTO=$(MOTO)/bin/moto_server $(GO) test $(RACE) -timeout 20m -count=1 -v -run '^TestCloud' ./upstream/route53

# Which packages have golden files is found by their flag, so that new ones are
# never forgotten. Read the difference before you commit it.
.PHONY: golden
golden: ## rewrite the golden files from what the code gives now
	$(GO) test -count=1 $$(grep -rl --include='*_test.go' 'flag.Bool("update"' . | xargs -n1 dirname | sort -u) -update

.PHONY: tidy
tidy: ## go mod tidy in every module
	@for mod in $$(git ls-files '*go.mod'); do echo "go mod tidy in $$(dirname $$mod)"; (cd $$(dirname $$mod) && $(GO) mod tidy); done

.PHONY: clean
clean: ## remove what the other targets made in this folder
	rm -rf bin dist
