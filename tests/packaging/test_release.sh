#!/usr/bin/env bash
# The release files: their versions, images and options are those of the repository. A linter reads each of them if one
# is installed (actionlint or check-jsonschema, rattler-build's parser, shellcheck).
set -u
. tests/lib.sh
python=${TT_PYTHON:-python3}
near=$(dirname "$(command -v "$python" || echo /usr/bin/x)") # a virtual environment has its tools beside its Python
PATH=$PATH:$near
workflow=.github/workflows/release.yml recipe=packaging/conda/recipe.yaml
version=$(sed -n 's/^project(TinyTransformer VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)

# ---- without linters ----
says "$recipe" "version: \"$version\""
for file in $workflow $recipe packaging/conda/variants.yaml; do
    check "$file: tabs, or blanks at the end of a line" test -z "$(grep -nP '\t| $' "$file")"
done
for backend in cpu cuda hip; do
    check "the workflow builds nothing for $backend" grep -q "^ *backend: $backend\$" $workflow
    check "release.sh does not know $backend" grep -q "^$backend) options=" packaging/release.sh
done
for kind in CUDA ROCM; do # the workflow builds in the images of the container files
    image=$(sed -n "s/^ARG $kind=//p" "packaging/Containerfile.${kind,,}")
    check "the workflow takes another $kind than $image" grep -qE "image: .*[:]$image(-|\$)" $workflow
done
defined=$(cat CMakeLists.txt lib/library.cmake backend/*/*.cmake)
for option in $(grep -ohE -- '-D[A-Z_]+=' packaging/release.sh $recipe packaging/Containerfile.* | tr -d '=' | sort -u); do
    name=${option#-D}
    case $name in CMAKE_* | BUILD_TESTING) continue ;; esac
    check "no option $name" grep -qE "(option|set)\($name " <<<"$defined"
done
for script in $(grep -oE 'packaging/[a-z_]+\.sh' $workflow); do check "$script cannot be run" test -x "$script"; done
bash -n packaging/release.sh || fail "release.sh"
expect 2 "there is no backend tpu" packaging/release.sh tpu "$dir/packages"
passed "versions, images and options"

# ---- with linters ----
if has actionlint; then
    actionlint $workflow >"$dir/out" 2>&1 && passed "the workflow, by actionlint" || fail "actionlint"
elif has check-jsonschema; then
    check-jsonschema --builtin-schema vendor.github-workflows $workflow >"$dir/out" 2>&1 || fail "check-jsonschema"
    sed 's/runs-on:/runs_on:/' $workflow >"$dir/broken.yml"
    check-jsonschema --builtin-schema vendor.github-workflows "$dir/broken.yml" >/dev/null 2>&1 && fail "a broken workflow passes"
    passed "the workflow, by check-jsonschema"
fi
if has shellcheck; then shellcheck packaging/release.sh >"$dir/out" 2>&1 || fail "shellcheck"; fi
if "$python" -c 'import yaml' 2>/dev/null; then # the workflow's commands are bash
    "$python" - $workflow <<'END' >"$dir/out" 2>&1 || fail "commands of the workflow"
import subprocess, sys, yaml
jobs = yaml.safe_load(open(sys.argv[1]))["jobs"]
runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
assert len(runs) >= 5
for text in runs:
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
END
    passed "the commands of the workflow, by bash"
fi
if "$python" -c 'import rattler_build' 2>/dev/null; then
    for backend in cpu cuda; do
        "$python" tests/packaging/render_recipe.py packaging/conda $backend >"$dir/out" 2>"$dir/err" || fail "rattler-build"
        shows "^tinytransformer $version ${backend}_h[0-9a-f]*_0 gcc_linux-64 "
        shows "^tinytransformer-python $version .*tinytransformer ==$version"
        [ $backend = cpu ] && shows " openblas" || shows " cuda-nvcc_linux-64 .*libcublas-dev"
    done
    passed "the recipe, by rattler-build"
fi
finish
