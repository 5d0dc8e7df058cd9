#!/usr/bin/env bash
# The kernels and the JPEG decoder with Arm's NEON, on a machine of any kind: cross-compiled, and run by an emulator. Their
# tests compare every byte with the scalar arithmetic, so that what passes here is the same on both kinds of CPU.
#   tests/neon.sh [BUILD]          some 8 minutes on 2 cores; real photographs where HEADRACE_DATA is set
# Asks Debian for a compiler, an emulator and the libraries of arm64, which are unpacked in BUILD and not installed.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath -m "${1:-$root/build/neon}")
triple=aarch64-linux-gnu
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

command -v "$triple-g++-12" qemu-aarch64-static >/dev/null \
  || as_root apt-get install -qy --no-install-recommends g++-12-$triple qemu-user-static >/dev/null
mkdir -p "$build/packages" "$build/objects" "$build/include"
if ! ls "$build"/packages/*.deb >/dev/null 2>&1; then
  had=$(dpkg --print-foreign-architectures)
  as_root dpkg --add-architecture arm64
  as_root apt-get update -q >/dev/null
  (cd "$build/packages" && apt-get download -q \
    libhwy1:arm64 libhwy-dev:arm64 libjpeg62-turbo:arm64 libjpeg62-turbo-dev:arm64 libfmt9:arm64 libfmt-dev:arm64 \
    libxxhash-dev:arm64 libgtest-dev:arm64 libgmock-dev:arm64 >/dev/null)
  grep -q arm64 <<<"$had" || as_root dpkg --remove-architecture arm64
  for package in "$build"/packages/*.deb; do dpkg -x "$package" "$build/root"; done
fi
ln -sfn /usr/include/nlohmann "$build/include/nlohmann"  # headers alone, the same for all

cd "$root"
export build triple
compile() {  # compile SOURCE
  local object=$build/objects/${1//\//_}.o
  [ "$object" -nt "$1" ] || "$triple-g++-12" -std=c++20 -O2 -DNDEBUG -DFMT_SHARED -DHWY_SHARED_DEFINE -ffp-contract=off -I. \
    -isystem "$build/include" -isystem "$build/root/usr/include" -isystem "$build/root/usr/include/$triple" \
    -include vector -include string -c "$1" -o "$object"
}
export -f compile
# Of the codecs JPEG alone; tests of files of all kinds need the others.
sources=$(ls headrace/{core,core/random,core/text,kernels,codecs,codecs/jpeg}/*.cc tests/oracle/{resampled,checkpoint,plain_libjpeg}_test.cc \
  | grep -vE 'SKELETON|codecs/(image|crc32c|exif|highway_hash)_test')
xargs -P "$(nproc)" -I{} bash -c 'compile {}' <<<"$sources"
libraries=$build/root/usr/lib/$triple
"$triple-g++-12" -o "$build/tests" $(sed "s|/|_|g; s|^|$build/objects/|; s|$|.o|" <<<"$sources") \
  "$libraries"/lib{gtest_main,gtest,gmock}.a -L"$libraries" -lhwy -ljpeg -lfmt -lpthread -Wl,-rpath-link,"$libraries"
QEMU_LD_PREFIX=/usr/$triple qemu-aarch64-static -E LD_LIBRARY_PATH="$libraries" "$build/tests" --gtest_brief=1
