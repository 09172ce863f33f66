#!/bin/sh
# `make models` runs this. Trains the models of models/ again in $MINIGPT_BUILD/models and compares
# them. Each is the same file, byte for byte, on every machine and for any number of threads. An
# interrupted run continues where it stopped.
#
# usage: tools/train/models.sh [TEXT]    TEXT: tinyshakespeare, to make shakespeare.mgpt too
set -eu

build=${MINIGPT_BUILD:-build}
out=$build/models
shakespeare_sha256=86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed
status=0
mkdir -p "$out"

# make NAME TEXT OPTION...
make_model() {
    name=$1 text=$2
    shift 2
    echo "== $name"
    if [ -f "$out/$name.state" ] && ! [ -f "$out/$name.done" ]; then
        "$build/train" "$text" -o "$out/$name" --type q8 --resume "$out/$name.state"
    else
        rm -f "$out/$name.done"
        "$build/train" "$text" -o "$out/$name" --type q8 "$@"
    fi
    touch "$out/$name.done"
    if cmp "$out/$name" "models/$name"; then
        echo "equal: models/$name"
    else
        echo "different: models/$name"
        status=1
    fi
}

# Takes half a minute. The word that decides is 27 or 29 characters back.
"$build/train" --returns-desk 6000 --seed 1 > "$out/returns-desk.txt"
make_model returns-desk.mgpt "$out/returns-desk.txt" \
    --layers 1 --heads 4 --embd 128 --ctx 96 --batch 16 --iters 2000 --lr 0.005 --eval-every 500

if [ $# -eq 0 ]; then
    echo "shakespeare.mgpt: skipped; SHAKESPEARE=path of tinyshakespeare's input.txt makes it"
    exit $status
fi
if ! echo "$shakespeare_sha256  $1" | sha256sum -c --status; then
    echo "models.sh: $1: not tinyshakespeare: its SHA-256 is not $shakespeare_sha256" >&2
    exit 1
fi
# The file keeps only the last part of its text's path.
cp "$1" "$out/tinyshakespeare.txt"
make_model shakespeare.mgpt "$out/tinyshakespeare.txt" \
    --layers 4 --heads 5 --embd 160 --ctx 256 --batch 8 --iters 14000 --lr 0.002 --lr-end 0.02 \
    --warmup 200 --dropout 0.1 --eval-every 500 --eval-windows 1000
exit $status
