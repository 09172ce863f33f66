#!/bin/sh
# Compares libminigpt with its alternatives in one run. Prints ratios of medians.
#
# usage: tools/bench/peers.sh [-t THREADS] [-r ROUNDS] [-p 512] [-n 128]
#                             [-m MODEL.mgpt [--llama-bench PROGRAM --gguf FILE]
#                                            [--peer 'NAME=COMMAND']...]
#
# Measures matrix products at the shapes of GPT-2 124M, against OpenBLAS and PyTorch if they are
# installed (Debian: libopenblas-dev, python3-torch). With -m, also prefill and decode of a model,
# against llama.cpp's llama-bench and against any command that prints JSON with the members
# "prefill_tok_s" and "decode_tok_s", as `gpt2 bench --json` does, such as an older gpt2. In each of
# ROUNDS rounds everything runs once, in turns. The build under test is $MINIGPT_BUILD, or build.
set -eu

build=${MINIGPT_BUILD:-build}
here=$(dirname "$0")/peers
threads=1 rounds=5 n_prefill=512 n_decode=128
model='' llama='' gguf=''
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: > "$work/peers"

die() {
    echo "peers.sh: $1" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || die "$1: its value is missing"
    case $1 in
        -t) threads=$2 ;;
        -r) rounds=$2 ;;
        -p) n_prefill=$2 ;;
        -n) n_decode=$2 ;;
        -m) model=$2 ;;
        --llama-bench) llama=$2 ;;
        --gguf) gguf=$2 ;;
        --peer) echo "$2" >> "$work/peers" ;;
        *) die "$1: no such flag" ;;
    esac
    shift 2
done
[ -z "$llama" ] || [ -n "$gguf" ] || die "--llama-bench: --gguf is missing"
if [ -z "$model" ] && { [ -n "$llama" ] || [ -s "$work/peers" ]; }; then
    die "-m is missing"
fi

# Prints the median of the numbers on stdin, one a line.
median() {
    sort -g | awk '{ x[NR] = $1 } END { print NR == 0 ? 0 : (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }'
}

# ---- products: each program prints "m n k GFLOP/s" lines

torch_gemm() {
    python3 "$here/torch_gemm.py" "$threads"
}
openblas_gemm() {
    OPENBLAS_NUM_THREADS=$threads "$work/openblas"
}
our_gemm() {
    "$build/bench" ops --gemm -r 1 -t "$threads"
}

peers=
if ${CXX:-c++} -O2 -o "$work/openblas" "$here/openblas_gemm.cpp" -lopenblas 2> "$work/why"; then
    peers="$peers openblas"
else
    echo "skipped: OpenBLAS is not installed"
fi
if python3 -c 'import torch' 2> "$work/why"; then
    peers="$peers torch"
else
    echo "skipped: PyTorch is not installed"
fi

if [ -n "$peers" ]; then
    i=0
    while [ $i -lt "$rounds" ]; do
        our_gemm >> "$work/gemm.ours"
        for peer in $peers; do
            "${peer}_gemm" >> "$work/gemm.$peer"
        done
        i=$((i + 1))
    done
    for peer in $peers; do
        echo "products, GFLOP/s, $threads thread(s): ours, $peer, ours / $peer"
        cut -d' ' -f1-3 "$work/gemm.ours" | sort -u | sort -n -k2,2 -k3,3 -k1,1 > "$work/shapes"
        while read -r m n k; do
            a=$(grep "^$m $n $k " "$work/gemm.ours" | cut -d' ' -f4 | median)
            b=$(grep "^$m $n $k " "$work/gemm.$peer" | cut -d' ' -f4 | median)
            echo "$m $n $k $a $b" |
                awk '{ printf "%4d x %4d x %4d %10.1f %10.1f %8.2f\n", $1, $2, $3, $4, $5, $4 / $5 }'
        done < "$work/shapes"
        echo
    done
fi

# ---- whole models: each program's rates become two lines, "prefill X" and "decode X"

[ -n "$model" ] || exit 0

from_json() {
    tr ',{}' '[\n*]' | sed -n 's/^ *"\(prefill\|decode\)_tok_s" *: *\([0-9.eE+-]*\) *$/\1 \2/p'
}
# llama-bench prints one object for each test. n_prompt and n_gen identify it; avg_ts is the rate.
from_llama() {
    tr ',{}' '[\n*]' | awk -F: '
        /"n_prompt"/ { p = $2 + 0 }
        /"avg_ts"/ { print (p > 0 ? "prefill " : "decode ") $2 + 0 }'
}
run_ours() {
    "$build/gpt2" bench -m "$model" -t "$threads" -p "$n_prefill" -n "$n_decode" -r 1 --json |
        from_json
}
run_llama() {
    "$llama" -m "$gguf" -p "$n_prefill" -n "$n_decode" -t "$threads" -r 1 -o json \
        2> "$work/llama.err" | from_llama
}
run_peer() {
    sh -c "$1" | from_json
}

i=0
while [ $i -lt "$rounds" ]; do
    run_ours >> "$work/model.ours"
    [ -z "$llama" ] || run_llama >> "$work/model.llama.cpp"
    while IFS='=' read -r name command; do
        run_peer "$command" < /dev/null >> "$work/model.$name"
    done < "$work/peers"
    i=$((i + 1))
done
echo "$model, $threads thread(s), tok/s: ours, the peer, ours / the peer"
for file in "$work"/model.*; do
    name=${file#"$work/model."}
    [ "$name" != ours ] || continue
    for kind in prefill decode; do
        a=$(sed -n "s/^$kind //p" "$work/model.ours" | median)
        b=$(sed -n "s/^$kind //p" "$file" | median)
        echo "$name $kind $a $b" | awk '
            { printf "%-16s %-8s %10.1f %10.1f %8.2f\n", $1, $2, $3, $4, ($4 > 0 ? $3 / $4 : 0) }'
    done
done
