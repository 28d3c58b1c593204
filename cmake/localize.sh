#!/bin/sh
# usage: localize.sh LD NM OBJCOPY OUT OBJECT...
# Links the objects into OUT and makes each weak or unique symbol that OUT defines local to it.
set -eu
ld=$1 nm=$2 objcopy=$3 out=$4
shift 4
# Groups are resolved here: the final link would drop a group whose name it has seen, local or not.
"$ld" -r --force-group-allocation -o "$out.tmp" "$@"
"$nm" --defined-only --format=posix "$out.tmp" | awk '$2 ~ /^[WVu]$/ {print $1}' >"$out.weak"
"$objcopy" --localize-symbols="$out.weak" "$out.tmp" "$out.tmp2"
mv "$out.tmp2" "$out"
rm -f "$out.tmp"
