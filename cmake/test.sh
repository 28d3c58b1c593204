#!/usr/bin/env bash
# Builds everything and passes all tests, stage by stage; the last line counts them.
# Needs Debian 12, as root or with sudo; installs what is missing; can be run again.
#
# usage: test.sh [STAGE...]      only these stages; without any, these, in this order:
#   format dev asan tidy
# dev is g++, asan clang. There are also the stages clang, which is that compiler without
# sanitizers, and tsan: docs/known_gaps.md says how far that was run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. cmake/packages.sh
export LC_ALL=C.UTF-8
exec </dev/null

passed=0 failed=0 skipped=0
failures=()

# Counts one check that is a single command.
check() {
  local name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    failures+=("$name")
  fi
}

# usage: tests PRESET [ctest options]: adds what ctest's own report says.
tests() {
  local preset=$1 report status=0 counts
  shift
  report="$PWD/build/$preset/report.xml"
  rm -f "$report"
  # Not fewer tests than were registered: an empty selection is a failure.
  ctest --test-dir "build/$preset" -j "$jobs" --output-on-failure --no-tests=error \
    --output-junit "$report" "$@" >"build/$preset/ctest.log" 2>&1 || status=$?
  grep -vE '^ *[0-9]+/[0-9]+ Test .* Passed |^ *Start +[0-9]+:' "build/$preset/ctest.log" || true
  counts=$(python3 cmake/count_tests.py "$report") || counts="0 1 0"
  local ok bad skip
  read -r ok bad skip <<<"$counts"
  # ctest's exit code and its report must agree, or something was not counted.
  if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
  if [ "$bad" -ne 0 ]; then failures+=("tests of $preset"); fi
}

# usage: build PRESET [cmake --build options]
build() {
  local preset=$1
  shift
  cmake --preset "$preset" >"build-$preset.log" 2>&1 || {
    cat "build-$preset.log"
    return 1
  }
  rm -f "build-$preset.log"
  cmake --build "build/$preset" -j "$jobs" "$@" -- --quiet
}

# A build that fails is one failure, and its tests are not run.
build_and_test() {
  local preset=$1
  shift
  if build "$preset"; then
    passed=$((passed + 1))
    tests "$preset" "$@"
  else
    failed=$((failed + 1))
    failures+=("build of $preset")
  fi
}

stage_format() {
  check "clang-format" clang-format-14 --dry-run -Werror $(git_or_find)
}
# Sources to format: tracked or not, outside of build folders.
git_or_find() {
  find include src samples test -name '*.h' -o -name '*.cpp' | sort
}
# Unit tests, policies, compile-fail cases, consumer project, samples, snippets of the docs.
stage_dev() { build_and_test dev; }
# What depends on the compiler; clang with sanitizers is built and tested by asan.
stage_clang() { build_and_test dev-clang -LE '^(policy|compile_fail|docs)$'; }
# Unit tests, hostile input, and short runs of the libFuzzer targets on their corpus.
stage_asan() {
  ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1 \
    UBSAN_OPTIONS=print_stacktrace=1 \
    build_and_test asan-ubsan -LE '^(policy|compile_fail|docs|consumer|samples)$'
}
# The rooms whose code meets threads, and hostile input. The others have one thread; `memory`, and
# the command with whole samples, would take minutes.
stage_tsan() {
  local rooms=(engine fuzz io ir json ops plan report validate)
  if build tsan --target "${rooms[@]/#/test_}"; then
    passed=$((passed + 1))
    TSAN_OPTIONS=halt_on_error=1 tests tsan -L "^($(IFS='|'; echo "${rooms[*]}"))\$"
  else
    failed=$((failed + 1))
    failures+=("build of tsan")
  fi
}
stage_tidy() {
  cmake --preset tidy >build-tidy.log 2>&1 || { cat build-tidy.log; return 1; }
  rm -f build-tidy.log
  check "clang-tidy" bash cmake/tidy.sh
}

stages=("$@")
if [ ${#stages[@]} -eq 0 ]; then stages=(format dev asan tidy); fi

echo "== Packages"
need_packages "${CORE_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
begin=$SECONDS
times=()
for stage in "${stages[@]}"; do
  echo "== $stage"
  declare -F "stage_$stage" >/dev/null || { echo "no stage $stage" >&2; exit 2; }
  since=$SECONDS
  before=$((passed + failed + skipped))
  "stage_$stage" || { failed=$((failed + 1)); failures+=("$stage"); }
  if [ $((passed + failed + skipped)) -eq "$before" ]; then
    failed=$((failed + 1))
    failures+=("$stage counted nothing")
  fi
  times+=("$stage $((SECONDS - since)) s")
  echo "== $stage took $((SECONDS - since)) s; so far $passed passed, $failed failed, $skipped skipped"
done

echo "== All stages took $((SECONDS - begin)) s: $(printf '%s; ' "${times[@]}")"
for failure in "${failures[@]}"; do echo "FAILED: $failure"; done
if [ "$skipped" -gt 0 ]; then
  echo "$passed passed, $failed failed, $skipped skipped"
else
  echo "$passed passed, $failed failed"
fi
[ "$failed" -eq 0 ]
