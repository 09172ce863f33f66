#!/bin/sh
# Runs boards under qemu-system-arm: run.sh EXPECTED BOARD-TYPE.elf... Each board must print the
# contents of the file EXPECTED, and then a line about its memory. The output is kept beside the
# board's program.
set -e
expected=$1
shift
for elf in "$@"; do
    board=$(basename "$elf" | sed 's/-[^-]*$//')
    # The board's console is qemu's standard error.
    timeout 600 qemu-system-arm -M "$board" -display none -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$elf" > "$elf.out" 2>&1 ||
        { cat "$elf.out"; exit 1; }
    grep -v '^memory:' "$elf.out" | cmp - "$expected"
    echo "$board: equal"
    grep '^memory:' "$elf.out"
done
