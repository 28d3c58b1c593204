#!/usr/bin/env bash
# Builds the library, the command and sample 01 (release), and runs the sample.
# Needs Debian 12, as root or with sudo; installs what is missing; can be run again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/packages.sh

echo "== Packages"
need_packages "${CORE_PACKAGES[@]}"
echo "== Configuring in build/demo"
cmake --preset demo >build-demo.log 2>&1 || { cat build-demo.log; exit 1; }
rm -f build-demo.log
echo "== Building the library, the command and the sample ($jobs jobs)"
echo "   7 minutes of processor time, so about 4 on two free cores; [step/steps] is how far it is."
cmake --build build/demo -j "$jobs" --target sample_01_moe_fc1 cohort_command
echo "== Running samples/01_moe_fc1"
mkdir -p build/demo/run
cd build/demo/run
../bin/sample_01_moe_fc1
echo "== Done after $SECONDS s. Files of the run: build/demo/run; the command: build/demo/bin/cohort"
