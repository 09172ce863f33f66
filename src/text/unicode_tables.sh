#!/bin/sh
# Writes unicode_tables.inc to stdout: the class of every Unicode character in GPT-2's pattern.
# Reads Debian's unicode-data package.
#
#   sh src/text/unicode_tables.sh [/usr/share/unicode] > src/text/unicode_tables.inc
dir=${1:-/usr/share/unicode}
version=$(sed -n '1s/.*PropList-\(.*\)\.txt.*/\1/p' "$dir/PropList.txt")
cat "$dir/PropList.txt" "$dir/UnicodeData.txt" | awk -F';' -v version="$version" '
function hex(s,    i, n) {
    n = 0
    for (i = 1; i <= length(s); i++) n = n * 16 + index("0123456789ABCDEF", substr(s, i, 1)) - 1
    return n
}
function set(first, last, class,    c) {
    for (c = first; c <= last; c++) class_of[c] = class
    if (last > highest) highest = last
}
function row(values, n, indent,    i, line) {
    line = indent
    for (i = 0; i < n; i++) {
        if (length(line) + length(values[i]) + 2 > 100) { print line; line = indent }
        line = line (line == indent ? "" : " ") values[i] ","
    }
    print line
}
/^[0-9A-F.]+ *; White_Space/ {      # PropList: 0009..000D ; White_Space
    split($1, range, "[. ]+")
    set(hex(range[1]), range[2] == "" ? hex(range[1]) : hex(range[2]), 3)
    next
}
NF == 15 {                          # UnicodeData: code;name;category;...
    code = hex($1)
    if ($2 ~ /, First>$/) { first = code; next }
    if ($2 !~ /, Last>$/) first = code
    if ($3 ~ /^L/) set(first, code, 1)
    if ($3 ~ /^N/) set(first, code, 2)
}
END {
    n_entries = int(highest / 256) + 1
    n_blocks = 0
    for (b = 0; b < n_entries; b++) {
        key = ""
        for (i = 0; i < 64; i++) {
            byte = 0
            for (j = 3; j >= 0; j--) byte = byte * 4 + class_of[b * 256 + i * 4 + j]
            key = key byte " "
        }
        if (!(key in number)) { number[key] = n_blocks; block[n_blocks++] = key }
        entry[b] = number[key]
    }
    print "// Made by unicode_tables.sh from Unicode " version "; not to be edited."
    print "constexpr uint32_t kBlockOfEntries = " n_entries ";"
    print "const unsigned char kBlockOf[kBlockOfEntries] = {"
    row(entry, n_entries, "    ")
    print "};"
    print "const unsigned char kBlocks[" n_blocks "][64] = {"
    for (b = 0; b < n_blocks; b++) {
        n = split(block[b], parts, " ")
        for (i = 0; i < n; i++) cells[i] = parts[i + 1]
        print "    {"
        row(cells, n, "        ")
        print "    },"
    }
    print "};"
}'
