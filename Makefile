# All commands of the build. `make` without a target prints them.

.DEFAULT_GOAL := help
.PHONY: help run install package test test-long test-python test-spark test-guest test-guest-long guest-shell

help:
	@echo 'make run         build q2c and tune hybrid polling on a 1 GiB scratch file, 4 KiB and 64 KiB reads'
	@echo 'make install     build, and install program, man pages and completions below PREFIX (default /usr/local)'
	@echo 'make package     build a Debian package in target/debian'
	@echo 'make test        format, clippy, crate rules, sizes, every test that needs no guest; skips are counted'
	@echo 'make test-long   property tests with 10,000 cases and faults by 100,000 seeds, for which CI has no time'
	@echo 'make test-python builds the Python package and tests it against the program; SLOW=1 for all of its tests'
	@echo 'make test-spark  builds the Python package and tests q2c.spark on a small cluster; SLOW=1 for all'
	@echo 'make test-guest  tests in guests that boot their own kernel; KERNEL=5.10 and TOPIC=doctor,tune choose'
	@echo 'make test-guest-long  the same with more cycles and all file systems, and the style of the C code'
	@echo 'make guest-shell KERNEL=5.10   a shell in a guest'
	@echo
	@echo 'All of them first look for what they need (scripts/prerequisites.sh): as root on a system with apt'
	@echo 'they install it, else they print the command that does.'

run:
	@scripts/prerequisites.sh run scripts/run.sh

install:
	@scripts/prerequisites.sh run scripts/install.sh

package:
	@scripts/prerequisites.sh run scripts/package.sh

test:
	@scripts/prerequisites.sh test scripts/test.sh

test-long:
	@scripts/prerequisites.sh test scripts/test_long.sh

test-python:
	@scripts/prerequisites.sh test-python scripts/test_python.sh $(if $(SLOW),--slow)

test-spark:
	@scripts/prerequisites.sh test-spark scripts/test_spark.sh $(if $(SLOW),--slow)

test-guest:
	@scripts/prerequisites.sh test-guest guest/test.sh $(if $(KERNEL),--kernel $(KERNEL)) $(if $(TOPIC),--topic $(TOPIC))

test-guest-long:
	@scripts/prerequisites.sh test-guest guest/test.sh --long $(if $(KERNEL),--kernel $(KERNEL)) $(if $(TOPIC),--topic $(TOPIC))

guest-shell:
	@scripts/prerequisites.sh test-guest guest/shell.sh $(KERNEL)
