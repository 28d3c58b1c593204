#!/usr/bin/env bash
# clang-tidy over the library, the command and the samples, or over the files given. Needs
# build/tidy configured.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The file of a room includes sources on purpose.
tidy=(clang-tidy-14 --quiet --checks=-bugprone-suspicious-include)

files=("$@")
if [ ${#files[@]} -eq 0 ]; then mapfile -t files < <(python3 cmake/tidy_files.py); fi
if [ ${#files[@]} -eq 0 ]; then exit 1; fi

# A tool that cannot read its configuration says so and succeeds: it must find planted faults, also
# in a file that another one includes, as rooms do.
mkdir "$work/src"
printf 'int* Bad_Name() { int* x = 0; return x; }\n' >"$work/src/planted.cpp"
printf '#include "src/planted.cpp"\n' >"$work/unity.cxx"
cp .clang-tidy "$work/"
if "${tidy[@]}" "$work/unity.cxx" -- -std=c++20 >"$work/planted" 2>&1 ||
  [ "$(grep -cE 'modernize-use-nullptr|readability-identifier-naming' "$work/planted")" -ne 2 ]; then
  echo "clang-tidy does not find planted faults:"
  cat "$work/planted"
  exit 1
fi

status=0
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" "${tidy[@]}" -p build/tidy >"$work/out" 2>&1 || status=$?
# A finding in a header comes with every file that includes it.
grep -vE '^[0-9]+ warnings? |^Suppressed|^Use -header-filter' "$work/out" |
  awk '/(error|warning): |^xargs: |^Stack dump/ { shown = !seen[$0]++ } shown' || true
echo "clang-tidy: ${#files[@]} files, exit code $status"
exit "$status"
