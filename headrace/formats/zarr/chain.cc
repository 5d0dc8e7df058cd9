// Codecs and filters by name.
#include <algorithm>
#include <charconv>
#include <set>

#include "headrace/core/saturate.h"
#include "headrace/formats/zarr/codecs.h"

namespace headrace::zarr {
namespace {

constexpr uint64_t kMostInShard = uint64_t{1} << 26;  // chunks
constexpr size_t kMostCodecs = 16;                    // in a chain

struct Named {
  std::string name;
  const Value* settings = nullptr;  // an object, or null
};

const Value* setting(const Named& codec, std::string_view key) {
  return codec.settings ? codec.settings->find(key) : nullptr;
}

Status refused_codec(std::string_view name) {
  return {Code::unavailable,
          Mismatch{.expected = "chunks with the codecs blosc, zstd, gzip, zlib, lz4, crc32c, shuffle, delta, "
                               "fixedscaleoffset, transpose or sharding_indexed",
                   .got = "'" + std::string(name.substr(0, 60)) + "'"}};
}

Result<Dims> dims_of(const Value* list, size_t rank, std::string_view what) {
  Dims out;
  if (!list || !list->list() || list->list()->size() != rank)
    return corrupt("expected " + std::to_string(rank) + " numbers as " + std::string(what));
  for (const Value& dim : *list->list()) {
    if (!dim.integer() || *dim.integer() < 0) return corrupt("expected numbers >= 0 as " + std::string(what));
    out.push_back(static_cast<uint64_t>(*dim.integer()));
  }
  return out;
}

// "<i2", or "int16" as in version 3.
Result<DType> number_type(const Value* name) {
  if (name) {
    auto element = element_of_v3(*name);
    if (!element.ok()) element = element_of_v2(*name, nullptr);
    if (element.ok() && !element->is_text() && element->dtype != DType::boolean) return element->dtype;
  }
  return corrupt({.expected = "a numeric dtype for a filter", .got = name ? name->dump() : "none"});
}

Result<double> number_setting(const Named& codec, std::string_view key) {
  const Value* value = setting(codec, key);
  if (value && value->real()) return *value->real();
  if (value && value->integer()) return static_cast<double>(*value->integer());
  return corrupt("expected a number '" + std::string(key) + "' for " + codec.name);
}

class MakingChain {
 public:
  MakingChain(const Element& element, const Dims& chunk) : element_(element), chunk_(chunk) {
    out_.order.resize(chunk.size());
    for (size_t i = 0; i < chunk.size(); ++i) out_.order[i] = i;
    type_ = element.dtype;
  }

  Status transpose(const std::vector<size_t>& order) {
    if (has_bytes_ || !out_.filters.empty())
      return {Code::unavailable, "expected transpose before all other codecs"};
    std::vector<size_t> made(order.size());
    for (size_t i = 0; i < order.size(); ++i) made[i] = out_.order[order[i]];
    out_.order = std::move(made);
    return {};
  }

  // Adds a filter or a packing, named as in numcodecs.
  Status add(const Named& codec) {
    using Kind = Packing::Kind;
    if (out_.filters.size() + out_.packings.size() == kMostCodecs)
      return {Code::exhausted, Mismatch{.expected = "at most 16 codecs in a chain", .got = "more"}};
    static constexpr std::pair<std::string_view, Kind> kPacked[] = {
        {"gzip", Kind::deflate}, {"zlib", Kind::deflate},  {"zstd", Kind::zstd},      {"blosc", Kind::blosc},
        {"lz4", Kind::lz4},      {"crc32c", Kind::crc32c}, {"shuffle", Kind::shuffle}};
    for (const auto& [name, kind] : kPacked) {
      if (codec.name != name) continue;
      Packing packing{kind};
      if (kind == Kind::shuffle) {
        const Value* size = setting(codec, "elementsize");
        packing.element = size && size->integer() ? static_cast<size_t>(*size->integer()) : 4;
        if (packing.element < 1 || packing.element > 256)
          return corrupt({.expected = "shuffle with an element size of 1 to 256 bytes",
                          .got = std::to_string(packing.element)});
      }
      out_.packings.push_back(packing);
      has_bytes_ = true;
      return {};
    }
    if (codec.name == "delta" || codec.name == "fixedscaleoffset") return add_filter(codec);
    return refused_codec(codec.name);
  }

  // In version 3 a codec states where arrays become bytes.
  Status bytes(const Named& codec) {
    if (const Value* endian = setting(codec, "endian"); endian && !endian->is_null()) {
      if (!endian->text() || (*endian->text() != "little" && *endian->text() != "big"))
        return corrupt(
            {.expected = "an endian of \"little\" or \"big\"", .got = endian->dump().substr(0, 40)});
      out_.is_big_endian = *endian->text() == "big";
    }
    return become_bytes();
  }

  Status sharding(const Named& codec) {
    HEADRACE_TRY(become_bytes());
    Sharding made;
    HEADRACE_ASSIGN(made.chunk, dims_of(setting(codec, "chunk_shape"), chunk_.size(), "chunk_shape"));
    for (size_t i = 0; i < made.chunk.size(); ++i) {
      const uint64_t whole = chunk_[out_.order[i]];
      if (made.chunk[i] == 0 || whole % made.chunk[i] != 0)
        return corrupt(
            {.expected = "shards of whole chunks",
             .got = std::to_string(whole) + " and " + std::to_string(made.chunk[i]) + " along an axis"});
    }
    if (product(chunk_) / std::max<uint64_t>(product(made.chunk), 1) > kMostInShard)
      return {Code::exhausted, Mismatch{.expected = "shards of at most 67,108,864 chunks", .got = "more"}};
    const Value* at = setting(codec, "index_location");
    if (at && (!at->text() || (*at->text() != "start" && *at->text() != "end")))
      return corrupt("expected an index_location of \"start\" or \"end\"");
    made.index_at_end = !at || *at->text() == "end";
    HEADRACE_TRY(read_index_codecs(setting(codec, "index_codecs"), made));
    const Value* inner = setting(codec, "codecs");
    if (!inner) return corrupt("expected codecs for sharding_indexed");
    auto chain = chain_of_v3(*inner, element_, made.chunk);
    if (!chain.ok()) return chain.status().before("in a shard: ");
    if (chain->sharding && chain->sharding->inner->sharding)
      return {Code::unavailable,
              Mismatch{.expected = "at most one level of shards in shards", .got = "more"}};
    made.inner = std::make_shared<const Chain>(*std::move(chain));
    out_.sharding = std::make_shared<const Sharding>(std::move(made));
    return {};
  }

  Status texts(std::string_view name) {
    if (element_.form != Form::runs || (element_.dtype == DType::str) != (name == "vlen-utf8"))
      return corrupt("expected strings or bytes of variable length for " + std::string(name));
    return become_bytes();
  }

  bool has_bytes() const { return has_bytes_; }
  DType type() const { return type_; }
  Chain finish() && { return std::move(out_); }

 private:
  Status become_bytes() {
    if (has_bytes_) return corrupt({.expected = "one codec from array to bytes", .got = "two"});
    has_bytes_ = true;
    return {};
  }

  Status add_filter(const Named& codec) {
    if (has_bytes_ || element_.is_text())
      return {Code::unavailable, "expected '" + codec.name + "' on numbers, before other codecs"};
    NumberFilter filter;
    HEADRACE_ASSIGN(filter.plain, number_type(setting(codec, "dtype")));
    filter.stored = filter.plain;
    if (const Value* astype = setting(codec, "astype"); astype && !astype->is_null()) {
      HEADRACE_ASSIGN(filter.stored, number_type(astype));
    }
    if (filter.plain != type_)
      return corrupt({.expected = "a filter for " + std::string(dtype_name(type_)),
                      .got = "one for " + std::string(dtype_name(filter.plain))});
    if (codec.name == "fixedscaleoffset") {
      filter.kind = NumberFilter::Kind::scale_offset;
      HEADRACE_ASSIGN(filter.scale, number_setting(codec, "scale"));
      HEADRACE_ASSIGN(filter.offset, number_setting(codec, "offset"));
      if (filter.scale == 0) return corrupt("expected a scale other than 0");
    }
    type_ = filter.stored;
    out_.filters.push_back(filter);
    return {};
  }

  static Status read_index_codecs(const Value* codecs, Sharding& out);

  const Element& element_;
  const Dims& chunk_;
  Chain out_;
  DType type_;
  bool has_bytes_ = false;
};

// {"name": …, "configuration": …}, or only the name.
Result<Named> named_v3(const Value& codec) {
  const Value* name = codec.object() ? codec.find("name") : &codec;
  if (!name || !name->text())
    return corrupt({.expected = "a codec with a name", .got = codec.dump().substr(0, 80)});
  return Named{*name->text(), codec.object() ? codec.find("configuration") : nullptr};
}

// The size of the index must be known before it is read: bytes, with or without a checksum.
Status MakingChain::read_index_codecs(const Value* codecs, Sharding& out) {
  if (!codecs || !codecs->list() || codecs->list()->empty())
    return corrupt({.expected = "index_codecs", .got = "none"});
  for (size_t i = 0; i < codecs->list()->size(); ++i) {
    HEADRACE_ASSIGN(const Named codec, named_v3((*codecs->list())[i]));
    if (i == 0 && codec.name == "bytes") {
      const Value* endian = setting(codec, "endian");
      out.index_is_big_endian = endian && endian->text() && *endian->text() == "big";
    } else if (i == 1 && codec.name == "crc32c") {
      out.index_has_checksum = true;
    } else {
      return {Code::unavailable, Mismatch{.expected = "shards with the index codecs bytes and crc32c",
                                          .got = "'" + codec.name.substr(0, 60) + "'"}};
    }
  }
  return {};
}

Result<std::vector<size_t>> order_of(const Named& codec, size_t rank) {
  const Value* order = setting(codec, "order");
  std::vector<size_t> out;
  if (order && order->text() && (*order->text() == "C" || *order->text() == "F")) {
    for (size_t i = 0; i < rank; ++i) out.push_back(*order->text() == "C" ? i : rank - 1 - i);
    return out;
  }
  HEADRACE_ASSIGN(const Dims dims, dims_of(order, rank, "the order of transpose"));
  for (const uint64_t dim : dims) {
    if (dim >= rank || std::ranges::find(out, dim) != out.end())
      return corrupt("expected each axis once in the order of transpose");
    out.push_back(static_cast<size_t>(dim));
  }
  return out;
}

bool is_text_codec(std::string_view name) { return name == "vlen-utf8" || name == "vlen-bytes"; }

}  // namespace

const DType* objects_of_v2(const Value& filters) {
  static constexpr DType kStr = DType::str, kBytes = DType::bytes;
  if (!filters.list() || filters.list()->empty()) return nullptr;
  const Value* id = (*filters.list())[0].find("id");
  if (!id || !id->text() || !is_text_codec(*id->text())) return nullptr;
  return *id->text() == "vlen-utf8" ? &kStr : &kBytes;
}

Result<Chain> chain_of_v2(const Value& compressor, const Value& filters, bool column_major,
                          const Element& element, const Dims& chunk) {
  MakingChain making(element, chunk);
  if (column_major) {
    std::vector<size_t> order(chunk.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
    HEADRACE_TRY(making.transpose(order));
  }
  const auto named = [](const Value& codec) -> Result<Named> {
    const Value* id = codec.find("id");
    if (!id || !id->text())
      return corrupt({.expected = "a codec with an id", .got = codec.dump().substr(0, 80)});
    return Named{*id->text(), &codec};
  };
  bool is_big_endian = element.is_big_endian;
  if (!filters.is_null() && !filters.list()) return corrupt("expected a list of filters");
  if (filters.list())
    for (size_t i = 0; i < filters.list()->size(); ++i) {
      HEADRACE_ASSIGN(const Named codec, named((*filters.list())[i]));
      if (is_text_codec(codec.name) && i == 0) {
        HEADRACE_TRY(making.texts(codec.name));
        continue;
      }
      HEADRACE_TRY(making.add(codec));
      if (making.has_bytes()) continue;  // still numbers: stored in the byte order of the filter's last type
      const Value* type = setting(codec, "astype");
      if (!type || !type->text()) type = setting(codec, "dtype");
      is_big_endian = type && type->text() && type->text()->starts_with('>');
    }
  if (element.form == Form::runs && !making.has_bytes())
    return corrupt({.expected = "a filter from array to bytes", .got = "none"});
  if (!compressor.is_null()) {
    HEADRACE_ASSIGN(const Named codec, named(compressor));
    if (codec.name == "delta" || codec.name == "fixedscaleoffset") return refused_codec(codec.name);
    HEADRACE_TRY(making.add(codec));
  }
  Chain out = std::move(making).finish();
  out.is_big_endian = is_big_endian;
  return out;
}

Result<Chain> chain_of_v3(const Value& codecs, const Element& element, const Dims& chunk) {
  if (!codecs.list()) return corrupt({.expected = "a list of codecs", .got = codecs.dump().substr(0, 80)});
  MakingChain making(element, chunk);
  for (const Value& one : *codecs.list()) {
    HEADRACE_ASSIGN(Named codec, named_v3(one));
    constexpr std::string_view kOthers = "numcodecs.";
    if (codec.name.starts_with(kOthers)) codec.name.erase(0, kOthers.size());
    if (codec.name == "transpose") {
      HEADRACE_ASSIGN(const std::vector<size_t> order, order_of(codec, chunk.size()));
      HEADRACE_TRY(making.transpose(order));
    } else if (codec.name == "bytes" && element.form != Form::runs) {
      HEADRACE_TRY(making.bytes(codec));
    } else if (codec.name == "sharding_indexed") {
      HEADRACE_TRY(making.sharding(codec));
    } else if (is_text_codec(codec.name)) {
      HEADRACE_TRY(making.texts(codec.name));
    } else {
      const bool is_filter = codec.name == "delta" || codec.name == "fixedscaleoffset";
      if (!is_filter && !making.has_bytes()) {
        const auto made = MakingChain(element, chunk).add(codec);  // reports unknown codecs
        return made.ok() ? corrupt("expected the codec bytes before '" + codec.name + "'") : made;
      }
      HEADRACE_TRY(making.add(codec));
    }
  }
  if (!making.has_bytes()) return corrupt({.expected = "a codec from array to bytes", .got = "none"});
  return std::move(making).finish();
}

}  // namespace headrace::zarr
