#!/usr/bin/env bash
# An installation works wherever it is moved, the packages contain it, the manual page is sound, and bash completes.
set -u
. tests/lib.sh
: "${TT:?is the program to test}" "${TT_BUILD:?is the build folder}"

# ---- the manual page ----
"$TT" help --man >"$dir/tt.1" || fail "no manual page"
sed 's/\\-/-/g; s/\[no-\]//g' "$dir/tt.1" >"$dir/plain"
for option in $("$TT" help --completion fish | sed -n 's/.* -l \([a-z0-9-]*\).*/\1/p' | sort -u | grep -v '^no-'); do
    grep -q -- "--$option" "$dir/plain" || fail "the manual page does not know --$option"
done
if has groff; then
    LC_ALL=C groff -man -ww -z "$dir/tt.1" 2>"$dir/warnings"
    [ -s "$dir/warnings" ] && fail "groff: $(head -n 3 "$dir/warnings")"
elif has mandoc; then
    mandoc -T lint -W warning "$dir/tt.1" >"$dir/warnings" || fail "mandoc: $(head -n 3 "$dir/warnings")"
fi
if has man && has groff; then
    MANWIDTH=100 man -l "$dir/tt.1" 2>"$dir/warnings" | grep -q -- "--batch-size N" || fail "man does not show --batch-size"
fi
passed "manual page"

# ---- completion ----
"$TT" help --completion bash >"$dir/tt.bash" || fail "no completion for bash"
complete_words() { # complete_words WORDS...: what bash would offer for the last word, on one line
    (
        # shellcheck disable=SC1091
        source "$dir/tt.bash"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _tt
        printf '%s ' "${COMPREPLY[@]}"
    )
}
offers() { # offers "expected offer" WORDS...
    local want=$1 got
    shift
    got=$(complete_words "$@")
    [ "$got" = "$want " ] || fail "tt ${*:2}: offers \"$got\", not \"$want\""
}
cd "$dir" || exit 1
mkdir files && touch files/one.txt files/two.bin "files/with space"
offers "train" tt tr
offers "--help" tt --h
offers "--batch-size" tt train --bat
offers "--tie-embeddings" tt train --tie
offers "--no-tie-embeddings" tt train --no-t
offers "baseline" tt train --version b
offers "baseline" tt train --version = b
offers "fp32 tf32 bf16 fp16 fp8" tt train --precision =
offers "tiny" tt train --preset ti
offers "baseline,flash" tt bench --versions baseline,fl
offers "auto" tt train --resume a
offers "files/one.txt" tt data files/o
offers "files/two.bin" tt train --data files/t
offers "files/with space" tt train --out files/w
offers "generate" tt help g
offers "" tt generate --bat
offers "" tt nonsense --
[ "$(complete_words tt train --seed "")" = " " ] || fail "a number has nothing to offer"
count=$(complete_words tt train -- | wc -w)
[ "$count" -gt 40 ] || fail "tt train -- offers only $count words"
"$TT" help --completion zsh >_tt && "$TT" help --completion fish >tt.fish || fail "no completion for zsh or fish"
grep -q "'--batch-size=\[sequences in a batch of one device\]" _tt || fail "zsh: no --batch-size"
grep -q "seen_subcommand_from train' -l version -x -a 'baseline fused flash'" tt.fish || fail "fish: no --version"
in_zsh() { # in_zsh "words, the last one unfinished": what zsh in a terminal completes with Tab
    cat >tab.zsh <<'END'
zmodload zsh/zpty
zpty shell "zsh -f -i"
zpty -w shell "PS1=; fpath=($1 \$fpath); autoload -U compinit; compinit -u -D; tt() { print -r -- \"<\$*>\" }"
for i in {1..100}; do
    (( i == 5 )) && zpty -w -n shell "$2"$'\t'
    (( i == 10 )) && zpty -w -n shell $'\r'
    while zpty -r -t shell line; do text+=$line; done
    [[ $text == *"<"[a-z]*">"* ]] && break
    sleep 0.2
done
print -r -- "${${text##*<}%%>*}"
END
    TERM=xterm timeout 60 zsh -f tab.zsh "$dir" "$1" | sed 's/ *$//'
}
if has zsh; then
    zsh -n _tt || fail "zsh cannot read its completion"
    for pair in "tt exer:exercise" "tt train --batch-s:train --batch-size" "tt train --version fl:train --version flash"; do
        got=$(in_zsh "${pair%%:*}")
        [ "$got" = "${pair##*:}" ] || fail "zsh makes \"$got\" of ${pair%%:*}"
    done
fi
if has fish; then
    fish -n tt.fish || fail "fish cannot read its completion"
    for pair in "tt exer:exercise" "tt train --batch-s:--batch-size" "tt train --version fl:flash"; do
        got=$(HOME=$dir fish -c "source tt.fish; complete -C '${pair%%:*}'" 2>/dev/null | cut -f 1)
        [ "$got" = "${pair##*:}" ] || fail "fish offers \"$got\" for ${pair%%:*}"
    done
fi
"$TT" help --completion tcsh >/dev/null 2>err && fail "tcsh?"
grep -q "bash" err || fail "an unknown shell: $(cat err)"
passed "completion"

# ---- install, move, run ----
has cmake || finish
cmake --install "$TT_BUILD" --prefix "$dir/first" >log 2>&1 || fail "cmake --install: $(tail -n 3 log)"
mkdir elsewhere && mv first "elsewhere/moved here"
tree="elsewhere/moved here"
[ "$("$tree/bin/tt" --version)" = "$("$TT" --version)" ] || fail "the installed tt does not start"
for file in share/man/man1/tt.1 share/bash-completion/completions/tt share/zsh/site-functions/_tt \
    share/fish/vendor_completions.d/tt.fish; do
    [ -s "$tree/$file" ] || fail "not installed: $file"
done
for number in 1 2 3 4 5 6 7 8 9 10; do
    env -u TT_EXERCISES "$tree/bin/tt" exercise start $number "copy of $number" >/dev/null || fail "exercise $number does not start"
    broken_links "copy of $number/README.md" | grep . && fail "links of a copied exercise"
done
grep -q "moved here/share/tt/exercises/04-fused/README.md" "copy of 10/README.md" || fail "a copy has no link to the course: $(grep 04-fused "copy of 10/README.md")"
for file in "$tree"/share/tt/exercises/*.md "$tree"/share/tt/exercises/*/*.md; do broken_links "$file"; done | grep . && fail "links of the installed course"
env -u TT_EXERCISES "$tree/bin/tt" exercise list | grep -q "moved here" || fail "the installed tt does not find its exercises"
cmp -s "$tree/share/man/man1/tt.1" tt.1 || fail "the installed manual page is another one"
for file in LICENSE CHANGELOG.md README.md; do find "$tree/share/doc" -name $file | grep -q . || fail "not installed: $file"; done
links() { # links FOLDER: relative links in its documents that lead nowhere
    find "$1" -name '*.md' | while read -r file; do
        sed '/^```/,/^```/d' "$file" | grep -oE '\]\([^)# ]+' | cut -c 3- | grep -vE '^[a-z]+:' | while read -r to; do
            [ -e "$(dirname "$file")/$to" ] || echo "${file#"$1"/}: $to"
        done
    done
}
broken=$(links "$tree/share")
[ -z "$broken" ] || fail "links that lead nowhere: $broken"
[ "$(find "$tree/share" -name '*.md' -exec cat {} + | grep -cE '\]\([a-z.]')" -gt 40 ] || fail "there were hardly any links to follow"
grep -rqlF -e "$root" -e "$TT_BUILD" "$tree/share" && fail "the tree knows where it was made"
passed "install"

# ---- packages ----
if has cpack; then
    cpack --config "$TT_BUILD/CPackConfig.cmake" -G TGZ -B "$dir/packed" >log 2>&1 || fail "cpack: $(tail -n 3 log)"
    tar tzf packed/tinytransformer-*.tar.gz >list || fail "no .tar.gz"
    grep -q 'bin/tt$' list && grep -q 'man1/tt.1$' list || fail "the .tar.gz has no bin/tt or no manual page"
    mkdir unpacked && tar xzf packed/tinytransformer-*.tar.gz -C unpacked
    unpacked/*/bin/tt --version >/dev/null || fail "tt of the .tar.gz does not start"
    if has dpkg-deb; then
        cpack --config "$TT_BUILD/CPackConfig.cmake" -G DEB -B "$dir/packed" >log 2>&1 || fail "cpack: $(tail -n 3 log)"
        dpkg-deb -c packed/*.deb >list || fail "no .deb"
        grep -q './usr/bin/tt$' list && grep -q './usr/share/man/man1/tt.1$' list || fail "the .deb puts things elsewhere: $(head -n 5 list)"
        dpkg-deb -f packed/*.deb Depends | grep -q libc6 || fail "the .deb depends on nothing"
    fi
    passed "packages"
fi

# ---- the files for clusters ----
cd "$root" || exit 1
for file in packaging/slurm/*.sbatch; do
    bash -n "$file" || fail "$file"
    words=$(sed -n '/srun "\{0,1\}\$tt/,/out$/p' "$file" | tr -d '\\\n' | sed 's/.*\$tt"\{0,1\} //')
    # shellcheck disable=SC2086
    "$TT" ${words//\$out/x} --precision fp32 --resume none --print-config >/dev/null 2>"$dir/err" || fail "$file: $(cat "$dir/err")"
done
if has python3; then python3 -c "import ast; ast.parse(open('packaging/spack/package.py').read())" || fail "package.py"; fi
passed "cluster files"
finish
