#!/usr/bin/env bash
# clang-tidy over the library and the command, or over the files given. Needs build/tidy configured.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
files=("$@")
if [ ${#files[@]} -eq 0 ]; then
  mapfile -t files < <(find src samples -name '*.cpp' | sort)
fi
out=$(mktemp)
trap 'rm -f "$out"' EXIT
status=0
printf '%s\0' "${files[@]}" |
  xargs -0 -n 4 -P "$(nproc)" clang-tidy-14 --quiet -p build/tidy >"$out" 2>&1 || status=$?
grep -vE '^[0-9]+ warnings? generated|^Suppressed|^Use -header-filter' "$out" || true
echo "clang-tidy: ${#files[@]} files, exit code $status"
exit "$status"
