#!/usr/bin/env bash
# The installed libtt exports only libtt_*. Programs build against it with pkg-config and with CMake, from a tree that
# was moved, shared and static. What it trains has the bits of tt train.
set -u
. tests/lib.sh
: "${TT:?is the program to test}" "${TT_BUILD:?is the build folder}"
[ "$(cached TT_LIBRARY)" = ON ] || skip "built without the library"
has cmake || skip "no cmake"
if ! "$TT" info >/dev/null 2>&1; then skip "no device for this build"; fi

cc=$(cached CMAKE_C_COMPILER)
flags=(-std=c99 -Wall -Wextra -Werror -Wno-variadic-macros)
if grep -q __asan_init "$TT"; then flags+=(-fsanitize=address,undefined); fi
cmake --install "$TT_BUILD" --prefix "$dir/first" >"$dir/log" 2>&1 || fail "cmake --install: $(tail -n 3 "$dir/log")"
mkdir "$dir/elsewhere" && mv "$dir/first" "$dir/elsewhere/moved"
tree=$dir/elsewhere/moved
pc=$(find "$tree" -name libtt.pc)
lib=$(cd "$(dirname "$pc")/.." && pwd) || exit 1
cd "$dir" || exit 1

# ---- exported names ----
grep -oE '\blibtt_[a-z_]+\(' "$tree/include/libtt.h" | tr -d '(' | sort -u >declared
nm -D --defined-only "$lib/libtt.so" | awk '{print $NF}' | sed 's/@.*//' | grep -v '^libtt\.so' | sort -u >shared
nm -g --defined-only "$lib/libtt.a" | awk 'NF == 3 {print $3}' | sort -u >static
if ! grep -q __asan_init "$TT"; then
    cmp -s declared shared || fail "the shared library shows other names than libtt.h: $(comm -3 declared shared | tr '\n' ' ')"
    cmp -s declared static || fail "the static library shows other names than libtt.h: $(comm -3 declared static | tr '\n' ' ')"
fi
# the library must not contain what only the program needs: commands and help, profiles and reports, the course
nm "$lib/libtt.a" | awk '$2 ~ /[tTdDrR]/ {print $3}' >inside
[ "$(grep -c '^tt_' inside)" -gt 100 ] || fail "nm shows nothing of what is in libtt.a"
foreign=$(grep -E '^tt_(cmd|help|commands|profile|report|compare|html|svg|advice|import|formula|exercise|class|fault|course|own_kernel)' inside)
[ -z "$foreign" ] || fail "the library holds what only the program needs: $(tr '\n' ' ' <<<"$foreign")"
[ "$(wc -l <declared)" -ge 10 ] || fail "libtt.h declares only: $(cat declared)"
[ "$(wc -l <"$root/lib/example.c")" -lt 80 ] || fail "the example is too long"
passed "names"

# ---- build against it ----
if has pkg-config; then
    export PKG_CONFIG_PATH=${pc%/*}
    read -ra how < <(pkg-config --cflags --libs libtt)
else
    how=(-I"$tree/include" -L"$lib" -ltt)
fi
[[ ${how[*]} == *"$tree/"* || ${how[*]} == *"pkgconfig/../.."* ]] || fail "pkg-config leads elsewhere: ${how[*]}"
read -ra rest < <(sed -n 's/^Libs.private: //p' "$pc")
example=$tree/share/tt/lib/example.c
"$cc" "${flags[@]}" "$example" -o example "${how[@]}" || fail "the example does not build"
"$cc" "${flags[@]}" "$root/tests/lib/check.c" -o shared-check "${how[@]}" -lm || fail "shared: no build"
"$cc" "${flags[@]}" "$root/tests/lib/check.c" -o static-check -I"$tree/include" "$lib/libtt.a" "${rest[@]}" || fail "static: no build"
if has c++; then echo '#include <libtt.h>' | c++ -x c++ -Wall -Wextra -Werror -fsyntax-only -I"$tree/include" - || fail "C++ does not take libtt.h"; fi
passed "build"

# ---- use it ----
export XDG_CACHE_HOME=$dir/cache # the same choice of a GPU's algorithms, whatever else runs meanwhile
export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} OMP_NUM_THREADS=1
of_ranks=
if ! "$TT" info | grep -q 'collectives: no'; then
    TT_TEST_RANKS_ON_ONE_GPU=1 "$TT" train --hidden-dim 32 --num-layers 2 --seq-len 16 --global-batch 8 --num-steps 3 --ranks 2 --shard weights \
        --val-interval 0 --quiet --out by-ranks >log 2>&1 || fail "two ranks do not train: $(tail -n 3 log)"
    of_ranks=by-ranks
fi
# the shared library in a program whose locale writes 1,5
printf '%s\n' LC_NUMERIC 'decimal_point ","' 'thousands_sep "."' 'grouping 3;3' 'END LC_NUMERIC' >comma
locale=(env)
if has localedef && localedef -c -i ./comma "$dir/xx_XX" >log 2>&1 || [ -e "$dir/xx_XX/LC_NUMERIC" ]; then
    locale=(env LOCPATH="$dir" LC_ALL=xx_XX)
else
    echo "note: no locale can be made here; the library is not tried where a decimal point is a comma"
fi
"${locale[@]}" ./shared-check by-shared $of_ranks >said || fail "shared: $(cat said)"
cat said
[ ${#locale[@]} = 1 ] || grep -q "a point is ," said || fail "the locale with a comma is not used: $(cat said)"
./static-check by-static $of_ranks || fail "static"
words=(--hidden-dim 32 --num-layers 2 --batch-size 4 --seq-len 16 --grad-accum 2 --num-steps 6 --threads 1)
"$TT" train "${words[@]}" --quiet --val-interval 0 --out by-tt >/dev/null || fail "tt train"
mkdir half && cp -r by-shared/step-00000003 half/
"$TT" train --resume auto --threads 1 --quiet --val-interval 0 --out half >/dev/null || fail "tt train does not go on with what the library saved"
for run in by-shared by-static half; do
    for file in model state; do
        cmp "by-tt/step-00000006/$file.safetensors" "$run/step-00000006/$file.safetensors" || fail "$run/$file has other bits than tt train"
    done
done
"$TT" generate --checkpoint by-shared --max-tokens 5 >/dev/null 2>&1 || fail "tt generate does not take what the library saved"
"$TT" generate --checkpoint by-tt --max-tokens 20 --seed 7 --threads 1 --json | tr -d ' \n' | sed 's/.*"tokens":\[0,//; s/\].*//' |
    tr ',' '\n' | sed '$a\' >tokens
"$TT" export by-tt --dtype bf16 hf >/dev/null || fail "tt export"
mkdir gguf
for run in by-shared by-static; do
    [ "$(wc -l <tokens)" = 20 ] && cmp tokens $run.tokens || fail "$run: other tokens than tt generate: $(paste -sd ' ' $run.tokens)"
    "$TT" export by-tt --dtype q8_0 --out gguf/$run.gguf >/dev/null || fail "tt export" # the name is in the file
    diff -r hf $run.hf && cmp gguf/$run.gguf $run.gguf || fail "$run: the export differs from that of tt export"
done
passed "the bits of tt train"
./example sums >log || fail "the example fails"
awk '/^step 1:/ { first = $4 } /^step 300:/ { last = $4 } END { exit !(last < 0.5 * first) }' log || fail "the example does not learn: $(cat log)"
passed "example"

# ---- find_package ----
mkdir user && cp "$example" user/
cat >user/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(libtt 0.1 REQUIRED)
add_executable(shared example.c)
target_link_libraries(shared PRIVATE libtt::libtt)
add_executable(static example.c)
target_link_libraries(static PRIVATE libtt::static)
END
cmake -S user -B user/build -DCMAKE_PREFIX_PATH="$tree" -DCMAKE_C_COMPILER="$cc" -DCMAKE_C_FLAGS="${flags[*]:4}" >log 2>&1 &&
    cmake --build user/build >>log 2>&1 || fail "find_package: $(tail -n 5 log)"
env -u LD_LIBRARY_PATH user/build/static sums-2 >/dev/null || fail "what CMake built does not run"
cmp -s sums/step-00000300/model.safetensors sums-2/step-00000300/model.safetensors || fail "shared and static differ"
ldd user/build/shared | grep -q "libtt.so.0 => $lib" || fail "what CMake built finds another libtt"
passed "find_package"
finish
