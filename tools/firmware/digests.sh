#!/bin/sh
# The demo for every element type on every target whose compiler and emulator are here, as a table:
# the digest of the logits after 70 tokens, and a checksum of the greedy text before. Fails if two
# targets differ.
set -e
cd "$(dirname "$0")/../.."
out=build/firmware/digests
mkdir -p $out

# print TYPE TARGET: a row of the table from the demo's output.
print() {
    digest=$(awk '/^digest/ { print $2 }' $out/text)
    text=$(grep -v -e '^digest' -e '^verify' -e '^memory' $out/text | cksum | cut -d' ' -f1)
    echo "| $1 | $2 | $digest | $text |"
    [ -n "$digest" ] && [ "${first:=$digest $text}" = "$digest $text" ] || different=1
}

# row TARGET VARIABLES...
row() {
    target=$1
    shift
    for to in /dev/null $out/text; do  # to build it, and to run it
        make -s --no-print-directory demo FIRMWARE_TYPE=$type "$@" > $to
    done
    print $type "$target"
}

different=
echo '| model | target | digest of the last logits | checksum of the text |'
echo '|---|---|---|---|'
for type in f32 f16 q8 q4; do
    first=
    row 'x86-64, best'
    row 'x86-64, scalar' ISA=scalar
    row 'aarch64, NEON' CXX=aarch64-linux-gnu-g++ EMULATOR='qemu-aarch64 -L /usr/aarch64-linux-gnu'
    row 'armv7, NEON' CXX=arm-linux-gnueabihf-g++ EMULATOR='qemu-arm -L /usr/arm-linux-gnueabihf'
    row 'RISC-V 64' CXX=riscv64-linux-gnu-g++ EMULATOR='qemu-riscv64 -L /usr/riscv64-linux-gnu'
    make -s firmware FIRMWARE_TYPE=$type > /dev/null 2>&1
    for board in mps2-an500 mps3-an547; do
        elf=build/firmware/$board-$type.elf
        timeout 600 qemu-system-arm -M $board -display none -monitor none -serial none \
            -semihosting-config enable=on,target=native -kernel $elf > $out/text 2>&1
        print $type $board
    done
done
[ -z "$different" ] || { echo 'digests: they differ' >&2; exit 1; }
