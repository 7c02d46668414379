#!/bin/sh
# kernel_stats.sh BUILD [--write]: the resources that every kernel in the HIP build at BUILD needs on every chip it was
# built for, read from the machine code: registers, shared memory (LDS), scratch, spills, matrix instructions and
# occupancy. Fails if a kernel spills or uses scratch, if attention has no matrix instructions, or if an addition was
# compiled to a compare-and-swap loop. Also fails if backend/hip/KERNELS.md is out of date: it lists other kernels, or
# other numbers although compiler and host are the same. --write makes that page.
set -eu
export LC_ALL=C
here=$(cd -- "$(dirname -- "$0")" && pwd -P)
page=$here/../../../backend/hip/KERNELS.md
build=${1:?is the folder of a HIP build}
if [ ! -e "$build/tt" ]; then
    echo "skipped: there is no HIP build in $build (ctest -L hip-toolchain makes one)"
    exit 77
fi
clang=$(sed -n 's/^set(CMAKE_HIP_COMPILER "\(.*\)")$/\1/p' "$build"/CMakeFiles/*/CMakeHIPCompiler.cmake)
tools=$(dirname -- "$clang")
for tool in llvm-cxxfilt llvm-objcopy llvm-objdump llvm-readelf clang-offload-bundler; do
    [ -x "$tools/$tool" ] || { echo "FAIL there is no $tool beside ${clang:-the HIP compiler}"; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ---- one line per chip and kernel: chip, name, vector, accumulation and scalar registers, LDS, scratch, spills,
# ---- threads of a block, wave width, matrix instructions, compare-and-swaps

notes_of() { # notes_of CODE: the kernels' metadata
    "$tools/llvm-readelf" --notes "$1" | awk '
        function flush() { if (name) print name, v, a + 0, s, lds, scratch, spills, threads, wave; name = "" }
        /^  - / { flush(); a = spills = 0 }
        $1 == "-" { $1 = ""; $0 = $0 }
        $1 == ".agpr_count:" { a = $2 }
        $1 == ".group_segment_fixed_size:" { lds = $2 }
        $1 == ".max_flat_workgroup_size:" { threads = $2 }
        $1 == ".name:" && $2 ~ /^_Z/ { name = $2 }
        $1 == ".private_segment_fixed_size:" { scratch = $2 }
        $1 == ".sgpr_count:" { s = $2 }
        $1 == ".sgpr_spill_count:" || $1 == ".vgpr_spill_count:" { spills += $2 }
        $1 == ".vgpr_count:" { v = $2 }
        $1 == ".wavefront_size:" { wave = $2 }
        END { flush() }'
}

code_of() { # code_of CODE: per kernel, its matrix and compare-and-swap instructions
    "$tools/llvm-objdump" -d --no-show-raw-insn "$1" | awk '
        /^[0-9a-f]+ <.*>:$/ { name = substr($2, 2, length($2) - 3); seen[name] = 1; next }
        $1 ~ /^v_(mfma|smfmac|wmma)/ { matrix[name]++ }
        $1 ~ /(cmpswap|cmpst)/ { swaps[name]++ }
        END { for (n in seen) print n, matrix[n] + 0, swaps[n] + 0 }'
}

find "$build" -path '*tt_gpu.dir*' -name '*.cu.o' | sort >"$work/objects"
[ -s "$work/objects" ] || { echo "FAIL there are no objects of kernels in $build"; exit 1; }
while read -r object; do
    "$tools/llvm-objcopy" --dump-section ".hip_fatbin=$work/bundle" "$object" "$work/rest" 2>/dev/null || continue
    for target in $("$tools/clang-offload-bundler" --list --type=o --input="$work/bundle" | grep '^hip'); do
        "$tools/clang-offload-bundler" --unbundle --type=o --targets="$target" --input="$work/bundle" --output="$work/code"
        notes_of "$work/code" | sort >"$work/notes"
        code_of "$work/code" | sort >"$work/insns"
        join "$work/notes" "$work/insns" | sed "s/^/${target##*--} /"
    done
done <"$work/objects" >"$work/mangled"
# readable names, without arguments; blanks are removed so that each line has fixed fields
cut -d ' ' -f 2 "$work/mangled" | "$tools/llvm-cxxfilt" | sed 's/^void //; s/([^()]*)$//; s/gpu_bf16/bf16/g; s/_Float16/fp16/g;
    s/(anonymous namespace):://g; s/, /,/g; s/ //g' | paste -d ' ' - "$work/mangled" |
    awk '{ n = $1; $1 = ""; $3 = n; sub(/^ /, ""); print }' | sort -u >"$work/kernels"

# ---- occupancy: blocks per compute unit (per pair of them from gfx10 on), and so waves on each of its four SIMDs ----
cat >"$work/fits.awk" <<'AWK'
function up(x, to) { return int((x + to - 1) / to) * to }
function least(x, y) { return x < y ? x : y }
function yes(x) { return x == "true" || x == "1" }
# LDS that the launch adds, computed from the template arguments
function dynamic(name,   p, n, rows, buffers) {
    gsub(/[<>()]/, ",", name)
    n = split(name, p, /,+/)
    if (p[1] == "flash_forward" || p[1] == "flash_gradients") { # ...flash_shape,T,DP,WAVE,ROWS,COLS,THREADS,STAGES,HOLD
        for (n = 1; p[n] != "flash_shape"; n++);
        buffers = 2 * p[n + 7] * p[n + 5]
        rows = p[n + 4] * (p[1] == "flash_forward" ? 1 : 2) + buffers
        if (yes(p[n + 8])) rows = buffers > p[n + 4] ? buffers : p[n + 4]
        return rows * (p[n + 2] + 8) * 2 + (p[1] == "flash_forward" ? 0 : buffers * 4)
    }
    if (p[1] == "forward") return ((p[3] + p[4]) * (p[2] + 4) + p[3] * (p[4] + 4)) * 4
    if (p[1] == "gradients") return ((2 * p[3] + (p[2] >= 128 && p[3] == p[4] ? 1 : 2) * p[4]) * (p[2] + 4) + p[3] * (p[4] + 4)) * 4
    if (p[1] == "rmsnorm_backward" && p[3] == 32) return 8 * 32 * p[4] * (p[2] == "float" ? 4 : 8) * 4 # the widest rows
    return 0
}
# Kernels for a wave width that the chip does not have are empty.
function absent(name, wave,   p) { return match(name, /flash_shape<[^,]*,[0-9]*,[0-9]*/) && substr(name, RSTART, RLENGTH) !~ "," wave "$" }
function blocks(chip, v, s, lds, threads, wave,   per, registers, waves) {
    per = up(threads, wave) / wave
    if (wave == 64) { # gfx9: 512 registers in steps of 8, at most 8 waves; 64 KiB of LDS, 160 on gfx950
        waves = least(8, int(512 / up(v > 0 ? v : 1, 8)))
        if (s > 100) waves = least(waves, 7)
        registers = int(4 * waves / per)
        return least(registers, lds ? int((chip == "gfx950" ? 160 : 64) * 1024 / up(lds, 512)) : registers)
    }
    waves = least(16, int(1536 / up(v > 0 ? v : 1, 24))) # gfx11, gfx12: 1536 by 24, 16 waves; 128 KiB for the pair
    registers = int(4 * waves / per)
    return least(registers, lds ? int(128 * 1024 / up(lds, 1024)) : registers)
}
{
    chip = $1; name = $2; v = $3; a = $4; s = $5; scratch = $7; spills = $8; threads = $9; wave = $10; matrix = $11; swaps = $12
    lds = $6 + dynamic(name)
}
AWK

cat >"$work/gate.awk" <<'AWK'
function refuse(what) { bad++; print "FAIL " chip " " name ": " what }
absent(name, wave) { next }
{ kernels++; chips[chip]++ }
scratch > 0 { refuse(scratch " bytes of scratch") }
spills > 0 { refuse(spills " registers spilled") }
swaps > 0 { refuse(swaps " compare-and-swap instructions") }
lds > 65536 { refuse(lds " bytes of LDS") }
name ~ /^flash_(forward|gradients)</ && !matrix { refuse("no matrix instruction") }
blocks(chip, v, s, lds, threads, wave) < 1 { refuse("no block fits a compute unit") }
END {
    for (c in chips) n++
    if (!kernels) { print "FAIL there are no kernels"; exit 1 }
    if (!bad) print "ok   " kernels " kernels of " n " chips: no scratch, no spills, no compare-and-swap; attention on matrix instructions"
    exit bad > 0
}
AWK

# the check itself can fail: an empty list, and each of these kernels, must be refused
for line in '' 'gfx942 k 32 0 16 0 16 0 256 64 0 0' 'gfx942 k 32 0 16 0 0 1 256 64 0 0' 'gfx1100 k 32 0 16 0 0 0 256 32 0 1' \
    'gfx942 k 32 0 16 70000 0 0 256 64 0 0' 'gfx942 flash_forward<flash_shape<bf16,64,64,128,64,256,1,true,true,2,32>> 32 0 16 0 0 0 256 64 0 0'; do
    if printf '%s' "$line" | awk -f "$work/fits.awk" -f "$work/gate.awk" >/dev/null; then echo "FAIL the gate lets this pass: $line"; exit 1; fi
done
awk -f "$work/fits.awk" -f "$work/gate.awk" "$work/kernels" || exit 1

# ---- KERNELS.md ----
compiler() { echo "$("$clang" --version | head -n 1), on $(uname -m)"; } # one version allocates registers differently by host
cat >"$work/page.awk" <<'AWK'
BEGIN { count = split("gfx90a gfx942 gfx950 gfx1100 gfx1201", order, " ") }
absent(name, wave) { next }
{
    if (!(name in most)) { names[++total] = name; most[name] = lds }
    if (lds > most[name]) most[name] = lds
    cell[name, chip] = v - a (a ? "+" a : "") " / " s (matrix ? " / " matrix : "") " / " \
        sprintf("%.3g", blocks(chip, v, s, lds, threads, wave) * up(threads, wave) / wave / 4)
    here[chip] = 1
}
END {
    line = "| kernel | LDS |"; rule = "|---|---|"
    for (c = 1; c <= count; c++) { line = line " " order[c] " |"; rule = rule "---|" }
    print line; print rule
    for (k = 1; k <= total; k++) {
        shown = names[k]; gsub(/,/, ", ", shown)
        line = "| `" shown "` | " most[names[k]] " |"
        for (c = 1; c <= count; c++) line = line " " cell[names[k], order[c]] " |"
        print line
    }
}
AWK
sort -k 2,2 "$work/kernels" | awk -f "$work/fits.awk" -f "$work/page.awk" >"$work/table"
if [ "${2:-}" = --write ]; then
    {
        cat <<'TEXT'
# What the kernels need on AMD chips

Read from the machine code by `tests/backend/hip/kernel_stats.sh BUILD --write`, of a build for the five chips by the compiler
named below; `ctest -L hip-machine-code` repeats it and fails where a kernel uses scratch or spills a register, where
attention has no matrix instruction (`v_mfma`, `v_wmma`), and where a compare-and-swap stands for an addition. None does:
there are no columns for scratch and spills because they would be zeros.

A cell is *vector registers (+ accumulation registers) / scalar registers / matrix instructions, where there are any / waves
per SIMD*. LDS is bytes of a block, with what the launch adds, the most over the chips. The waves per SIMD are those of
full occupancy: blocks of a compute unit × waves of a block / 4, and the blocks are the most that

- gfx90a, gfx942, gfx950 (waves of 64): 4 SIMDs have registers for, 512 of them to a lane in eights, at most 8 waves, 7 with
  more than 100 scalar registers; and LDS, 64 KiB in steps of 512 bytes (gfx950: 160 KiB)
- gfx1100, gfx1201 (waves of 32): the 4 SIMDs of a pair of compute units have registers for, 1536 of them to a lane in 24s, at
  most 16 waves; and LDS, 128 KiB in steps of 1 KiB

A block shape of attention is for one wave width (`flash_shape<type, head size, wave, rows, columns, threads, buffers, rows
held in registers, early, blocks, step>`): on the other chips that kernel is empty, and so is its cell.

TEXT
        compiler
        echo
        cat "$work/table"
    } >"$page"
    echo "wrote backend/hip/KERNELS.md"
    exit 0
fi
names_of() { sed -n 's/^| \(`[^`]*`\) .*/\1/p' "$1" | sort; }
stale() { # stale WHAT: in the diff, < is the page and > the build
    head -n 20 "$work/diff"
    echo "FAIL backend/hip/KERNELS.md $1 (<) than were built (>): tests/backend/hip/kernel_stats.sh $build --write"
    exit 1
}
names_of "$page" >"$work/listed"
names_of "$work/table" >"$work/built"
diff "$work/listed" "$work/built" >"$work/diff" || stale "lists other kernels"
# the numbers depend on the compiler, so they are compared only for the same compiler and host and all five chips
chips=$(cut -d ' ' -f 1 "$work/kernels" | sort -u | grep -c .)
if [ "$chips" = 5 ] && grep -qxF "$(compiler)" "$page"; then
    grep '^|' "$page" | diff - "$work/table" >"$work/diff" || stale "has other numbers"
    echo "ok   backend/hip/KERNELS.md is of these kernels and this compiler"
else
    echo "note: backend/hip/KERNELS.md is of another compiler, host or chips; the names of the kernels agree"
fi
