#include "headrace/formats/hdf5/structure.h"

#include <algorithm>
#include <map>
#include <optional>

#include "headrace/core/saturate.h"
#include "headrace/formats/hdf5/chunks/chunk_index.h"
#include "headrace/formats/hdf5/chunks/chunk_rows.h"
#include "headrace/formats/hdf5/chunks/filters.h"
#include "headrace/formats/hdf5/datatype.h"
#include "headrace/formats/hdf5/structures/attributes.h"
#include "headrace/formats/hdf5/structures/global_heap.h"
#include "headrace/formats/hdf5/structures/groups.h"
#include "headrace/formats/hdf5/structures/superblock.h"

namespace headrace::hdf5 {
namespace {

constexpr size_t kMostNesting = 128;            // of groups
constexpr int kMostSoftLinks = 16;              // in a chain
constexpr uint64_t kPiece = 4 << 20;            // of kept rows, read at once
constexpr uint64_t kSmallRow = 16;              // bytes; such rows are kept
constexpr uint64_t kMostKept = 64 << 20;        // bytes of small rows; of references beyond the ratio
constexpr uint64_t kMostReferenceRatio = 1100;  // of references to their stored bytes

constexpr uint64_t kMostStrings = 16 << 20;  // bytes of heaps read for strings of attributes

constexpr Fetches::Owner kFile = 0;

// What netCDF's library writes.
bool is_of_netcdf(const Attribute& attribute) {
  constexpr std::string_view names[] = {"_NCProperties", "_Netcdf4Dimid", "_Netcdf4Coordinates",
                                        "_nc3_strict"};
  return std::ranges::find(names, attribute.name) != std::end(names);
}
bool says_netcdf(std::span<const Attribute> of_root) {
  const std::string conventions = text_attribute(of_root, "Conventions");
  return conventions.starts_with("CF-") || conventions.starts_with("COARDS");
}

// A group or a dataset. Its index in the list, counted from one, is the owner of its reads.
struct Object {
  std::string path;
  uint64_t address = 0;
  uint64_t dataset = kNowhere;
  Status refusal = {};
  std::vector<Attribute> attributes = {};
  // Set for reads of another object's attributes, whose own reads go on if these fail.
  std::optional<size_t> attributes_of = {};
};

class Walk final : public Opening<FileIndex> {
 public:
  explicit Walk(SourceFile file)
      : file_(std::move(file)), fetches_(file_.size, [this](Fetches::Owner owner, Status status) {
          fail(owner, std::move(status));
        }) {
    find_superblock(0);
  }

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    std::vector<Extent> extents = fetches_.advance(bytes);
    HEADRACE_TRY(failure_);
    if (!extents.empty()) return Step<FileIndex>(std::move(extents));
    return finish();
  }

 private:
  void fail(Fetches::Owner owner, Status status) {
    if (owner == kFile)
      failure_ = std::move(status);
    else
      objects_[owner - 1].refusal = std::move(status);
  }

  // At byte 0, or after a user block of 512 bytes, 1024, and so on.
  void find_superblock(uint64_t at) {
    if (saturating_add(at, kSignature.size()) > file_.size) {
      failure_ = corrupt({.expected = "an HDF5 signature at byte 0, 512, 1024 and so on", .got = "none"});
      return;
    }
    fetches_.ask(
        kFile, at, kSuperblockBytes, [this, at](std::span<const std::byte> bytes) -> Result<uint64_t> {
          if (!Cursor(bytes).signature(kSignature)) {
            find_superblock(at == 0 ? 512 : 2 * at);
            return uint64_t{0};
          }
          HEADRACE_ASSIGN(const Superblock block, read_superblock(bytes, at));
          place_ = block.place;
          if (block.end > file_.size)
            return corrupt({.expected = std::to_string(block.end) + " bytes as stated in the superblock",
                            .got = std::to_string(file_.size),
                            .fix = "the file may be incomplete"});
          visit("", block.root);
          return uint64_t{0};
        });
  }

  void visit(const std::string& path, uint64_t address) {
    const auto [known, is_new] = seen_.try_emplace(address, objects_.size());
    paths_.emplace_back(path, known->second);
    if (!is_new) return;
    const size_t object = objects_.size();
    objects_.push_back({path, address});
    read_header(fetches_, object + 1, place_, address, [this, object](std::vector<Message> messages) {
      return interpret(object, std::move(messages));
    });
  }

  Status interpret(size_t object, std::vector<Message> messages) {
    const std::string path = objects_[object].path;
    if (static_cast<size_t>(std::ranges::count(path, '/')) >= kMostNesting)
      return corrupt("expected groups nested at most 128 deep");
    HEADRACE_ASSIGN(const bool is_group,
                    read_links(fetches_, object + 1, place_, messages,
                               [this, path](const Link& link) { return add_link(path, link); }));
    const auto has = [&](uint16_t type) {
      return std::ranges::find(messages, type, &Message::type) != messages.end();
    };
    if (has_attributes(messages) && (object == 0 || !is_group)) read_attributes_of(object, messages);
    if (is_group || !has(kDataspace) || !has(kDatatype)) return {};
    objects_[object].dataset = datasets_.size();
    datasets_.emplace_back();
    return read_type(object, std::move(messages));
  }

  void read_attributes_of(size_t object, const std::vector<Message>& messages) {
    const size_t reading = objects_.size();
    objects_.emplace_back().attributes_of = object;
    read_attributes({fetches_, reading + 1, place_, &strings_left_}, messages,
                    [this, object](Attribute attribute) {
                      std::vector<Attribute>& all = objects_[object].attributes;
                      if (all.size() < kMostAttributes) all.push_back(std::move(attribute));
                    });
  }

  Status add_link(const std::string& group, const Link& link) {
    const std::string path = group.empty() ? link.name : group + "/" + link.name;
    switch (link.kind) {
      case Link::Kind::hard: visit(path, link.address); return {};
      case Link::Kind::soft:
        soft_links_[path] = link.target.starts_with('/') ? link.target.substr(1)
                            : group.empty()              ? link.target
                                                         : group + "/" + link.target;
        return {};
      default:
        refused_.push_back({path, kNowhere, {Code::unavailable, "cannot follow a link to another file"}});
        return {};
    }
  }

  // The datatype may be a named one, which has its own header.
  Status read_type(size_t object, std::vector<Message> messages) {
    const auto type = std::ranges::find(messages, uint16_t{kDatatype}, &Message::type);
    if (!type->is_shared) {
      Cursor cursor = type->cursor(place_.sizes);
      return read_dataset(object, read_datatype(cursor), messages);
    }
    HEADRACE_ASSIGN(const uint64_t address, shared_with(type->cursor(place_.sizes)));
    read_header(fetches_, object + 1, place_, address,
                [this, object, messages = std::move(messages)](const std::vector<Message>& named) -> Status {
                  const auto found = std::ranges::find(named, uint16_t{kDatatype}, &Message::type);
                  if (found == named.end() || found->is_shared)
                    return corrupt({.expected = "a datatype", .got = "none"});
                  Cursor cursor = found->cursor(place_.sizes);
                  return read_dataset(object, read_datatype(cursor), messages);
                });
    return {};
  }

  Status read_dataset(size_t object, Result<Datatype> type, const std::vector<Message>& messages) {
    HEADRACE_TRY(type.status());
    Dataset& dataset = datasets_[objects_[object].dataset];
    dataset.element = type->element, dataset.leaves = std::move(type->leaves);
    ChunkPlace index;
    for (const Message& message : messages) {
      if (message.is_shared && message.type != kDatatype)
        return {Code::unavailable, "cannot read shared messages"};
      const Cursor cursor = message.cursor(place_.sizes);
      switch (message.type) {
        case kDataspace: HEADRACE_TRY(read_dataspace(cursor, dataset)); break;
        case kLayout: {
          HEADRACE_ASSIGN(index, read_layout(cursor, dataset));
          break;
        }
        case kFilters: {
          HEADRACE_ASSIGN(dataset.filters, read_filters(cursor));
          break;
        }
        case kOldFill:
        case kFill: {
          HEADRACE_ASSIGN(std::string value, read_fill(cursor, message.type == kOldFill));
          if (!value.empty()) dataset.fill = std::move(value);
          break;
        }
        case kExternalFiles:
          return {Code::unavailable, "cannot read external storage, whose data is in other files"};
        default: break;
      }
    }
    return find_data(object, &dataset, index);
  }

  Status find_data(size_t object, Dataset* dataset, const ChunkPlace& index) {
    if (!dataset->has_rows()) return {};
    if (dataset->storage == Storage::contiguous && dataset->address != kNowhere)
      dataset->address = saturating_add(place_.base, dataset->address);
    HEADRACE_TRY(check(*dataset, file_.size));
    HEADRACE_TRY(check_filters(dataset->filters));
    if (dataset->storage != Storage::chunked) return keep_rows(object, dataset);
    find_chunks(fetches_, object + 1, place_, index, dataset, [this, object, dataset]() -> Status {
      HEADRACE_TRY(check(*dataset, file_.size));
      return keep_rows(object, dataset);
    });
    return {};
  }

  // Keeps references, so that the positions of values are known, and small rows such as labels, so that
  // they need no read of their own.
  Status keep_rows(size_t object, Dataset* dataset) {
    if (dataset->storage == Storage::compact || dataset->row_elements() == 0) return {};
    const uint64_t all = saturating_mul(dataset->row_bytes(), dataset->rows());
    const bool is_small = dataset->row_bytes() <= kSmallRow && all <= small_free_;
    if (!dataset->has_vlen() && !is_small) return {};
    if (dataset->storage == Storage::contiguous) {
      if (dataset->address == kNowhere) return {};
      if (!dataset->has_vlen()) small_free_ -= all;
      return keep_contiguous(object, dataset, all);
    }
    uint64_t stored = 0;
    for (const Chunk& chunk : dataset->chunks) stored = saturating_add(stored, chunk.size);
    const uint64_t beyond = all - std::min(all, saturating_mul(kMostReferenceRatio, stored));
    if (beyond > 0 && !dataset->has_vlen()) return {};  // mostly fill values: read by chunk
    if (beyond > free_)
      return {Code::exhausted,
              Mismatch{.expected = "references of at most 64 MiB or 1100 times their stored bytes",
                       .got = std::to_string(all) + " bytes"}};
    free_ -= beyond;
    if (!dataset->has_vlen()) small_free_ -= all;
    dataset->kept.resize(all);
    fill(*dataset, std::as_writable_bytes(std::span(dataset->kept)));
    for (const Chunk& chunk : dataset->chunks)
      fetches_.ask_all(
          object + 1, chunk.address, chunk.size,
          [dataset, chunk](std::span<const std::byte> bytes) { return keep_chunk(dataset, chunk, bytes); });
    return {};
  }

  Status keep_contiguous(size_t object, Dataset* dataset, uint64_t all) {
    dataset->kept.resize(all);
    for (uint64_t at = 0; at < all; at += kPiece)
      fetches_.ask_all(object + 1, dataset->address + at, std::min(kPiece, all - at),
                       [dataset, at](std::span<const std::byte> bytes) {
                         std::memcpy(dataset->kept.data() + at, bytes.data(), bytes.size());
                         return Status();
                       });
    return {};
  }

  static Status keep_chunk(Dataset* dataset, const Chunk& chunk, std::span<const std::byte> bytes) {
    const BufferPtr stored = std::make_shared<BorrowedBuffer>(bytes, nullptr);
    HEADRACE_ASSIGN(const BufferPtr plain, unfilter(*dataset, chunk, stored));
    place_chunk(*dataset, chunk, plain->bytes(), {0, dataset->rows()},
                std::as_writable_bytes(std::span(dataset->kept)).data());
    return {};
  }

  Result<Step<FileIndex>> finish() {
    Contents contents;
    contents.address_bytes = place_.sizes.address, contents.length_bytes = place_.sizes.length;
    contents.base = place_.base;
    contents.about = text_attribute(objects_[0].attributes, kAboutName);
    contents.is_netcdf = says_netcdf(objects_[0].attributes);
    for (Object& object : objects_) {
      contents.is_netcdf = contents.is_netcdf || std::ranges::any_of(object.attributes, is_of_netcdf);
      if (object.dataset == kNowhere) continue;
      Dataset& dataset = datasets_[object.dataset];
      if (!object.refusal.ok()) dataset = {}, dataset.refusal = object.refusal;
      dataset.attributes = std::move(object.attributes);
      contents.is_netcdf = contents.is_netcdf || dataset.is_dimension();
    }
    for (const Object& object : objects_)
      if (object.attributes_of && !object.refusal.ok())
        if (const uint64_t of = objects_[*object.attributes_of].dataset; of != kNowhere)
          datasets_[of].attributes_refusal = object.refusal;
    contents.attributes = std::move(objects_[0].attributes);
    contents.datasets.assign(std::make_move_iterator(datasets_.begin()),
                             std::make_move_iterator(datasets_.end()));
    contents.names = std::move(refused_);
    for (const auto& [path, object] : paths_) {
      const Object& found = objects_[object];
      if (found.dataset != kNowhere)
        contents.names.push_back({path, found.dataset});
      else if (!found.refusal.ok())
        contents.names.push_back({path, kNowhere, found.refusal});
    }
    sort_names(contents);
    follow_soft_links(contents);
    find_places(contents);
    return Step<FileIndex>(FileIndex{{}, pack(contents)});
  }

  static void sort_names(Contents& contents) {
    std::ranges::stable_sort(contents.names, {}, &Name::path);
    const auto same = std::ranges::unique(contents.names, {}, &Name::path);
    contents.names.erase(same.begin(), same.end());
  }

  void follow_soft_links(Contents& contents) const {
    std::vector<Name> found;
    for (const auto& [path, first] : soft_links_) {
      std::string target = first;
      for (int i = 0; i < kMostSoftLinks; ++i) {
        const auto next = soft_links_.find(target);
        if (next == soft_links_.end()) break;
        target = next->second;
      }
      if (const Name* name = contents.find(target)) found.push_back({path, name->dataset, name->refusal});
    }
    contents.names.insert(contents.names.end(), found.begin(), found.end());
    sort_names(contents);
  }

  SourceFile file_;
  Status failure_;
  Place place_;
  std::deque<Object> objects_;
  std::deque<Dataset> datasets_;     // pending reads hold pointers to them
  std::map<uint64_t, size_t> seen_;  // objects by address
  std::vector<std::pair<std::string, size_t>> paths_;
  std::map<std::string, std::string> soft_links_;
  std::vector<Name> refused_;
  uint64_t free_ = kMostKept;  // of references that were never written, or are highly compressed
  uint64_t small_free_ = kMostKept;
  uint64_t strings_left_ = kMostStrings;
  Fetches fetches_;
};

}  // namespace

std::unique_ptr<Opening<FileIndex>> index_hdf5(SourceFile file) {
  return std::make_unique<Walk>(std::move(file));
}

}  // namespace headrace::hdf5
