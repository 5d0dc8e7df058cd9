#include "headrace/codecs/jpeg/baseline_header.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "headrace/codecs/jpeg/markers.h"

namespace headrace::jpeg {
namespace {

bool starts_with(Bytes bytes, std::string_view text) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with(text);
}

// Reads segments one after the other; any of them may end the reading.
class Reader {
 public:
  bool segment(int marker, Bytes body) {
    switch (marker) {
      case kDqt: return quantisation(body);
      case kDht: return huffman(body);
      case kSof0:
      case kSof1: return frame(body);
      case kDri: return restarts(body);
      case kApp0: return jfif(body);
      case kApp14: return adobe(body);
      default: return (marker > kApp0 && marker <= kApp15) || marker == kCom;
    }
  }

  std::optional<Scan> scan(Bytes body, Bytes data) {
    const auto n = static_cast<size_t>(scan_.components);
    if (n == 0 || body.size() != 4 + 2 * n || byte_at(body, 0) != scan_.components) return {};
    for (size_t c = 0; c < n; ++c) {
      if (byte_at(body, 1 + 2 * c) != ids_[c]) return {};
      const int tables = byte_at(body, 2 + 2 * c);
      Component& component = scan_.component[c];
      component.dc = tables >> 4, component.ac = tables & 15;
      if (component.dc > 3 || component.ac > 3) return {};
      if (scan_.dc[static_cast<size_t>(component.dc)].empty()) return {};
      if (scan_.ac[static_cast<size_t>(component.ac)].empty()) return {};
      if (!has_quant_[static_cast<size_t>(component.quant)]) return {};
    }
    if (byte_at(body, 1 + 2 * n) != 0 || byte_at(body, 2 + 2 * n) != 63 || byte_at(body, 3 + 2 * n) != 0)
      return {};
    if (n == 3 && !is_ycc()) return {};
    scan_.data = data;
    return scan_;
  }

 private:
  bool quantisation(Bytes body) {
    while (!body.empty()) {
      const int head = byte_at(body, 0), precision = head >> 4;
      const size_t size = precision == 0 ? 64 : 128;
      if (precision > 1 || (head & 15) > 3 || body.size() < 1 + size) return false;
      auto& table = scan_.quant[static_cast<size_t>(head & 15)];
      for (size_t i = 0; i < 64; ++i)
        table[kNaturalOrder[i]] =
            static_cast<uint16_t>(precision == 0 ? byte_at(body, 1 + i) : word_at(body, 1 + 2 * i));
      has_quant_[static_cast<size_t>(head & 15)] = true;
      body = body.subspan(1 + size);
    }
    return true;
  }

  bool huffman(Bytes body) {
    while (!body.empty()) {
      if (body.size() < 17) return false;
      const int head = byte_at(body, 0);
      size_t symbols = 0;
      for (size_t i = 1; i <= 16; ++i) symbols += static_cast<size_t>(byte_at(body, i));
      if (head >> 4 > 1 || (head & 15) > 3 || symbols > 256 || body.size() < 17 + symbols) return false;
      auto& tables = head >> 4 ? scan_.ac : scan_.dc;
      tables[static_cast<size_t>(head & 15)] = body.subspan(1, 16 + symbols);
      body = body.subspan(17 + symbols);
    }
    return true;
  }

  bool frame(Bytes body) {
    if (scan_.components != 0 || body.size() < 6 || byte_at(body, 0) != 8) return false;
    scan_.height = word_at(body, 1), scan_.width = word_at(body, 3);
    const int n = byte_at(body, 5);
    if ((n != 1 && n != 3) || body.size() != 6 + 3 * static_cast<size_t>(n)) return false;
    for (size_t c = 0; c < static_cast<size_t>(n); ++c) {
      ids_[c] = byte_at(body, 6 + 3 * c);
      for (size_t other = 0; other < c; ++other)
        if (ids_[other] == ids_[c]) return false;
      const int factors = byte_at(body, 7 + 3 * c);
      scan_.component[c] = {factors >> 4, factors & 15, byte_at(body, 8 + 3 * c), 0, 0};
      if (scan_.component[c].quant > 3) return false;
    }
    scan_.components = n;
    return has_factors() && scan_.height > 0 && scan_.width > 0;
  }

  bool has_factors() {
    const std::span<Component> all(scan_.component.data(), static_cast<size_t>(scan_.components));
    const auto in_range = [](int factor) { return factor >= 1 && factor <= 4; };
    for (const Component& c : all)
      if (!in_range(c.h) || !in_range(c.v)) return false;
    if (all.size() == 1) all[0].h = all[0].v = 1;  // there is no other component in its MCUs
    size_t blocks = 0;
    for (const Component& c : all) {
      scan_.h_most = std::max(scan_.h_most, c.h), scan_.v_most = std::max(scan_.v_most, c.v);
      blocks += static_cast<size_t>(c.h * c.v);
    }
    return blocks <= Scan::kMostBlocks && std::all_of(all.begin(), all.end(), [&](const Component& c) {
             return scan_.h_most % c.h == 0 && scan_.v_most % c.v == 0;
           });
  }

  bool restarts(Bytes body) {
    if (body.size() != 2) return false;
    scan_.restart_interval = word_at(body, 0);
    return true;
  }

  bool jfif(Bytes body) {
    saw_jfif_ = saw_jfif_ || (body.size() >= 14 && starts_with(body, {"JFIF\0", 5}));
    return true;
  }

  bool adobe(Bytes body) {
    if (body.size() >= 12 && starts_with(body, "Adobe")) transform_ = byte_at(body, 11);
    return true;
  }

  // Guesses as libjpeg does.
  bool is_ycc() const {
    if (saw_jfif_) return true;
    if (transform_ >= 0) return transform_ == 1;
    return ids_[0] == 1 && ids_[1] == 2 && ids_[2] == 3;
  }

  Scan scan_{};
  std::array<bool, 4> has_quant_{};
  std::array<int, 3> ids_{};
  bool saw_jfif_ = false;
  int transform_ = -1;
};

}  // namespace

std::optional<Scan> read_scan(Bytes file) {
  Reader reader;
  size_t at = 2;
  while (true) {
    if (file.size() - at < 4 || byte_at(file, at) != 0xFF) return {};
    while (at + 1 < file.size() && byte_at(file, at + 1) == 0xFF) ++at;  // padding
    if (file.size() - at < 4) return {};
    const int marker = byte_at(file, at + 1);
    const auto length = static_cast<size_t>(word_at(file, at + 2));
    if (length < 2 || length > file.size() - at - 2) return {};
    const Bytes body = file.subspan(at + 4, length - 2);
    at += 2 + length;
    if (marker == kSos) return reader.scan(body, file.subspan(at));
    if (!reader.segment(marker, body)) return {};
  }
}

std::optional<Scan> read_scan_of(Bytes file, const ImageHeader& header) {
  std::optional<Scan> scan = read_scan(file);
  const bool fits = scan && scan->height == header.height && scan->width == header.width &&
                    scan->components == header.channels;
  return fits ? std::move(scan) : std::nullopt;
}

}  // namespace headrace::jpeg
