# Debian packages unpacked into a folder, for scripts to source: no root, nothing installed, the machine's own apt
# neither read nor written but for the address of its mirror (or TT_DEBIAN_MIRROR). Signatures are checked.

hip_cache=${TT_HIP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tt}

apt_skip() { # apt_skip WHY...: a test that cannot run is skipped, with a reason
    echo "skipped: $*" >&2
    exit 77
}

apt_mirror() {
    local found=${TT_DEBIAN_MIRROR:-}
    [ -n "$found" ] || found=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        sed -n 's/^Debian //p' | grep -v -e -security -e backports | head -n 1)
    [ -n "$found" ] || found=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v '^ *#' |
        grep -oE '[a-z]+://[^] ]*/debian/?( |$)' | head -n 1 | tr -d ' ')
    echo "$found"
}

# A private apt for SUITE and ARCH under DIR. The date of a Release file is not held against a frozen mirror.
apt_open() { # apt_open DIR SUITE ARCH
    local dir=$1 key tool mirror
    for tool in apt-get dpkg-deb tar xz; do command -v $tool >/dev/null || apt_skip "$tool is not here"; done
    for key in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do [ -r "$key" ] && break; done
    [ -r "$key" ] || apt_skip "no debian-archive-keyring on this machine"
    mirror=$(apt_mirror)
    [ -n "$mirror" ] || apt_skip "this machine's apt knows no Debian mirror (TT_DEBIAN_MIRROR names one)"
    mkdir -p "$dir"/{lists/partial,cache/archives/partial,etc/preferences.d,etc/trusted.gpg.d,etc/parts}
    : >"$dir/status"
    echo "deb [signed-by=$key] $mirror $2 main" >"$dir/etc/sources.list"
    if [ "$2" = experimental ]; then # which is no whole suite: ROCm's own packages over sid
        echo "deb [signed-by=$key] $mirror sid main" >>"$dir/etc/sources.list"
        printf '%s\n' "Package: libamdhip64* libhip* hipcc* libroc* libhsa* libamd-comgr* rocm* libhsakmt*" \
            "Pin: release a=experimental" "Pin-Priority: 990" >"$dir/etc/preferences"
    fi
    cat >"$dir/apt.conf" <<CONF
APT { Architecture "$3"; Architectures { "$3"; }; Install-Recommends "false"; Sandbox::User ""; };
Acquire { Languages "none"; Retries "2"; Check-Valid-Until "false"; http::Timeout "20"; https::Timeout "20"; };
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Dir { State "$dir"; State::status "$dir/status"; Cache "$dir/cache"; Log "$dir"; };
Dir::Etc "$dir/etc"; Dir::Etc::main "none"; Dir::Etc::parts "parts"; Dir::Etc::sourceparts "-";
CONF
    apt-config dump 2>/dev/null | grep -iE '^Acquire::https?::.*proxy' >>"$dir/apt.conf" || : # the machine's proxy, if any
    apt_in "$dir" get -qq update >"$dir/log" 2>&1 && [ -n "$(ls "$dir"/lists/*Packages* 2>/dev/null)" ] ||
        apt_skip "no Debian mirror can be reached for $2: $(grep -m 1 -oE "(Failed|Could not|Unable).*" "$dir/log")"
}

apt_in() { # apt_in DIR get|cache WORDS...
    local dir=$1 tool=$2
    shift 2
    APT_CONFIG=$dir/apt.conf "apt-$tool" "$@"
}

apt_download() { # apt_download DIR PACKAGE...: these alone, into DIR/debs
    local dir=$1
    shift
    mkdir -p "$dir/debs" && (cd "$dir/debs" && apt_in "$dir" get -qq download "$@")
}

apt_download_all() { # apt_download_all DIR PACKAGE...: with all they depend on, into DIR/cache/archives
    local dir=$1
    shift
    apt_in "$dir" get -qq -y --download-only install "$@"
}

apt_unpack() { # apt_unpack INTO FILE...
    local into=$1
    shift
    printf '%s\0' "$@" | xargs -0 -P "$(nproc)" -I{} sh -c 'dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" --no-same-owner \
        --keep-directory-symlink --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale \
        --exclude="./usr/lib/*/gconv"' sh {} "$into"
}
