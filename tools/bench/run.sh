#!/bin/sh
# `make bench` runs this: a model with random weights in each size and type, then each op alone.
#
# Environment variables and their defaults: MINIGPT_BUILD (build), SIZES (124M), TYPES
# (f32 f16 q8 q4), THREADS (1, and all cores), BENCH_FLAGS (more flags for gpt2 bench), BENCH_MODELS
# ($MINIGPT_BUILD/bench-models, where models are made once and kept).
set -eu

build=${MINIGPT_BUILD:-build}
sizes=${SIZES:-124M}
types=${TYPES:-f32 f16 q8 q4}
threads=${THREADS:-1 0}
flags=${BENCH_FLAGS:---batch 1,8 --depth 10,500,1000}
models=${BENCH_MODELS:-$build/bench-models}

mkdir -p "$models"
for size in $sizes; do
    for type in $types; do
        model=$models/$size-$type.mgpt
        if [ ! -f "$model" ] && ! "$build/bench" make-model "$size" "$model" --type "$type"; then
            echo "skipped: $size in $type"
            continue
        fi
        for n in $threads; do
            [ "$n" = 0 ] && t= || t="-t $n"
            # shellcheck disable=SC2086
            "$build/gpt2" bench -m "$model" $t $flags
            echo
        done
    done
done
for n in $threads; do
    [ "$n" = 0 ] && t= || t="-t $n"
    # shellcheck disable=SC2086
    "$build/bench" ops $t
    echo
done
