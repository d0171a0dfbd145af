# Sourced by the scripts beside it: apt-get for a fresh machine, as root or through sudo.
# shellcheck shell=bash

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# The lists lock has no timeout option of its own, so another apt-get at work is met by trying again.
apt_get() {
    local attempt
    for attempt in 1 2 3 4 5 6 7 8; do
        if as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@"; then
            return 0
        fi
        echo "apt-get $1: attempt $attempt failed" >&2
        sleep $((attempt * 2))
    done
    return 1
}

package_is_installed() {
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null || true)" = installed ]
}

# Debian starts a server the moment it is installed, unless policy-rc.d says 101: tests start their own.
forbid_service_starts() {
    [ -e /usr/sbin/policy-rc.d ] && return 0
    printf '#!/bin/sh\nexit 101\n' | as_root tee /usr/sbin/policy-rc.d >/dev/null
    as_root chmod 0755 /usr/sbin/policy-rc.d
    trap 'as_root rm -f /usr/sbin/policy-rc.d' EXIT
}

keep_off_at_boot() {
    local package
    command -v systemctl >/dev/null || return 0
    for package in "$@"; do
        # The units of etcd-server and nginx-light are called etcd and nginx; most packages have none at all.
        package=${package/etcd-server/etcd}
        as_root systemctl disable --quiet "${package/nginx-light/nginx}" 2>/dev/null || true
    done
}

# Installs the packages of "$@" that are missing; a server among them is neither started now nor at the next boot.
install_packages() {
    local missing=() package
    for package in "$@"; do
        package_is_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    if ! command -v apt-get >/dev/null; then
        echo "needs Debian or Ubuntu's apt-get to install: ${missing[*]}" >&2
        return 1
    fi
    echo "installing ${missing[*]}" >&2
    forbid_service_starts
    apt_get update
    apt_get install --yes --no-install-recommends "${missing[@]}"
    keep_off_at_boot "${missing[@]}"
}
