#!/usr/bin/env bash
# A real builder tests the container files: buildah parses them, takes their arguments, and runs every step of every
# stage. No base image is pulled: the base is a shell of this machine, with a fake apt-get and cmake that record their
# calls. This shows that the files are right, not that tt compiles in those images.
set -u
. tests/lib.sh
has buildah || skip "no buildah"
export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
b() { buildah --root "$dir/store" --runroot "$dir/run" "$@"; }
trap 'b rm --all >/dev/null 2>&1; b rmi --all --force >/dev/null 2>&1; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
b from --name base scratch >log 2>&1 || skip "buildah cannot work here: $(tail -n 1 log)"

# ---- a base: sh, mkdir and rm with their libraries, and the fake tools ----
mkdir -p root/bin root/tmp root/etc
for tool in sh mkdir rm; do
    path=$(readlink -f "$(command -v $tool)")
    cp "$path" root/bin/$tool
    for library in $(ldd "$path" 2>/dev/null | grep -o '/[^ ]*'); do cp --parents -L "$library" root; done
done
cat >root/bin/apt-get <<'SH'
#!/bin/sh
echo "apt-get $*" >>/apt.log
SH
cat >root/bin/cmake <<'SH'
#!/bin/sh
[ -f /src/CMakeLists.txt ] || { echo "no sources in /src"; exit 1; }
for there in /src/build /src/build-2 /src/runs /src/.git; do [ ! -e $there ] || { echo "$there is in the image"; exit 1; }; done
echo "cmake $*" >>/cmake.log
[ "$1" = --install ] || exit 0
[ "$2 $3 $4" = "/build --prefix /opt/tt" ] || exit 1
mkdir -p /opt/tt/bin
while read -r line; do echo "$line"; done </cmake.log >/opt/tt/bin/tt
SH
chmod +x root/bin/*
{ b copy base root / && b commit base localhost/stand-in; } >log 2>&1 || { cat log; fail "no base image"; exit 1; }

# ---- a checkout with files that must not be sent to the builder ----
mkdir -p context/build/x context/build-2 context/runs/y context/.git
cp "$root/.containerignore" "$root/CMakeLists.txt" context
cp -r "$root/packaging" context
echo x | tee context/build/x/x context/build-2/x context/runs/y/x context/.git/x >/dev/null

config() { b inspect --type image --format "{{.OCIv1.Config.$2}}" "localhost/tt:$1"; }
for kind in cuda rocm; do
    file=context/packaging/Containerfile.$kind
    backend=${kind/rocm/hip}
    b build --pull=never -f "$file" --build-arg BUILD_IMAGE=localhost/stand-in --build-arg RUN_IMAGE=localhost/stand-in -t "localhost/tt:$kind" context >log 2>&1 ||
        { fail "$file: $(tail -n 5 log)"; continue; }
    [ "$(config $kind Entrypoint) $(config $kind Cmd) $(config $kind WorkingDir)" = "[tt] [help] /work" ] || fail "$kind: it would start $(config $kind Entrypoint) $(config $kind Cmd)"
    container=$(b from "localhost/tt:$kind")
    # shellcheck disable=SC2016
    b run "$container" -- /bin/sh -c 'while read -r line; do echo "$line"; done </usr/local/bin/tt; [ ! -e /src ] && [ ! -e /build ]' >calls 2>&1 ||
        fail "$kind: the image has more than tt: $(cat calls)"
    grep -q -- "-S /src -B /build .*-DBACKEND=$backend " calls && grep -q -- '--install /build --prefix /opt/tt --strip' calls || fail "$kind: $(cat calls)"

    # the default images, in the version asked for
    version=$(sed -n "s/^ARG ${kind^^}=//p" "$file")
    for asked in "$version" 99.1; do
        b build --pull=never -f "$file" --build-arg "${kind^^}=$asked" context >log 2>&1 &&
            fail "$kind: an image that is not there was found"
        grep -q "docker.io/[a-z]*/.*$asked" log || fail "$kind $asked: $(tail -n 3 log)"
    done

    # a mistake in the file is found
    sed 's/^WORKDIR/WORKDER/' "$file" >broken
    b build --pull=never -f broken --build-arg BUILD_IMAGE=localhost/stand-in --build-arg RUN_IMAGE=localhost/stand-in context >log 2>&1 && fail "a broken file was built"
    passed "Containerfile.$kind"
done
finish
