#!/usr/bin/env bash
# The command line without training: help, mistakes, --print-config, exit codes, output streams that fail.
set -u
. tests/lib.sh
: "${TT:?is the program to test}"
reference=$PWD/cli/REFERENCE.md
cd "$dir" || exit 1
mkdir here

# run CODE ARGUMENTS...: runs tt in an empty folder and checks the exit code; an error is one line on stderr and writes
# no files.
run() {
    local want=$1 got
    shift
    checks=$((checks + 1))
    (cd here && "$TT" "$@") >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$want" ] || fail "tt $*: exit code $got, not $want: $(head -c 500 err)"
    [ "$want" -eq 0 ] && [ -s err ] && fail "tt $*: wrote to stderr: $(cat err)"
    if [ "$want" -ne 0 ]; then
        [ -s out ] && fail "tt $*: wrote to stdout"
        [ "$(wc -l <err)" -eq 1 ] || fail "tt $*: not one line: $(cat err)"
        [ "$(head -c 4 err)" = "tt: " ] || fail "tt $*: $(cat err)"
    fi
    [ -z "$(ls -A here)" ] || fail "tt $*: wrote $(ls -A here)"
}

commands="train eval generate data info bench profile report compare check diagnose export import"

# help
run 0
says out "tt train"
says out "tt generate"
says out "tt bench"
run 0 --help
cp out all
run 0 help
cmp -s out all || fail "tt help and tt --help differ"
for c in $commands help; do
    says all "  $c "
    run 0 help "$c"
    cp out one
    says one "usage: tt $c"
    run 0 "$c" --help
    cmp -s out one || fail "tt help $c and tt $c --help differ"
    run 0 "$c" -h
    cmp -s out one || fail "tt $c -h differs"
    awk 'length > 110 { exit 1 }' one || fail "tt help $c has long lines"
    grep -q ' $' one && fail "tt help $c has spaces at the end of a line"
done
run 0 train --help --no-such-option
run 0 --version
says out "tt "
says out "("
run 0 help --markdown
cmp -s out "$reference" || fail "cli/REFERENCE.md is out of date: tt help --markdown > cli/REFERENCE.md"

# mistakes
run 2 trian
says err "did you mean tt train?"
run 2 xyzzy
says err "tt help"
run 2 $'two\nlines \033[1m' # a message stays on one line and sends no escapes to a terminal
grep -q $'\033' err && fail "an escape went through"
run 2 --seed 1 train
says err "the command comes first: tt train --seed"
run 2 --seed 1
says err "the command comes first"
run 2 help trian
says err 'did you mean "train"?'
for c in $commands help; do
    run 2 "$c" --no-such-option
    run 2 "$c" -x
    says err "two dashes"
done
run 2 train --bach-size 4
says err "did you mean --batch-size?"
run 2 train --batch-size four
says err '--batch-size: "four" is not a whole number'
run 2 train --batch-size 0
says err "must be in [1, 65536]"
run 2 train --learning-rate nan
run 2 train --version flsh
says err 'did you mean "flash"?'
run 2 train --prompt x
says err "an option of generate"
run 2 generate --prompt --seed 1
says err "--prompt=--seed"
run 2 train --seed
run 2 train extra
run 2 train --hidden-dim 100 --num-heads 3 --print-config
says err "hidden-dim 100 cannot be split into 3 heads"
run 2 train --config missing.yaml
says err "missing.yaml"
if "$TT" --version | grep -q "(cpu)"; then
    run 2 train --precision bf16 --print-config
    says err "bf16 needs a GPU build"
fi

# --print-config prints a file that reproduces the same configuration, flags included
for c in $commands; do
    run 0 "$c" --print-config
    cp out first
    run 0 "$c" --print-config --config "$dir/first"
    cmp -s out first || fail "tt $c --print-config does not come back: $(diff out first)"
done
odd="it's \"odd\": #1, ünï 	tab"
run 0 train --print-config --preset tiny --seed 7 --learning-rate 1.25e-5 --no-tie-embeddings --out "$odd" --fuse none,qkv
cp out first
says first "seed: 7 "
says first "hidden-dim: 256 "
says first "learning-rate: 1.25e-05"
says first "tie-embeddings: false"
run 0 train --print-config --config "$dir/first"
cmp -s out first || fail "flags do not come back: $(diff out first)"
run 0 train --print-config --config "$dir/first" --seed 8
says out "seed: 8 "
run 0 generate --print-config --config "$dir/first" --prompt "- yes: no"
says out 'prompt: "- yes: no"'

# configuration files
printf 'batch_size: 3\n\nsede: 1\n' >bad
run 2 train --print-config --config "$dir/bad"
says err "bad: line 3: there is no option sede; did you mean seed?"
printf 'a: |\n  b\n' >bad
run 2 train --print-config --config "$dir/bad"
says err "bad: line 1: "
printf 'seed: 1\0\n' >bad
run 2 train --print-config --config "$dir/bad"
head -c 2000000 /dev/zero >bad
run_code() { "$TT" train --print-config --config bad >out 2>err; }
run_code && fail "took a file of 2 MB"
says err "bad"

# unwritable output
checks=$((checks + 2))
if [ -w /dev/full ]; then
    "$TT" help >/dev/full 2>err && fail "a full output was not noticed"
    says err "cannot write to standard output"
fi
"$TT" help >&- 2>err && fail "a closed output was not noticed"
says err "cannot write to standard output"
"$TT" train --print-config >&- 2>err && fail "a closed output was not noticed"

finish
