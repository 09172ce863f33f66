#!/bin/sh
# Prints a table and puts it in the place of the one in README.md that has the same first line.
set -e
cat "$1"
grep -qxF "$(head -1 "$1")" README.md || { echo "README.md has no such table" >&2; exit 1; }
awk -v table="$1" '
    NR == FNR && FNR == 1 { first = $0 }
    NR == FNR { lines = lines $0 "\n"; next }
    $0 == first { printf "%s", lines; inside = 1 }
    !/^\|/ { inside = 0 }
    !inside' "$1" README.md > "$1.readme"
cp "$1.readme" README.md
