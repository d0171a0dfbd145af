#!/usr/bin/env bash
# Installs what the tests run against: etcd, Redis, PostgreSQL, nginx, chromium with a font, and a kube-apiserver built
# once.
#
# Nothing it installs is left running or starts at the next boot; what was there before keeps its ways.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/servers/apt.sh
source "$here/apt.sh"

wanted=(redis-server postgresql nginx-light fonts-dejavu-core)
if [ ! -x "${KUBEBUILDER_ASSETS:-/nowhere}/etcd" ]; then
    wanted+=(etcd-server)
fi
install_packages "${wanted[@]}"
# Chromium without windows takes a third of the processor; not every release of Debian or Ubuntu has it.
if package_is_installed chromium-headless-shell || apt-cache show chromium-headless-shell >/dev/null 2>&1; then
    install_packages chromium-headless-shell || install_packages chromium
else
    install_packages chromium
fi
"$here/build_kube_apiserver.sh" >/dev/null
