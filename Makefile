# The tasks of this project. `make run` and `make test` install what they need on Debian and
# Ubuntu (root or sudo); elsewhere they say what is missing.

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/stripewright
# The distribution's Python first: another one is often built without optimization, and half as fast.
PYTHON3 := PATH=/usr/bin:$$PATH python3
VENV := $(CACHE)/python-$(shell sha256sum requirements/dev.txt | cut -c1-12)
PYTHON := $(VENV)/bin/python
# What builds and boots the image needs the standard library and pip, and is there in seconds.
RIG := $(CACHE)/python-rig-$(shell $(PYTHON3) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
PEERS := $(CACHE)/python-peers-$(shell sha256sum requirements/peers.txt | cut -c1-12)
SCREENS_PEER := $(CACHE)/python-screens-peer-$(shell sha256sum requirements/screens-peer.txt | cut -c1-12)
FLEET := $(CACHE)/python-fleet-$(shell sha256sum requirements/fleet.txt | cut -c1-12)
CLOUDS := $(CACHE)/python-clouds-$(shell sha256sum requirements/clouds.txt | cut -c1-12)
SOURCES := appliance tui tests
# Builds of kernels export it, with other words.
ifeq ($(origin ARCH),environment)
ARCH :=
endif

.PHONY: help run test test-fast check lint format unit drift peers fleet fio fio-alone browser monitoring lab soak bench image-tests image screens catalog lock rig setup clean boots cloud-image clouds rehearsals secure-boot-keys

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: rig ## Build the image, boot it with four emulated drives, open the TUI (or print status)
	$(RIG)/bin/python -m tests.rig.run

test: setup ## All tests but those of soak, set-up included; at the end the seconds of each stage
	$(PYTHON) -m tests.rig.stages fio/check+image+drift+browser fio-alone lab image-tests

test-fast: $(VENV)/ready ## Before each commit: make check, the drift detector and the report
	$(PYTHON) -m tests.rig.stages check+drift+browser

check: $(VENV)/ready lint unit ## Lint, types, unit tests, cases and screens

lint: $(VENV)/ready
	$(VENV)/bin/ruff check $(SOURCES)
	$(VENV)/bin/ruff format --check $(SOURCES)
	$(VENV)/bin/mypy --cache-dir $(CACHE)/mypy
	$(VENV)/bin/lint-imports --no-cache

format: $(VENV)/ready ## Bring the sources into the house format
	$(VENV)/bin/ruff format $(SOURCES)
	$(VENV)/bin/ruff check --fix $(SOURCES)

unit: $(VENV)/ready
	$(PYTHON) -m pytest -q -n auto tests/unit tests/mkfs tests/shell tests/cases tests/fleet tests/tui

drift: $(VENV)/ready ## The drift detector on seeded series: false alarms, delay, dating
	$(PYTHON) -m pytest -q -n auto --dist worksteal tests/drift

peers: $(PEERS)/ready ## The drift detector beside other people's, on the same series (some ten minutes)
	$(PEERS)/bin/python -m tests.drift.peers --json $(CACHE)/peers.json

fleet: $(FLEET)/ready ## The fleet's judge beside other methods, and its SQL on ClickHouse (some ten minutes)
	rm -rf $(CACHE)/fleet-1 $(CACHE)/fleet-20262
	$(FLEET)/bin/python -m tests.fleet.peers $(CACHE)/fleet-1 --odd 120 --seed 1
	$(FLEET)/bin/python -m tests.fleet.peers $(CACHE)/fleet-20262 --odd 120 --seed 20262
	$(FLEET)/bin/python -m pytest -q -W ignore::pytest.PytestConfigWarning tests/fleet/test_engines.py

fio: $(VENV)/ready ## Real fio on temporary files
	$(PYTHON) -m pytest -q -n 3 --dist worksteal -m "not alone" tests/fio

fio-alone: $(VENV)/ready
	$(PYTHON) -m pytest -q -m alone tests/fio

browser: $(VENV)/ready ## The report in Chromium (skipped without it)
	$(PYTHON) -m pytest -q tests/browser

monitoring: $(VENV)/ready ## A real Prometheus, Alertmanager and node exporter: rules, alerts, dashboard
	sh tests/rig/setup.sh monitoring
	$(PYTHON) -m pytest -q tests/monitoring

clouds: $(CLOUDS)/ready ## The commands that import the image, read by the clouds' own client libraries
	$(CLOUDS)/bin/python -m pytest -q -W ignore::pytest.PytestConfigWarning tests/clouds

lab: $(VENV)/ready ## The scenario catalogue, some kill points and drift, on real md, LVM, XFS and ext4 in a guest kernel
	$(PYTHON) -m pytest -q -rP tests/lab

soak: setup ## Kill every step everywhere, many random inventories, a whole day, the catalogue again (hours; as root)
	sh tests/rig/setup.sh rehearsals
	$(PYTHON) -m tests.lab.kills.host --json $(CACHE)/kills.json
	$(PYTHON) -m tests.lab.adversary_host --count 1000 --json $(CACHE)/histories.json
	HYPOTHESIS_PROFILE=nightly $(PYTHON) -m pytest -q -n auto tests/unit/test_planner_properties.py tests/unit/test_legacy_robust.py
	$(PYTHON) -m pytest -q -s tests/lab/test_lab.py
	$(PYTHON) -m pytest -q -s tests/lab/test_lab.py
	STRIPEWRIGHT_SOAK=1 $(PYTHON) -m pytest -q -s tests/lab/test_drift.py
	$(PYTHON) -m pytest -q -n 2 --dist loadfile -m soak tests/image
	$(PYTHON) -m tests.fio.kills --moments 200 --json $(CACHE)/history-kills.json
	@$(MAKE) --no-print-directory clouds
	@$(MAKE) --no-print-directory fleet

bench: setup $(SCREENS_PEER)/ready ## Create, assemble, plan, queries, import: seconds; what the screens cost, beside other programs' (over half an hour)
	sh tests/rig/setup.sh bench
	$(PYTHON) -m tests.bench --harlequin $(SCREENS_PEER)/bin/harlequin --json $(CACHE)/bench.json

image-tests: $(VENV)/ready ## Boot the built image, again and again; three machines at a time
	$(PYTHON) -m pytest -q -n 3 --dist loadfile --no-loadscope-reorder -m "not soak" tests/image

image: rig ## Build the image; ARCH=arm64: for arm64
	$(RIG)/bin/python -m tests.rig.build $(ARCH)

cloud-image: rig ## Pack the image for CLOUD=aws, azure or gcp, and print the commands that import it
	@$(RIG)/bin/python -m tests.rig.cloud_image $(CLOUD) $(if $(KEYS),--keys "$(KEYS)") \
	  $(if $(ARCH),--arch $(ARCH))

secure-boot-keys: rig ## Make keys for Secure Boot in the new folder KEYS; cloud-image signs with them
	@$(if $(KEYS),,$(error set KEYS to a new folder: make secure-boot-keys KEYS=FOLDER))$(RIG)/bin/python -m tests.rig.secure_boot "$(KEYS)"

boots: $(VENV)/ready ## Boot the image by BIOS, UEFI and Secure Boot from each bus of root and local disks; ARCH=arm64: by UEFI
	$(PYTHON) -m tests.rig.boots --matrix $(if $(ARCH),--arch $(ARCH))

rehearsals: $(VENV)/ready ## Boot what cloud-image packs with each cloud's metadata and network; as root (an hour)
	sh tests/rig/setup.sh rehearsals
	$(PYTHON) -m pytest -q -rP tests/image/test_rehearsal.py tests/image/test_i3.py

screens: $(VENV)/ready ## Draw the pictures of the TUI in docs/
	$(PYTHON) -m tests.tui.capture

catalog: $(VENV)/ready ## Write what is said of findings into docs/drift.md and the journal's catalog, the Parquet's schema into docs/fleet.md
	$(PYTHON) -m tests.rig.catalog
	$(PYTHON) -m tests.fleet.schema_page

lock: ## Pin the newest versions that pyproject.toml allows, with hashes
	$(PYTHON3) -m venv $(CACHE)/lock && $(CACHE)/lock/bin/pip -q install pip-tools
	$(CACHE)/lock/bin/pip-compile -q --upgrade --generate-hashes --strip-extras --allow-unsafe \
	  --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  -o requirements/image.txt pyproject.toml
	$(CACHE)/lock/bin/pip-compile -q --upgrade --generate-hashes --strip-extras --allow-unsafe \
	  --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  --extra dev -o requirements/dev.txt pyproject.toml
	$(CACHE)/lock/bin/pip-compile -q --upgrade --generate-hashes --strip-extras --allow-unsafe \
	  --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  -o requirements/peers.txt requirements/peers.in
	$(CACHE)/lock/bin/pip-compile -q --upgrade --generate-hashes --strip-extras --allow-unsafe \
	  --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  -o requirements/screens-peer.txt requirements/screens-peer.in
	$(CACHE)/lock/bin/pip-compile -q --upgrade --generate-hashes --strip-extras --allow-unsafe \
	  --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  -o requirements/clouds.txt requirements/clouds.in
	$(CACHE)/lock/bin/pip-compile -q --upgrade --generate-hashes --strip-extras --allow-unsafe \
	  --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
	  -o requirements/fleet.txt requirements/fleet.in

rig:
	sh tests/rig/setup.sh
	@$(MAKE) --no-print-directory $(RIG)/ready

$(RIG)/ready:
	rm -rf $(RIG)
	$(PYTHON3) -m venv $(RIG)
	touch $@

setup: ## Install what building and testing need
	sh tests/rig/setup.sh
	@$(MAKE) --no-print-directory $(VENV)/ready

# Its name says what is in it: another checkout with the same requirements leaves it alone.
$(VENV)/ready:
	sh tests/rig/setup.sh
	rm -rf $(VENV)
	$(PYTHON3) -m venv $(VENV)
	$(VENV)/bin/pip -qq install --require-hashes -r requirements/dev.txt
	touch $@

$(PEERS)/ready: | $(VENV)/ready
	rm -rf $(PEERS)
	$(PYTHON3) -m venv $(PEERS)
	$(PEERS)/bin/pip -qq install --require-hashes -r requirements/peers.txt
	touch $@

$(FLEET)/ready: | $(VENV)/ready
	rm -rf $(FLEET)
	$(PYTHON3) -m venv $(FLEET)
	$(FLEET)/bin/pip -qq install --require-hashes -r requirements/fleet.txt
	touch $@

$(SCREENS_PEER)/ready: | $(VENV)/ready
	rm -rf $(SCREENS_PEER)
	$(PYTHON3) -m venv $(SCREENS_PEER)
	$(SCREENS_PEER)/bin/pip -qq install --require-hashes -r requirements/screens-peer.txt
	touch $@

$(CLOUDS)/ready: | $(VENV)/ready
	rm -rf $(CLOUDS)
	$(PYTHON3) -m venv $(CLOUDS)
	$(CLOUDS)/bin/pip -qq install --require-hashes -r requirements/clouds.txt
	touch $@

clean: ## Remove images, environments and caches (all are outside the tree)
	rm -rf $(CACHE)
