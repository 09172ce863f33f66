#!/bin/sh
# Measures training with nanoGPT's CPU recipe (4 layers, 4 heads, 128 wide, context 64, 12
# sequences), in turns with PyTorch if it is installed (Debian: python3-torch).
#
# usage: tools/bench/train.sh TEXT [THREADS [ROUNDS]]    the build is $MINIGPT_BUILD, or build
set -eu

build=${MINIGPT_BUILD:-build}
text=$1 threads=${2:-2} rounds=${3:-3}
python=${PYTHON:-/usr/bin/python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for _ in $(seq "$rounds"); do
    printf 'train:   '
    "$build/train" "$text" -o "$work/m.mgpt" --layers 4 --heads 4 --embd 128 --ctx 64 --batch 12 \
        --iters 2000 --sample 0 --eval-every 2000 --stop-after 200 --force -t "$threads" |
        grep tokens/s
    if "$python" -c 'import torch' 2>/dev/null; then
        printf 'PyTorch: '
        "$python" "$(dirname "$0")/peers/torch_train.py" "$text" "$threads" 100
    fi
done
