# make demo      set everything up and run the example
# make test      set everything up and run the tests
# make wheel     a wheel with machine code of all kernels in dist (two to four minutes; kept in build/native until kernels change)
# make test-native  the tests against that wheel, installed into build/installed
# make pythons   that wheel with every Python of 3.11 to 3.14 that is found, each in an environment below build/pythons (PYTHONS="python3.12 /path/python3.14" names others)
# make adapters  install PyTorch, JAX and CasADi for the tests of the adapters, which are skipped without
# make gallery   run all examples, with figures in build/gallery (about four minutes)
# make papers    run every experiment of the papers, into build/papers and docs/papers (some minutes; QUICK=1 for a look)
# make docs      set everything up and build the documentation into build/docs
# make bench-peers  pliant beside other programs, each in an environment below build/peers (a quarter of an hour; QUICK=1 for less)
# make soak      random robots, mutated files, long runs, faults: some minutes (ROBOTS=10000 or WHOLE=3000 for long); findings in build/soak
# make mutants   small mistakes put into the sources, one at a time: which does the suite catch? (MUTANTS=100 SEED=0; about a minute each); build/mutants
PYTHON ?= python3
VENV ?= .venv
ROBOTS ?= 1000
WHOLE ?= 100
MUTANTS ?= 100
SEED ?= 0
BIN := $(VENV)/bin

.PHONY: demo test wheel test-native pythons adapters gallery papers soak mutants lint docs figures bench bench-peers clean

demo: $(VENV)/.run
	$(BIN)/python -c "from pliant import gallery; gallery.run('cable_driven_manipulator', 'build/demo', check=True)"

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto

wheel: $(VENV)/.run
	$(BIN)/python -m pip install --quiet build "setuptools>=77"
	PLIANT_BUILD_NATIVE=1 PLIANT_NATIVE_CACHE=$(CURDIR)/build/native $(BIN)/python -m build --no-isolation

test-native: $(VENV)/.dev wheel
	rm -rf build/installed
	$(BIN)/python -m pip install --quiet --no-deps --no-index --target build/installed dist/pliant-*-abi3-*.whl
	PYTHONPATH=build/installed $(BIN)/python -m pytest -n auto

pythons: wheel
	PYTHONS="$(PYTHONS)" OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/pythons.py dist/pliant-*-abi3-*.whl

# a version of torch is named, as builds differ much in size; what cannot be installed is done without
adapters: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet torch==2.13.0 || echo "no PyTorch: its tests are skipped"
	$(BIN)/python -m pip install --quiet jax || echo "no JAX: its tests are skipped"
	$(BIN)/python -m pip install --quiet casadi || echo "no CasADi: its tests are skipped"
	$(BIN)/python -m pip install --quiet --no-deps crocoddyl libcrocoddyl || echo "no Crocoddyl: its tests are skipped"  # Pinocchio comes with the tests

gallery: $(VENV)/.run
	$(BIN)/python -c "from pliant import gallery; gallery.run_all('build/gallery')"

papers: $(VENV)/.run
	OPENBLAS_NUM_THREADS=1 MPLBACKEND=agg $(BIN)/python -m pliant papers $(if $(QUICK),--quick -o build/papers-quick,--docs docs)

soak: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/soak --robots $(ROBOTS) --whole $(WHOLE)

mutants: $(VENV)/.dev
	$(BIN)/python tests/mutation --mutants $(MUTANTS) --seed $(SEED)

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests examples benchmarks docs setup.py
	$(BIN)/ruff format --check src tests examples benchmarks docs setup.py
	$(BIN)/mypy

docs: $(VENV)/.dev
	$(BIN)/python -m sphinx -b html -W --keep-going -q -d build/doctrees docs build/docs

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/kernels.py
	$(BIN)/python benchmarks/questions.py
	$(BIN)/python benchmarks/parameters.py
	$(BIN)/python benchmarks/simulate.py
	$(BIN)/python benchmarks/integrators.py --quick
	$(BIN)/python benchmarks/loads.py
	$(BIN)/python benchmarks/loops.py
	$(BIN)/python benchmarks/gradients.py
	$(BIN)/python benchmarks/matrices.py
	$(BIN)/python benchmarks/spatial.py
	$(BIN)/python benchmarks/algorithms.py
	$(BIN)/python benchmarks/batch.py
	$(BIN)/python benchmarks/control.py --quick

bench-peers: $(VENV)/.dev
	$(BIN)/python benchmarks/peers $(if $(QUICK),--quick --json build/peers/quick.json)

figures: $(VENV)/.dev
	$(BIN)/python docs/figures/make_figures.py
	$(BIN)/python benchmarks/algorithms.py --json docs/figures/algorithms.json --figure docs/figures/algorithms.png
	$(BIN)/python benchmarks/spatial.py --json docs/figures/spatial.json --png docs/figures/spatial.png
	$(BIN)/python benchmarks/constant_strain.py --json docs/figures/constant_strain.json --figure docs/figures/constant_strain.png
	$(BIN)/python benchmarks/integrators.py --rtol 1e-3,1e-4,1e-5,1e-6 --json docs/figures/integrators.json --figure docs/figures/integrators.png

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.run: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[plot]"
	touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
