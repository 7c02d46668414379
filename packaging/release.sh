#!/usr/bin/env bash
# Builds the release files for one backend in a new folder: the packages of cpack and a wheel. From the root of the
# repository:
#   packaging/release.sh cpu|cuda|hip FOLDER
# Needs cmake, ninja, a C compiler, python3 with pip, and the backend's toolkit. CMAKE_ARGS adds CMake arguments to both
# builds.
set -euo pipefail
backend=${1:?is the backend: cpu, cuda or hip} out=${2:?is the folder for the packages}
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
mkdir -p "$out"
out=$(cd "$out" && pwd)
case $backend in
cpu) options=(-DTT_MPI=OFF) ;; # MPI libraries of different machines are not compatible
cuda) options=(-DTT_CUDA_RELEASE=ON) ;;
hip) options=() ;; # one chip of each kind
*) echo "release.sh: there is no backend $backend; use cpu, cuda or hip" >&2 && exit 2 ;;
esac
read -ra more <<<"${CMAKE_ARGS:-}"

cmake -S . -B "build/release-$backend" -G Ninja -DBACKEND="$backend" -DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=Release "${options[@]}" "${more[@]}"
cmake --build "build/release-$backend"
cpack --config "build/release-$backend/CPackConfig.cmake" -B "$out"
rm -rf "$out/_CPack_Packages"

# the wheels of all backends have the same name except for the build tag
settings=("--config-settings=cmake.define.BACKEND=$backend" "--config-settings=wheel.build-tag=1$backend")
for option in "${options[@]}"; do
    option=${option#-D}
    settings+=("--config-settings=cmake.define.${option%%=*}=${option#*=}")
done
python3 -m pip wheel . --no-deps "${settings[@]}" -w "$out"
(cd "$out" && sha256sum -- *"$backend"* >"SHA256SUMS-$backend-$(uname -m)")
ls -l "$out"
