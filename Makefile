# deployer: make help lists the targets.
SHELL := /bin/bash -o pipefail
.DEFAULT_GOAL := build

# A fresh clone can use what another directory has compiled.
export GOFLAGS := -trimpath

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
GOFLAGS_STATIC := -trimpath -ldflags "-s -w -X main.version=$(VERSION)"
# The agent is sent to each new host, so it is built to be small. It asks few and
# simple things over HTTP: without HTTP/2 it is 6 % smaller. Without inlining (-l) it
# is another 9 % smaller; what works on many bytes keeps it. The last pattern that a
# package matches counts.
AGENT_INLINED := runtime/... internal/... reflect sync/... bufio bytes strings slices sort hash/... unicode/... \
  encoding/json compress/... crypto/internal/fips140/... github.com/klauspost/...
AGENT_FLAGS := -trimpath -tags nethttpomithttp2 -ldflags "-s -w" -gcflags=all=-l $(AGENT_INLINED:%=-gcflags=%=)
# The keeper is for masters, which mostly have the architecture of the controller; for others:
# make build KEEPER_ARCH="amd64 arm64".
KEEPER_ARCH ?= $(shell go env GOHOSTARCH)
KEEPERS := $(KEEPER_ARCH:%=cmd/deployer/agents/deployer-keeper-linux-%.gz)
AGENTS := cmd/deployer/agents/deployer-agent-linux-amd64.gz cmd/deployer/agents/deployer-agent-linux-arm64.gz
GO_FILES = $(wildcard $(shell git ls-files -co --exclude-standard '*.go' '*.tmpl' '*.yaml' go.mod go.sum))
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/deployer
LINT_VERSION := v2.15.0
LINT := $(CACHE)/tools/golangci-lint-$(LINT_VERSION)
KWOK_VERSION := v0.8.0
KWOK := $(CACHE)/tools/kwok-$(KWOK_VERSION)
S3_SERVER_VERSION := v1.8.0
S3_SERVER := $(CACHE)/tools/versitygw-$(S3_SERVER_VERSION)
REGISTRY_VERSION := v3.1.2
REGISTRY := $(CACHE)/tools/registry-$(REGISTRY_VERSION)
GITEA_VERSION := v1.26.0
GITEA_RUNNER_VERSION := v1.0.8
GITEA := $(CACHE)/tools/gitea-$(GITEA_VERSION)
BIRD := $(CACHE)/tools/bird2

# Debian packages: those of the tests (the race detector needs cgo; scripts of hosts call
# curl, openssl signs as a foreign authority does, and the example of a hook calls jq), those of the
# lab and the artifact builder, the generator of the site, and those that the comparison
# and the benchmark compare with.
TEST_PACKAGES := gcc libc6-dev git curl openssl jq
LAB_PACKAGES := podman runc mmdebstrap iproute2 procps ca-certificates openssh-client dpkg-dev qemu-user-static
SITE_PACKAGES := hugo
ANSIBLE_PACKAGES := ansible-core ansible-mitogen
# Some cases use filters and lookups of collections, which need modules of Python.
COMPARE_PACKAGES := ansible python3-netaddr python3-jmespath python3-passlib

# install-missing PACKAGES: asks apt only when something is missing.
define install-missing
	@missing=$$(for p in $(1); do dpkg -s $$p >/dev/null 2>&1 || echo $$p; done); \
	if [ -n "$$missing" ]; then echo "installing" $$missing; apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing; fi
endef

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

.PHONY: build
build: bin/deployer ## build bin/deployer with the agents inside

bin/deployer: $(AGENTS) $(KEEPERS) $(GO_FILES)
	CGO_ENABLED=0 go build $(GOFLAGS_STATIC) -o $@ ./cmd/deployer

# The agents travel inside the deployer binary, compressed.
cmd/deployer/agents/deployer-agent-linux-%.gz: $(GO_FILES) Makefile
	CGO_ENABLED=0 GOOS=linux GOARCH=$* go build $(AGENT_FLAGS) -o bin/deployer-agent-linux-$* ./cmd/deployer-agent
	go run ./cmd/deployer/agents/pack bin/deployer-agent-linux-$* $@

cmd/deployer/agents/deployer-keeper-linux-%.gz: $(GO_FILES) Makefile
	CGO_ENABLED=0 GOOS=linux GOARCH=$* go build $(GOFLAGS_STATIC) -o bin/deployer-keeper-linux-$* ./cmd/deployer-keeper
	go run ./cmd/deployer/agents/pack bin/deployer-keeper-linux-$* $@

.PHONY: test-packages
test-packages:
	$(call install-missing,$(TEST_PACKAGES))

.PHONY: packages
packages: ## install the Debian packages that demo and e2e need
	$(call install-missing,$(LAB_PACKAGES))

.PHONY: artifacts
artifacts: build packages ## build Kubernetes and friends from Go modules and Debian packages (cached)
	bin/deployer artifacts build

.PHONY: demo
demo: artifacts ## 3 masters and 2 minions from nothing, with deployer install
	test/demo.sh

$(LINT):
	mkdir -p $(dir $(LINT))
	GOBIN=$(dir $(LINT))tmp go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)
	mv $(dir $(LINT))tmp/golangci-lint $@

$(KWOK):
	mkdir -p $(dir $(KWOK))
	GOBIN=$(dir $(KWOK))tmp go install -ldflags "-s -w" sigs.k8s.io/kwok/cmd/kwok@$(KWOK_VERSION)
	mv $(dir $(KWOK))tmp/kwok $@

$(S3_SERVER):
	mkdir -p $(dir $(S3_SERVER))
	GOBIN=$(dir $(S3_SERVER))tmp go install -ldflags "-s -w" github.com/versity/versitygw/cmd/versitygw@$(S3_SERVER_VERSION)
	mv $(dir $(S3_SERVER))tmp/versitygw $@

$(REGISTRY):
	mkdir -p $(dir $(REGISTRY))
	GOBIN=$(dir $(REGISTRY))tmp go install -ldflags "-s -w" github.com/distribution/distribution/v3/cmd/registry@$(REGISTRY_VERSION)
	mv $(dir $(REGISTRY))tmp/registry $@

.PHONY: registry
registry: $(REGISTRY) ## build the container registry of the tests of images (cached)

# The output is the path: tests of images call it.
.PHONY: registry-path
registry-path:
	@echo $(REGISTRY)

# module-source MODULE: the directory with a module's source.
module-source = $$(go mod download -json $(1) | sed -n 's/^.*"Dir": "\(.*\)",$$/\1/p')

# Both are built in the directories of their modules, whose files the server needs, too.
$(GITEA):
	rm -rf $@.partial && mkdir -p $@.partial
	go build -C $(call module-source,gitea.com/gitea/runner@$(GITEA_RUNNER_VERSION)) -ldflags "-s -w" -o $@.partial/runner .
	source=$(call module-source,code.gitea.io/gitea@$(GITEA_VERSION)); \
	  go build -C $$source -tags "sqlite sqlite_unlock_notify" -ldflags "-s -w" -o $@.partial/gitea . && \
	  cp -r $$source/{options,public,templates} $@.partial && chmod -R u+w $@.partial
	mv $@.partial $@

.PHONY: gitea
gitea: $(GITEA) ## build the Gitea server and runner of make e2e-gitea (cached)

# The output is the path: the test of pushes to Gitea calls it.
.PHONY: gitea-path
gitea-path:
	@echo $(GITEA)

# The output is the path: tests of backups call it.
.PHONY: s3-server
s3-server: $(S3_SERVER) ## build the S3-compatible object store of the tests (cached)
	@echo $(S3_SERVER)

# Debian's BIRD beside the machine's programs: the installed package would start it.
$(BIRD):
	rm -rf $@.partial && mkdir -p $@.partial/packages
	apt-get update -q
	cd $@.partial/packages && apt-get download -q bird2 libssh-gcrypt-4
	for p in $@.partial/packages/*.deb; do dpkg -x $$p $@.partial || exit 1; done
	mv $@.partial $@

.PHONY: lint
lint: $(LINT) ## golangci-lint with go vet and the import rules of docs/design.md
	$(LINT) run --allow-parallel-runners ./...

# One package more than processors: the longest, the command line, waits for three quarters of its time.
TEST_PARALLEL := $(shell echo $$((1 + $$(nproc))))

.PHONY: test
test: test-packages $(AGENTS) $(S3_SERVER) $(REGISTRY) lint ## unit, property, golden, CLI and small fleet tests
	go test -race -p $(TEST_PARALLEL) -timeout 40m ./...

.PHONY: fuzz
fuzz: ## run every fuzzer for FUZZTIME (default 20s)
	@for p in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -rhoE '^func Fuzz[A-Za-z0-9_]+' $$p/*_test.go | cut -d' ' -f2); do \
	    go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(or $(FUZZTIME),20s) $$p || exit 1; done; done

.PHONY: faults
faults: ## break runs at every place where they can break; make test tries one place in nine
	go test -count=1 -v -timeout 30m ./test/faults -stride 1 -seeds 5 -hosts 300

.PHONY: e2e
e2e: build packages $(KWOK) ## the lab scenarios on real hosts (needs root)
	bin/deployer artifacts build --with calico --kubernetes v1.36.3,v1.35.4
	go test -tags lab -count=1 -v -timeout 10m ./test/bench/upgrade1000 -kwok $(KWOK)
	go test -tags lab -count=1 -v -timeout 60m -skip '$(E2E_MORE)' ./test/e2e/...
	go test -tags lab -count=1 -v -timeout 20m -run TestSmoke ./test/lifecycle
	go test -tags lab -count=1 -v -timeout 20m -short ./test/mistakes
	go test -tags lab -count=1 -v -timeout 20m -run 'TestCalico$$' ./test/networks
	go test -tags lab -count=1 -v -timeout 10m -run TestHosts ./test/lab/lab

# Scenarios for which make e2e has no time.
E2E_MORE := TestHAProxy|TestDedicatedEtcd|TestRotations|TestFurtherBadValues|TestInterruptedChecks|TestImageOverrides

.PHONY: e2e-more
e2e-more: build packages ## scenarios on real hosts for which make e2e has no time (needs root)
	bin/deployer artifacts build --kubernetes v1.36.3,v1.35.4
	go test -tags lab -count=1 -v -timeout 60m -run '$(E2E_MORE)' ./test/e2e

.PHONY: e2e-smoke
e2e-smoke: build packages ## the life of a small cluster in minutes: joins, a killed upgrade, a rollback, a reset (needs root)
	bin/deployer artifacts build --kubernetes v1.36.3,v1.35.4
	go test -tags lab -count=1 -v -timeout 20m -run TestSmoke ./test/lifecycle

# SCENARIO=NAME runs one scenario.
.PHONY: e2e-mistakes
e2e-mistakes: build packages ## what wrong inventories and other programs do to a cluster in use; make e2e has a part (needs root)
	bin/deployer artifacts build
	go test -tags lab -count=1 -v -timeout 60m -run 'TestMistakes/$(SCENARIO)' ./test/mistakes

# record-figures COMMANDS: runs commands whose tests record figures, each one even when one before has failed, and
# prints the closing line of all.
define record-figures
	rm -f bin/networks.figures
	export DEPLOYER_FIGURES='$(CURDIR)/bin/networks.figures'; failed=0; \
	$(1) \
	go run ./test/figures/closingline networks bin/networks.figures || failed=1; exit $$failed
endef

.PHONY: e2e-networks
e2e-networks: build packages $(BIRD) ## pod networks, addresses and API proxies on real hosts; make e2e has one of them, too (needs root)
	bin/deployer artifacts build --with calico
	$(call record-figures,\
	  go test -tags lab -count=1 -v -timeout 180m -skip '$(E2E_OWN)|$(E2E_CALICO)' ./test/networks || failed=1; \
	  go test -tags lab -count=1 -v -timeout 30m ./test/proxy || failed=1; \
	  go test -tags lab -count=1 -v -timeout 5m ./test/bench/birds -bird $(BIRD) || failed=1;)

.PHONY: e2e-networks-all
e2e-networks-all: build packages $(BIRD) ## all tests of networks with one closing line: those of e2e-networks, e2e-calico, e2e-own-networks, e2e-conformance, and 100 speakers of BGP (needs root, and a module proxy)
	bin/deployer artifacts build --with calico,conformance --kubernetes v1.36.3,v1.35.4
	$(call record-figures,\
	  go test -tags lab -count=1 -v -timeout 420m ./test/networks || failed=1; \
	  go test -tags lab -count=1 -v -timeout 30m ./test/proxy || failed=1; \
	  go test -tags lab -count=1 -v -timeout 60m ./test/conformance || failed=1; \
	  go test -tags lab -count=1 -v -timeout 15m ./test/bench/birds -bird $(BIRD) -speakers 100 || failed=1;)

# Networks and charts of others, whose programs are built from Go modules of their own.
E2E_OWN := TestKubeRouter|TestManifestsOfCalico|TestCilium|TestChartOfMetalLB|TestChartOfGatekeeper

.PHONY: e2e-own-networks
e2e-own-networks: build packages ## kube-router, Calico's own manifests, Cilium's agent and the charts of MetalLB and Gatekeeper as add-ons (needs root, and a module proxy)
	bin/deployer artifacts build --with calico --kubernetes v1.36.3,v1.35.4
	go test -tags lab -count=1 -v -timeout 90m -run '$(E2E_OWN)' ./test/networks

.PHONY: e2e-etcd e2e-dns
e2e-dns: build packages ## cluster DNS and kube-proxy on real hosts, changed while pods resolve names (needs root)
	bin/deployer artifacts build
	go test -tags lab -count=1 -v -timeout 60m ./test/dns

e2e-etcd: build packages ## the etcd cluster of events: installed, broken, restored, moved away and back, beside clients (needs root)
	bin/deployer artifacts build
	go test -tags lab -count=1 -v -timeout 60m ./test/etcd

.PHONY: e2e-keeper
e2e-keeper: build packages ## the keeper: a node in maintenance, a dead node, a full etcd, dead keepers, reboots, certificates that expire, lost members (needs root)
	bin/deployer artifacts build
	go test -tags lab -count=1 -v -timeout 120m ./test/keeper

# Scenarios for which make e2e-networks has no time.
E2E_CALICO := TestUpgradeOfCalico|TestDatastoreEtcd|TestPasswordOfCalico|TestNetworkPolicies|TestHostEndpoints|TestInEtcd

.PHONY: e2e-calico
e2e-calico: build packages ## other versions and passwords of Calico on real hosts, under pings (needs root)
	bin/deployer artifacts build --with calico
	go test -tags lab -count=1 -v -timeout 150m -run '$(E2E_CALICO)' ./test/networks

.PHONY: e2e-conformance
e2e-conformance: build packages ## the conformance tests of Kubernetes' network, on plugin bgp and on Calico (needs root)
	bin/deployer artifacts build --with calico,conformance
	go test -tags lab -count=1 -v -timeout 60m ./test/conformance

.PHONY: e2e-proxy
e2e-proxy: build packages ## both API proxies, with watches that are idle for 9 minutes (needs root)
	bin/deployer artifacts build
	go test -tags lab -count=1 -v -timeout 40m ./test/proxy -idle 9m

# SCENARIO=NAME runs one scenario, SEED=N repeats its random instants.
.PHONY: e2e-lifecycle
e2e-lifecycle: build packages ## the life of a cluster after its installation, beside clients that use it (needs root)
	bin/deployer artifacts build --kubernetes v1.36.3,v1.35.4
	go test -tags lab -count=1 -v -timeout 360m -run 'TestLifecycle/$(SCENARIO)' ./test/lifecycle \
	  -results $(or $(RESULTS),$(CURDIR)/bin/lifecycle) $(if $(SEED),-seed $(SEED)) $(if $(KILLS),-kills $(KILLS))

.PHONY: e2e-ci
e2e-ci: build packages ## two clusters of the lab deployed by git pushes over SSH (needs root)
	bin/deployer artifacts build --kubernetes v1.36.3,v1.35.4
	go test -tags lab -count=1 -v -timeout 120m ./test/ci

.PHONY: e2e-gitea
e2e-gitea: build packages test-packages $(GITEA) ## a cluster deployed by workflows of a Gitea server (needs root)
	bin/deployer artifacts build --kubernetes v1.36.3,v1.35.4
	go test -tags lab -count=1 -v -timeout 30m ./test/gitea

.PHONY: e2e-tutorial
e2e-tutorial: build packages ## the commands of docs/tutorial.md, on real hosts (needs root)
	bin/deployer artifacts build --kubernetes v1.36.3,v1.35.4
	go test -tags lab -count=1 -v -timeout 60m ./test/tutorial

.PHONY: e2e-airgap
e2e-airgap: build packages $(REGISTRY) ## a cluster from one file, and a registry behind a password and a proxy (needs root)
	bin/deployer artifacts build --kubernetes v1.36.3,v1.35.4
	go test -tags lab -count=1 -v -timeout 30m ./test/airgap

.PHONY: e2e-spread
e2e-spread: build packages ## hosts that send each other binaries and images, one of them behind a packet filter (needs root)
	bin/deployer artifacts build
	go test -tags lab -count=1 -v -timeout 30m ./test/spread

.PHONY: e2e-images
e2e-images: build packages ## deployer debug, and images that are built anew, on real hosts (needs root)
	bin/deployer artifacts build
	go test -tags lab -count=1 -v -timeout 30m ./test/images

.PHONY: bench-install
bench-install: artifacts ## deployer install and kubeadm by hand on the same hosts
	go run -tags lab ./test/bench/install

.PHONY: bench-ansible
bench-ansible: build packages ## the same tasks by deployer, Ansible, Mitogen and a shell script
	$(call install-missing,$(ANSIBLE_PACKAGES))
	go run ./test/bench/ansible

.PHONY: compare-ansible
compare-ansible: ## inventories and conversions, compared with what ansible-core makes of them
	$(call install-missing,$(COMPARE_PACKAGES))
	go run ./test/compare --random 40

.PHONY: bench-fleet
bench-fleet: build ## what 100 to 3000 hosts cost the controller
	go run ./test/bench/fleet

# SEED=N repeats the choice of the hosts that fail; NODES=N plays another number of nodes.
.PHONY: bench-upgrade1000
bench-upgrade1000: artifacts $(KWOK) ## a rollout over 1000 nodes that KWOK plays, with pods and a real API server
	go run ./test/bench/upgrade1000 --kwok $(KWOK) $(if $(SEED),--seed $(SEED)) $(if $(NODES),--nodes $(NODES))

# Proxies are measured at three sizes, in clusters of their own: a timeout of 3 s costs nodes their Leases
# where the machine is too small for it. NODES=100 measures that number only.
SCALE := bin/scale/bench --kwok $(KWOK) --results bin/scale/results.json
SCALE_NODES := $(or $(NODES),1000)

.PHONY: scale
scale: build packages $(KWOK) ## API servers under the watches of 1000 nodes: timeouts of both proxies, limits, restarts, a rack that dies, keepers (needs root, two and a half hours)
	bin/deployer artifacts build
	mkdir -p bin/scale && rm -f bin/scale/results.json
	go build -o bin/scale/bench ./test/scale
	$(SCALE) --nodes $(SCALE_NODES)
	for n in $(if $(NODES),,100 300) $(SCALE_NODES); do $(SCALE) --nodes $$n --stages proxy || exit 1; done
	$(SCALE) --nodes $(SCALE_NODES) --stages keeper
	go run ./test/bench/fleet --hosts 10,50,150,350,1000 > bin/scale/fleet.txt
	$(SCALE) --stages '' --fleet bin/scale/fleet.txt

.PHONY: scale-keeper
scale-keeper: build packages $(KWOK) ## keepers over 1000 nodes of which 30 die: times, memory, processor, API calls (needs root, half an hour)
	bin/deployer artifacts build
	mkdir -p bin/scale
	go build -o bin/scale/bench ./test/scale
	$(SCALE) --nodes $(SCALE_NODES) --pods $$((3 * $(SCALE_NODES))) --stages keeper

.PHONY: bench-spread
bench-spread: ## 700 MB to 1000 hosts over simulated links: the controller alone, a registry, and hosts that forward it
	go run ./test/bench/spread

# SPEAKERS=10,300 measures other numbers of nodes.
.PHONY: bench-bird
bench-bird: packages $(BIRD) ## BGP sessions of 10 to 200 nodes, as a mesh and with route reflectors (needs root)
	mkdir -p bin && go run ./test/bench/birds --bird $(BIRD) --plot bin/birds.svg $(if $(SPEAKERS),--speakers $(SPEAKERS))

.PHONY: docs
docs: ## generate docs/reference from the code, and docs/security.md from its checks
	go run ./cmd/deployer docs docs/reference
	go test ./test/cis -run TestPageIsOfTheList -update

.PHONY: site
site: ## build bin/site, the documentation as HTML (bin/site/index.html)
	$(call install-missing,$(SITE_PACKAGES))
	hugo --source site --destination $(CURDIR)/bin/site --cleanDestinationDir

.PHONY: pictures
pictures: build ## generate the pictures of docs/images
	bin/deployer graph -i docs/images/inventory.yaml --fold > docs/images/install.svg
	bin/deployer inventory topology -i docs/images/inventory.yaml > docs/images/control-plane.svg
	bin/deployer inventory topology -i docs/images/inventory.yaml --show pod-network > docs/images/pod-network.svg

.PHONY: clean
clean: ## remove what was built here
	rm -rf bin $(AGENTS)
