#!/usr/bin/env bash
# Builds kube-apiserver from Debian's source package, once a machine and user, and prints the path of the binary.
# With --where it builds nothing: it prints the path, or ends with 1 when there is none yet.
#
# Why from source: nothing but package registries can be reached where the tests run, and Debian ships no binary of it.
# KUBEBUILDER_ASSETS (the convention of envtest) comes first: a kube-apiserver in that folder is used as it is.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/servers/apt.sh
source "$here/apt.sh"

version=1.20.2
recipe=1 # part of the folder's name: a changed recipe builds anew
cache=${XDG_CACHE_HOME:-$HOME/.cache}/karpdash/kube-apiserver
wanted=$cache/$version-$recipe/kube-apiserver

# Sources come from wherever this machine gets its packages: the same entries, asked for deb-src.
configure_sources() {
    local parts=$1/parts file
    mkdir -p "$parts" "$1/lists/partial"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ -e "$file" ] && sed -n 's/^deb /deb-src /p' "$file" >"$parts/$(basename "$file" .list).list"
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -e "$file" ] && sed 's/^Types:.*/Types: deb-src/' "$file" >"$parts/$(basename "$file")"
    done
    source_options=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$parts" -o "Dir::State::lists=$1/lists"
        -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= -o APT::Sandbox::User=root)
}

download_source() {
    configure_sources "$1"
    apt_get "${source_options[@]}" update || echo "some source lists could not be read" >&2
    (cd "$1" && apt_get "${source_options[@]}" source --download-only kubernetes)
    dsc=$(find "$1" -maxdepth 1 -name 'kubernetes_*.dsc' -print -quit)
    case $(basename "$dsc") in
    *[_y]"$version-"*) ;; # Debian writes 1.20.5+really1.20.2-1
    *)
        echo "this release ships $(basename "$dsc"); the recipe is for $version: set KUBEBUILDER_ASSETS instead" >&2
        return 1
        ;;
    esac
}

# Go 1.18 and later break two vendored libraries of 2021.
repair_source() {
    local file
    # reflect2 1.0.1 corrupts memory while it walks a map ("fatal error: fault" in mapiternext); Debian has 1.0.2.
    rm -rf vendor/github.com/modern-go/reflect2
    cp -rL /usr/share/gocode/src/github.com/modern-go/reflect2 vendor/github.com/modern-go/reflect2
    # reflect.Zero shares one address with "", so DeepEqual takes every empty string of a custom resource for null.
    for file in vendor/github.com/go-openapi/validate/type.go vendor/k8s.io/kube-openapi/pkg/validation/validate/type.go; do
        sed -i -E 's/data == nil \|\| reflect\.DeepEqual\(.*\) \{/data == nil {/' "$file"
        if grep -q 'data == nil ||' "$file" || ! grep -q 'data == nil {' "$file"; then
            echo "the repair no longer fits $file" >&2
            return 1
        fi
        grep -q 'reflect\.' "$file" || sed -i '/^\t"reflect"$/d' "$file"
    done
}

build() {
    local work=$1
    local tree=$work/src/k8s.io/kubernetes
    install_packages golang-go jq rsync make gcc libc6-dev dpkg-dev golang-github-modern-go-reflect2-dev
    download_source "$work"
    mkdir -p "$(dirname "$tree")"
    dpkg-source --no-check -x "$dsc" "$tree"
    cd "$tree"
    repair_source
    unset GOFLAGS
    export GOGC=400 # the compiler of Go 1.19 collects garbage too often: a sixth of its processor time
    export GOPATH=$work GOCACHE=$work/cache GO111MODULE=off CGO_ENABLED=0 KUBE_GIT_VERSION=v$version \
        KUBE_GIT_MAJOR=1 KUBE_GIT_MINOR=20 KUBE_GIT_COMMIT=debian KUBE_GIT_TREE_STATE=archive
    # The source has all generated code except the OpenAPI definitions; `make WHAT=` would build five more generators.
    make gen_openapi
    hack/make-rules/build.sh cmd/kube-apiserver
    # Beside its final place first: a rename within one file system leaves either nothing or all of it.
    mkdir -p "$(dirname "$wanted")"
    cp "_output/local/bin/linux/$(go env GOARCH)/kube-apiserver" "$wanted.part"
    mv "$wanted.part" "$wanted"
}

if [ "${1:-}" = --build-in ]; then
    build "$2"
    exit 0
fi
if [ -n "${KUBEBUILDER_ASSETS:-}" ] && [ -x "$KUBEBUILDER_ASSETS/kube-apiserver" ]; then
    echo "$KUBEBUILDER_ASSETS/kube-apiserver"
    exit 0
fi
if [ "${1:-}" = --where ]; then
    [ -x "$wanted" ] && echo "$wanted"
    exit
fi
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
if [ ! -x "$wanted" ]; then
    rm -rf "$cache"/build.* # left by a build that was killed: we hold the lock
    work=$(mktemp -d "$cache/build.XXXXXX")
    echo "building kube-apiserver $version (about four minutes, once); log: $work.log" >&2
    # A process of its own, because bash ignores "set -e" inside a condition.
    if ! bash "${BASH_SOURCE[0]}" --build-in "$work" >"$work.log" 2>&1 9>&-; then
        tail -n 30 "$work.log" >&2
        exit 1
    fi
    rm -rf "$work" "$work.log"
fi
echo "$wanted"
