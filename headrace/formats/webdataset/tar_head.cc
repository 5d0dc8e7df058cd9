#include "headrace/formats/webdataset/tar_head.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace headrace {
namespace {

struct Field {
  size_t offset, length;
};
constexpr Field kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kMagic{257, 6}, kPrefix{345, 155};
constexpr size_t kType = 156;
constexpr uint64_t kMostSize = std::numeric_limits<int64_t>::max();

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::string_view up_to_nul(std::string_view text) { return text.substr(0, text.find('\0')); }
std::string_view field(std::string_view header, Field f) { return header.substr(f.offset, f.length); }

// Octal digits ended by a NUL or a blank or, with the first bit set, a big-endian number.
std::optional<uint64_t> number(std::string_view stored) {
  uint64_t out = 0;
  const auto first = static_cast<uint8_t>(stored[0]);
  if (first == 0x80) {
    for (const char c : stored.substr(1)) {
      if (out > kMostSize >> 8) return std::nullopt;
      out = out << 8 | static_cast<uint8_t>(c);
    }
    return out;
  }
  stored.remove_prefix(std::min(stored.find_first_not_of(' '), stored.size()));
  for (const char c : stored) {
    if (c == '\0' || c == ' ') break;
    if (c < '0' || c > '7') return std::nullopt;
    out = out << 3 | static_cast<uint64_t>(c - '0');  // at most twelve digits
  }
  return out;
}

uint32_t sum_of(std::string_view header) {
  uint32_t out = 0;
  for (size_t i = 0; i < kTarBlock; ++i) out += static_cast<uint8_t>(header[i]);
  return out;
}

// `sum`: of all bytes. The checksum counts its own field as blanks; old writers summed signed bytes.
bool is_checksum_right(std::string_view header, uint32_t sum) {
  const auto stored = number(field(header, kChecksum));
  if (!stored) return false;
  int64_t unsigned_sum = int64_t{sum} + static_cast<int64_t>(kChecksum.length) * ' ';
  for (const char c : field(header, kChecksum)) unsigned_sum -= static_cast<uint8_t>(c);
  if (*stored == static_cast<uint64_t>(unsigned_sum)) return true;
  int64_t signed_sum = unsigned_sum;
  for (size_t i = 0; i < kTarBlock; ++i)
    if (static_cast<uint8_t>(header[i]) >= 128 &&
        (i < kChecksum.offset || i >= kChecksum.offset + kChecksum.length))
      signed_sum -= 256;
  return *stored == static_cast<uint64_t>(signed_sum);
}

struct PaxRecord {
  std::string_view key, value;
};

// Takes the record "LENGTH KEY=VALUE\n" off the front of `text`. LENGTH counts all of it.
Result<PaxRecord> take_pax_record(std::string_view& text) {
  uint64_t length = 0;
  const auto [after, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const auto digits = static_cast<size_t>(after - text.data());
  if (error != std::errc() || digits == text.size() || *after != ' ')
    return corrupt(
        {.expected = "a PAX record that begins with its length and a blank", .got = "something else"});
  if (length > text.size() || length < digits + 2)
    return corrupt({.expected = "a PAX record inside its header of " + std::to_string(text.size()) + " bytes",
                    .got = "a length of " + std::to_string(length)});
  const std::string_view record = text.substr(digits + 1, length - digits - 1);
  const size_t equals = record.find('=');
  if (record.back() != '\n' || equals == std::string_view::npos)
    return corrupt({.expected = "a PAX record of the form KEY=VALUE with a line end at its length of " +
                                std::to_string(length),
                    .got = "something else"});
  text.remove_prefix(length);
  return PaxRecord{record.substr(0, equals), record.substr(equals + 1, record.size() - equals - 2)};
}

class HeadReader {
 public:
  HeadReader(std::span<const std::byte> bytes, uint64_t left, std::string& joined)
      : bytes_(text_of(bytes)), left_(left), joined_(joined) {}

  Result<TarHead> read() {
    while (true) {
      if (at_ == left_) return end();
      if (left_ - at_ < kTarBlock)
        return cut("expected a header of 512 bytes, but only " + std::to_string(left_ - at_) +
                   " bytes are left");
      if (bytes_.size() - at_ < kTarBlock) return needs(at_ + kTarBlock);
      const std::string_view header = bytes_.substr(at_, kTarBlock);
      const uint32_t sum = sum_of(header);
      if (sum == 0) return zeros();
      if (!is_checksum_right(header, sum)) return corrupt("a header does not match its checksum");
      const auto size = number(field(header, kSize));
      if (!size)
        return corrupt({.expected = "a member's size in octal digits or base 256", .got = "something else"});
      at_ += kTarBlock;
      const char type = header[kType];
      if (type != 'x' && type != 'X' && type != 'g' && type != 'L' && type != 'K')
        return member(header, type, *size);
      if (*size > left_ - at_) return cut_member(*size);
      if (++extensions_ > kMostTarExtensions)
        return Status(Code::exhausted, {.expected = "at most " + std::to_string(kMostTarExtensions) +
                                                    " headers before a member's own",
                                        .got = "more"});
      if (at_ + *size > kMostTarHead)
        return Status(Code::exhausted, {.expected = "headers of at most " + std::to_string(kMostTarHead) +
                                                    " bytes before a member",
                                        .got = std::to_string(at_ + *size)});
      if (bytes_.size() - at_ < *size) return needs(at_ + *size);
      HEADRACE_TRY(take_extension(type, bytes_.substr(at_, *size)));
      at_ = std::min(at_ + (*size + kTarBlock - 1) / kTarBlock * kTarBlock, left_);
      if (at_ > bytes_.size()) return needs(at_);
    }
  }

 private:
  static TarHead needs(uint64_t bytes) {
    TarHead out;
    out.needed = bytes;
    return out;
  }

  // At a block of zeros.
  TarHead zeros() const {
    const bool is_last = left_ - at_ < 2 * kTarBlock;
    if (!is_last && bytes_.size() - at_ < 2 * kTarBlock) return needs(at_ + 2 * kTarBlock);
    TarHead out = end();
    out.has_zeros = true;
    out.is_closed = out.cut.ok() && !is_last && sum_of(bytes_.substr(at_ + kTarBlock, kTarBlock)) == 0;
    return out;
  }

  TarHead end() const {
    if (announced_) return cut("expected a member after the header with its name or size, got the end");
    TarHead out;
    out.is_end = true;
    return out;
  }

  static TarHead cut(std::string missing) {
    TarHead out;
    out.is_end = true;
    out.cut = corrupt(std::move(missing));
    return out;
  }

  TarHead cut_member(uint64_t size) const {
    return cut("expected a member of " + std::to_string(size) + " bytes, but only " +
               std::to_string(left_ - at_) + " are left");
  }

  Status take_extension(char type, std::string_view text) {
    if (type == 'L') long_name_ = up_to_nul(text);
    if (type != 'g') announced_ = true;
    if (type == 'L' || type == 'K') return {};
    while (!text.empty() && text[0] != '\0') {
      HEADRACE_ASSIGN(const PaxRecord record, take_pax_record(text));
      HEADRACE_TRY(take(record, type == 'g'));
    }
    return {};
  }

  Status take(const PaxRecord& record, bool for_all) {
    if (record.key.starts_with("GNU.sparse.")) return sparse();
    const bool is_path = record.key == "path", is_size = record.key == "size";
    if ((!is_path && !is_size) || record.value.empty()) return {};
    if (for_all)
      return {Code::unavailable, "a PAX header gives one " + std::string(record.key) +
                                     " to all members, which is not supported"};
    if (is_path) {
      if (record.value.find('\0') != std::string_view::npos) return corrupt("expected a name without NUL");
      path_ = record.value;
      return {};
    }
    uint64_t size = 0;
    const char* end = record.value.data() + record.value.size();
    const auto [after, error] = std::from_chars(record.value.data(), end, size);
    if (error != std::errc() || after != end || size > kMostSize)
      return corrupt({.expected = "a PAX size in decimal digits", .got = "something else"});
    size_ = size;
    return {};
  }

  static Status sparse() { return {Code::unavailable, "sparse members are not supported"}; }

  Result<TarHead> member(std::string_view header, char type, uint64_t size) {
    TarHead out;
    if (type == 'S') return sparse();
    out.name = name(header);
    if (out.name.size() > kMostTarName)
      return Status(Code::exhausted,
                    {.expected = "a name of at most " + std::to_string(kMostTarName) + " bytes",
                     .got = std::to_string(out.name.size())});
    const bool is_old_folder = type == '\0' && out.name.ends_with('/');
    const bool has_no_data = (type >= '1' && type <= '6') || is_old_folder;
    out.is_file = (type == '0' || type == '\0' || type == '7') && !is_old_folder;
    out.is_link = type == '1' || type == '2';
    out.data = at_;
    out.size = has_no_data ? 0 : size_.value_or(size);
    if (out.size > left_ - at_) {
      out.is_end = true;
      out.cut = cut_member(out.size).cut;
    }
    return out;
  }

  std::string_view name(std::string_view header) const {
    if (!path_.empty()) return path_;
    if (!long_name_.empty()) return long_name_;
    const std::string_view name = up_to_nul(field(header, kName));
    // GNU's own headers, whose magic ends with blanks, hold times where ustar has the prefix.
    const std::string_view prefix = up_to_nul(field(header, kPrefix));
    if (prefix.empty() || field(header, kMagic) != std::string_view("ustar\0", 6)) return name;
    joined_.assign(prefix).append("/").append(name);
    return joined_;
  }

  std::string_view bytes_;
  uint64_t left_;
  std::string& joined_;
  uint64_t at_ = 0;
  int extensions_ = 0;
  bool announced_ = false;  // a header described a member that must follow
  std::string_view path_, long_name_;
  std::optional<uint64_t> size_;
};

}  // namespace

Result<TarHead> read_tar_head(std::span<const std::byte> bytes, uint64_t left, std::string& joined) {
  return HeadReader(bytes, left, joined).read();
}

bool is_tar_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kTarBlock) return false;
  const std::string_view header = text_of(bytes.first(kTarBlock));
  const uint32_t sum = sum_of(header);
  return sum != 0 && is_checksum_right(header, sum);
}

}  // namespace headrace
