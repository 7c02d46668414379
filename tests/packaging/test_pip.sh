#!/usr/bin/env bash
# pip builds from a source package if scikit-build-core is installed (nothing is downloaded): the wheel contains the
# module, libtt and tt and nothing else, and works. This compiles everything again, so only the optimised CPU build does
# it.
set -u
. tests/lib.sh
: "${TT:?is the program to test}" "${TT_BUILD:?is the build folder}"
python=${TT_PYTHON:-python3}
"$python" -c 'import pip, scikit_build_core' 2>/dev/null || skip "no scikit-build-core"
on_cpu || skip "the build for the CPU does it"
once "the optimised build does it"
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1
if has ccache; then export CMAKE_C_COMPILER_LAUNCHER=ccache; fi

"$python" - "$dir" >"$dir/out" 2>"$dir/err" <<'END' || die "no source package"
import sys
from scikit_build_core import build
print(build.build_sdist(sys.argv[1]))
END
name=$(tail -n 1 "$dir/out")
tar tzf "$dir/$name" >"$dir/list"
for path in CMakeLists.txt lib/libtt.c lib/python/tinytransformer/py.typed packaging/packaging.cmake backend/cuda/backend.cmake; do
    check "the source package has no $path" grep -q "/$path\$" "$dir/list"
done
check "the source package has tests or a build in it" test -z "$(grep -E '^[^/]*/(tests|build|runs|\.git)/' "$dir/list")"
passed "source package"

cd "$dir" || exit 1
"$python" -m pip wheel --no-build-isolation --no-deps --config-settings=cmake.define.BACKEND=cpu -w wheels "$name" >out 2>err ||
    die "no wheel"
"$python" -m pip install --no-deps --target there wheels/*.whl >out 2>err || die "no installation"
(cd there && find . -type f ! -path '*/__pycache__/*' ! -path './bin/*' ! -path '*.dist-info/*' | sort) >files
printf './tinytransformer/%s\n' __init__.py _library.py libtt.so py.typed tt | cmp - files || fail "the wheel holds: $(cat files)"
check "no license" test -n "$(find there -name LICENSE)"
check "it fits every Python 3 of this machine" test -n "$(find wheels -name '*-py3-none-linux_*.whl')"
"$TT" --version >want
PYTHONPATH=there there/bin/tt --version | cmp - want || fail "the command tt"
PYTHONPATH=there "$python" -c 'import tinytransformer as tt; print("step", tt.open().create(num_layers=1).step().step)' >out 2>err
shows "^step 1$"
passed "wheel"
finish
