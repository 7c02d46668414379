#!/usr/bin/env bash
# What a release holds for one backend: the packages of cpack and a wheel, in a new folder. From the root of the repository:
#   packaging/release.sh cpu|cuda|hip FOLDER
# Needs cmake, ninja, a C compiler, python3 with pip, and the toolkit of the backend. CMAKE_ARGS are further words for CMake, for both.
set -euo pipefail
backend=${1:?is the backend: cpu, cuda or hip} out=${2:?is the folder for the packages}
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
mkdir -p "$out"
out=$(cd "$out" && pwd)
case $backend in
cpu) options=(-DTT_MPI=OFF) ;; # MPIs of other machines are not compatible with each other
cuda) options=(-DTT_CUDA_RELEASE=ON) ;;
hip) options=() ;; # one chip of each kind
*) echo "release.sh: there is no backend $backend; use cpu, cuda or hip" >&2 && exit 2 ;;
esac
read -ra more <<<"${CMAKE_ARGS:-}"

cmake -S . -B "build/release-$backend" -G Ninja -DBACKEND="$backend" -DBUILD_TESTING=OFF -DCMAKE_BUILD_TYPE=Release "${options[@]}" "${more[@]}"
cmake --build "build/release-$backend"
cpack --config "build/release-$backend/CPackConfig.cmake" -B "$out"
rm -rf "$out/_CPack_Packages"

# wheels of all backends have one name, but for the build tag
settings=("--config-settings=cmake.define.BACKEND=$backend" "--config-settings=wheel.build-tag=1$backend")
for option in "${options[@]}"; do
    option=${option#-D}
    settings+=("--config-settings=cmake.define.${option%%=*}=${option#*=}")
done
python3 -m pip wheel . --no-deps "${settings[@]}" -w "$out"
(cd "$out" && sha256sum -- *"$backend"* >"SHA256SUMS-$backend-$(uname -m)")
ls -l "$out"
