#!/bin/sh
# Replaces the table in tools/firmware/README.md that has the same first line.
set -e
readme=tools/firmware/README.md
grep -qxF "$(head -1 "$1")" $readme || { echo "$readme has no such table" >&2; exit 1; }
awk -v table="$1" '
    NR == FNR && FNR == 1 { first = $0 }
    NR == FNR { lines = lines $0 "\n"; next }
    $0 == first { printf "%s", lines; inside = 1 }
    !/^\|/ { inside = 0 }
    !inside' "$1" $readme > "$1.readme"
cp "$1.readme" $readme
