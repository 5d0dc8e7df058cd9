#include "headrace/formats/webdataset/tar_writer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>

#include "headrace/formats/webdataset/tar_head.h"

namespace headrace {
namespace {

constexpr std::array<std::byte, 2 * kTarBlock> kZeros{};

// POSIX layout.
struct Header {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
  char magic[8], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
static_assert(sizeof(Header) == kTarBlock);

template <size_t n> void put_octal(char (&field)[n], uint64_t value) {
  for (size_t i = n - 1; i-- > 0; value >>= 3) field[i] = static_cast<char>('0' + (value & 7));
}

// No owner and no time, so that the bytes depend on names and data only.
Header header_of(std::string_view name, char type, uint64_t size) {
  Header out;
  std::memset(&out, 0, sizeof out);
  std::memcpy(out.name, name.data(), std::min(name.size(), sizeof out.name));
  put_octal(out.mode, 0644), put_octal(out.uid, 0), put_octal(out.gid, 0);
  put_octal(out.size, size), put_octal(out.mtime, 0);
  out.type = type;
  std::memcpy(out.magic,
              "ustar\0"
              "00",
              sizeof out.magic);
  std::memset(out.checksum, ' ', sizeof out.checksum);
  unsigned sum = 0;
  for (size_t i = 0; i < kTarBlock; ++i) sum += reinterpret_cast<const unsigned char*>(&out)[i];
  std::snprintf(out.checksum, sizeof out.checksum, "%06o", sum);
  return out;
}

// "LENGTH path=NAME\n", where LENGTH counts all of it.
std::string pax_path(std::string_view name) {
  const std::string rest = " path=" + std::string(name) + "\n";
  size_t length = rest.size() + 1;
  while (std::to_string(length).size() + rest.size() != length) ++length;
  return std::to_string(length) + rest;
}

}  // namespace

Status TarWriter::add(std::string_view name, std::span<const std::byte> data) {
  if (name.size() > sizeof Header::name) {
    const std::string path = pax_path(name);
    HEADRACE_TRY(append_member("PaxHeaders/long", 'x', std::as_bytes(std::span(path))));
  }
  return append_member(name, '0', data);
}

Status TarWriter::append_member(std::string_view name, char type, std::span<const std::byte> data) {
  const Header header = header_of(name, type, data.size());
  HEADRACE_TRY(append(std::as_bytes(std::span(&header, 1))));
  HEADRACE_TRY(append(data));
  const size_t behind = data.size() % kTarBlock;
  return behind == 0 ? Status() : append(std::span(kZeros).first(kTarBlock - behind));
}

Status TarWriter::append(std::span<const std::byte> bytes) {
  if (!deflater_) return file_->append(bytes);
  return deflater_->feed(bytes, [&](std::span<const std::byte> piece) { return file_->append(piece); });
}

Status TarWriter::finish() {
  HEADRACE_TRY(append(kZeros));
  if (deflater_)
    HEADRACE_TRY(deflater_->finish([&](std::span<const std::byte> piece) { return file_->append(piece); }));
  return file_->finish();
}

}  // namespace headrace
