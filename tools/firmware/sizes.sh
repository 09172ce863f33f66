#!/bin/sh
# Measures how much the library adds to a program, for several builds: the bytes of code and
# constants of libminigpt.a that the linker keeps when it links the demo here. Each program is run;
# it must print the same as the first one.
set -e
cd "$(dirname "$0")/../.."
out=build/firmware/sizes
mkdir -p $out

# kept MAP: the bytes of the archive's sections. A map lists a section's name, address, size and
# file; after a long name the rest is on the next line. Discarded sections come before, or have
# address 0.
kept() {
    awk '/^Linker script and memory map/ { on = 1 }
         on && NF == 1 && $1 ~ /^\.(text|rodata|data)/ { name = $1; getline; $0 = name " " $0 }
         on && $1 ~ /^\.(text|rodata|data)/ && $4 ~ /libminigpt\.a/ && $2 !~ /^0x0+$/ { print $3 }' "$1" |
        { sum=0; while read -r n; do sum=$((sum + n)); done; echo $sum; } |
        sed ':a; s/\B[0-9]\{3\}\>/,&/; ta'
}

# row VARIABLES...: builds the library with these variables, links the demo and runs it.
row() {
    for to in /dev/null $out/text; do  # to build it, and to run it
        make -s --no-print-directory demo "$@" LDFLAGS="-Wl,-Map=$out/map" > "$to"
    done
    [ -f $out/expected ] || cp $out/text $out/expected
    cmp $out/text $out/expected >&2
    echo "| \`make $*\` | $(kept $out/map) |"
}

rm -f build/*/demo-q8 build/demo-q8 $out/expected
{
    echo '| build | code and constants |'
    echo '|---|---|'
    row
    row SIZE=1
    row SIZE=1 ISA=scalar
    row SIZE=1 ISA=scalar WEIGHTS=q8 THREADS=0 MMAP=0
    row SIZE=1 ISA=scalar WEIGHTS=q8 THREADS=0 MMAP=0 FILES=0
    for board in mps2-an500 mps3-an547; do
        make -s "build/firmware/$board-q8.elf" > /dev/null 2>&1
        echo "| \`make firmware\`, $board | $(kept "build/firmware/$board-q8.elf.map") |"
    done
} > $out/table
cat $out/table
sh tools/firmware/readme_table.sh $out/table
