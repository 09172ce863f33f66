#!/bin/sh
# Runs the demo for every element type on every target whose compiler and emulator are installed.
# Prints the digest of the logits after 70 tokens and a checksum of the greedy text before. Fails if
# two targets differ. The common values go into the README beside this file.
set -e
cd "$(dirname "$0")/../.."
types='f32 f16 q8 q4'
out=build/firmware/digests
rm -rf $out
mkdir -p $out

# cell: extracts the digest and the checksum from the demo's output.
cell() {
    digest=$(awk '/^digest/ { print $2 }' $out/text)
    [ -n "$digest" ] || { cat $out/text; echo 'digests: the demo failed'; exit 1; } >&2
    text=$(grep -v -e '^half' -e '^verify' -e '^digest' -e '^memory' $out/text | cksum | cut -d' ' -f1)
    printf ' | %s %s' "$digest" "$text"
    echo "$digest $text" >> "$out/$type"
}

# row TARGET VARIABLES...: one build, run on this machine or under an emulator.
row() {
    printf '| %s' "$1" >> $out/table
    shift
    for type in $types; do
        for to in /dev/null $out/text; do  # to build it, and to run it
            make -s --no-print-directory demo FIRMWARE_TYPE="$type" "$@" > "$to"
        done
        cell >> $out/table
    done
    echo ' |' >> $out/table
}

# board NAME CORE
board() {
    printf '| %s' "$1, $2" >> $out/table
    for type in $types; do
        elf=build/firmware/$1-$type.elf
        make -s "$elf" FIRMWARE_TYPE="$type" > /dev/null
        timeout 600 qemu-system-arm -M "$1" -display none -monitor none -serial none \
            -semihosting-config enable=on,target=native -kernel "$elf" > $out/text 2>&1
        cell >> $out/table
    done
    echo ' |' >> $out/table
}

echo '| target | f32 | f16 | q8 | q4 |
|---|---|---|---|---|' > $out/table
for isa in avx512 avx2 scalar; do
    ! build/gpt2 logits --ids 1 --isa $isa > /dev/null 2>&1 || row "x86-64, $isa" DEMO_ISA=$isa
done
for isa in dotprod neon; do
    row "aarch64, $isa" DEMO_ISA=$isa CXX=aarch64-linux-gnu-g++ \
        EMULATOR='qemu-aarch64 -L /usr/aarch64-linux-gnu'
done
row 'armv7, neon' CXX=arm-linux-gnueabihf-g++ EMULATOR='qemu-arm -L /usr/arm-linux-gnueabihf'
row 'RISC-V 64' CXX=riscv64-linux-gnu-g++ EMULATOR='qemu-riscv64 -L /usr/riscv64-linux-gnu'
board mps2-an500 'Cortex-M7'
board mps3-an547 'Cortex-M55'
for type in $types; do
    [ "$(sort -u "$out/$type" | wc -l)" = 1 ] || { echo "digests: they differ for $type" >&2; exit 1; }
done
cat $out/table
{
    echo '| targets | f32 | f16 | q8 | q4 |'
    echo '|---|---|---|---|---|'
    printf '| %s' $(($(wc -l < $out/table) - 2))
    for type in $types; do
        printf ' | %s' "$(head -1 "$out/$type")"
    done
    echo ' |'
} > $out/readme
sh tools/firmware/readme_table.sh $out/readme
