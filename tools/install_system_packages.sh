#!/usr/bin/env bash
# Install the Debian or Ubuntu packages that Headrace is built with. Asks only for what is missing; with everything
# there it changes nothing. This is the one list: README, Makefile and CI all come here.
#
#   tools/install_system_packages.sh          what `make demo` and `make test` need
#   tools/install_system_packages.sh --dev    also for `make nightly`, the fuzz targets, tests of pages in a browser, of archives and of codecs
#   tools/install_system_packages.sh --print  print the names and install nothing
set -euo pipefail

# "a|b" means: whichever of the two this release has (Ubuntu names libjpeg-turbo differently).
packages=(
  g++ make cmake ninja-build pkg-config ccache git ca-certificates
  python3 python3-dev python3-venv
  libturbojpeg0-dev 'libjpeg62-turbo-dev|libjpeg-turbo8-dev' libspng-dev libdeflate-dev zlib1g-dev liblz4-dev libzstd-dev libbz2-dev libbrotli-dev libblosc-dev liblmdb-dev libflatbuffers-dev
  libwebp-dev libgif-dev libtiff-dev libopenjp2-7-dev libjxl-dev libavif-dev
  libhwy-dev libxxhash-dev libfmt-dev libcli11-dev nlohmann-json3-dev libpugixml-dev
  libgtest-dev libgmock-dev libbenchmark-dev
)
dev_packages=('clang-19|clang-18' 'libclang-rt-19-dev|libclang-rt-18-dev' 'llvm-19|llvm-18' valgrind strace 'chromium|chromium-browser' squashfs-tools zip libopenjp2-tools libjpeg-turbo-progs)

print_only=no
for argument in "$@"; do
  case "$argument" in
    --dev) packages+=("${dev_packages[@]}") ;;
    --print) print_only=yes ;;
    *) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
done

if [ "$print_only" = yes ]; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi
if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "This is not a Debian or Ubuntu machine. Please install what these packages hold: ${packages[*]}" >&2
  echo "then go on with: make build SYSTEM_PACKAGES=no" >&2
  exit 1
fi

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }
available() { [ -n "$(apt-cache madison "$1" 2>/dev/null)" ]; }

# Fills `missing` with the packages that are not there, an alternative counting as there when one of its names is.
missing=()
find_missing() {
  missing=()
  local package name present
  for package in "${packages[@]}"; do
    present=no
    for name in ${package//|/ }; do
      if installed "$name"; then present=yes; fi
    done
    if [ "$present" = no ]; then missing+=("$package"); fi
  done
}

find_missing
if [ ${#missing[@]} -eq 0 ]; then
  echo "System packages: all ${#packages[@]} are there."
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "These system packages are missing, and installing them needs root or sudo: ${missing[*]}" >&2
    echo "Ask an administrator for them; a '|' separates names of which one is enough." >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "System packages: installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
chosen=()
for package in "${missing[@]}"; do
  pick=${package%%|*}
  for name in ${package//|/ }; do
    if available "$name"; then pick=$name; break; fi
  done
  chosen+=("$pick")
done
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${chosen[@]}" </dev/null
