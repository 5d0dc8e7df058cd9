#include "headrace/formats/mds/verify.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

namespace headrace::mds {
namespace {

constexpr uint64_t kWindow = uint64_t{1} << 20;
constexpr std::array<std::string_view, 5> kKnown = {"xxh3_64", "xxh128", "xxh3_128", "xxh64", "xxh32"};

const std::string* known_hash(const Value& hashes, std::string_view* name) {
  for (const std::string_view known : kKnown)
    if (const Value* found = hashes.find(known); found && found->text()) {
      *name = known;
      return found->text();
    }
  return nullptr;
}

std::string hex(uint64_t value, int digits) {
  char out[17];
  std::snprintf(out, sizeof out, "%0*llx", digits, static_cast<unsigned long long>(value));
  return out;
}

class Verified final : public Opening<FileIndex> {
 public:
  Verified(std::unique_ptr<Opening<FileIndex>> opening, uint64_t size, const Value& hashes)
      : opening_(std::move(opening)), size_(size) {
    wanted_ = *known_hash(hashes, &name_);
    XXH3_INITSTATE(&xxh3_);
    XXH3_128bits_reset(&xxh3_);
    XXH3_INITSTATE(&xxh3_64_);
    XXH3_64bits_reset(&xxh3_64_);
    XXH64_reset(&xxh64_, 0);
    XXH32_reset(&xxh32_, 0);
  }

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (is_done_) return opening_->advance(bytes);
    if (!bytes.empty()) take(bytes[0]->bytes());
    if (done_ < size_)
      return Step<FileIndex>(std::vector<Extent>{{0, done_, std::min(kWindow, size_ - done_)}});
    if (const std::string got = digest(); got != wanted_)
      return corrupt({.expected = "the " + std::string(name_) + " hash " + wanted_, .got = got});
    is_done_ = true;
    return opening_->advance({});
  }

 private:
  void take(std::span<const std::byte> bytes) {
    done_ += bytes.size();
    if (name_ == "xxh64")
      XXH64_update(&xxh64_, bytes.data(), bytes.size());
    else if (name_ == "xxh32")
      XXH32_update(&xxh32_, bytes.data(), bytes.size());
    else if (name_ == "xxh3_64")
      XXH3_64bits_update(&xxh3_64_, bytes.data(), bytes.size());
    else
      XXH3_128bits_update(&xxh3_, bytes.data(), bytes.size());
  }
  std::string digest() const {
    if (name_ == "xxh64") return hex(XXH64_digest(&xxh64_), 16);
    if (name_ == "xxh32") return hex(XXH32_digest(&xxh32_), 8);
    if (name_ == "xxh3_64") return hex(XXH3_64bits_digest(&xxh3_64_), 16);
    const XXH128_hash_t all = XXH3_128bits_digest(&xxh3_);
    return hex(all.high64, 16) + hex(all.low64, 16);
  }

  std::unique_ptr<Opening<FileIndex>> opening_;
  uint64_t size_, done_ = 0;
  bool is_done_ = false;
  std::string_view name_;
  std::string wanted_;
  XXH3_state_t xxh3_, xxh3_64_;
  XXH64_state_t xxh64_;
  XXH32_state_t xxh32_;
};

}  // namespace

Status check_hashes(const Value& hashes) {
  std::string_view name;
  if (known_hash(hashes, &name)) return {};
  std::string there;
  if (const Value::Object* object = hashes.object())
    for (const auto& [key, value] : *object) there += (there.empty() ? "" : ", ") + key;
  return invalid("verify needs a hash of xxh32, xxh64, xxh128 or xxh3_64 in the index, got " +
                 (there.empty() ? std::string("none") : there));
}

std::unique_ptr<Opening<FileIndex>> verified(std::unique_ptr<Opening<FileIndex>> opening, uint64_t size,
                                             const Value& hashes) {
  return std::make_unique<Verified>(std::move(opening), size, hashes);
}

}  // namespace headrace::mds
