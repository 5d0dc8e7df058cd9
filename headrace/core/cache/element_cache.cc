#include "headrace/core/cache/element_cache.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <unordered_map>
#include <utility>

namespace headrace {

// The memory that several caches share, and the caches. Any thread.
class CacheRoom {
 public:
  std::shared_ptr<ElementCache>& of(const std::string& key) { return caches_[key]; }
  std::mutex& mutex() { return mutex_; }  // held for of()

  // Whether `size` more bytes fit into `most`; `used` is the total that would be used then. Caches that are
  // no longer referenced are dropped to make room.
  bool take(size_t size, size_t most, size_t& used) {
    std::lock_guard lock(mutex_);
    for (auto it = caches_.begin(); used_ + size > most && it != caches_.end();) {
      const bool is_idle = it->second && it->second.use_count() == 1;
      if (is_idle) used_ -= it->second->bytes();
      it = is_idle ? caches_.erase(it) : std::next(it);
    }
    used = used_ + size;
    if (used > most) return false;
    used_ = used;
    return true;
  }
  void clear() {
    std::lock_guard lock(mutex_);
    caches_.clear();
  }
  void give_back(size_t size) {
    std::lock_guard lock(mutex_);
    used_ -= size;
  }

 private:
  std::mutex mutex_;
  size_t used_ = 0;                                              // guarded by mutex_
  std::map<std::string, std::shared_ptr<ElementCache>> caches_;  // guarded by mutex_
};

namespace {

// Fields by key, those of neighbouring elements side by side: elements are mostly requested in order. Small
// ones of the same form share one block of memory, field by field; others have one block each.
class ElementTable {
 public:
  bool has(const CacheKey& key) const {
    const Page* page = find_page(key);
    return page && ((page->small | page->apart) & bit(key));
  }
  bool get(const CacheKey& key, std::vector<Tensor>& fields) const {
    const Page* page = find_page(key);
    if (page && (page->apart & bit(key))) {
      fields = (*page->others)[key.index % kPage];
      return true;
    }
    if (!page || !(page->small & bit(key))) return false;
    fields.clear();
    size_t column = 0;
    for (const TensorSpec& spec : page->specs) {
      const size_t bytes = spec.size_bytes();
      fields.push_back({page->block, column + key.index % kPage * bytes, spec.dtype, spec.shape, nullptr});
      column += kPage * bytes;
    }
    return true;
  }
  // As ElementCache::gather().
  bool gather(uint64_t leaf, std::span<const uint64_t> indices, std::span<const MutView> out) const {
    Ahead ahead;
    for (size_t i = 0; i < indices.size();) {
      if (i == ahead.end) look_ahead(leaf, indices, ahead);
      const Page* page = ahead.page(i);
      if (!page) return false;
      if (page->apart & bit({leaf, indices[i]})) {
        if (!copy((*page->others)[indices[i] % kPage], i, indices.size(), out)) return false;
        ++i;
        continue;
      }
      size_t end = i;  // of the adjacent ones
      const auto is_next = [&] {
        return end < ahead.end && indices[end] == indices[i] + (end - i) &&
               indices[end] / kPage == indices[i] / kPage && (page->small & bit({leaf, indices[end]}));
      };
      while (is_next()) ++end;
      if (end == i || !copy(*page, indices[i] % kPage, {i, end - i}, indices.size(), out)) return false;
      i = end;
    }
    return true;
  }
  // Keeps a copy of small fields, and `apart` for others. REQUIRES: the element is not there.
  void add(const CacheKey& key, std::span<const Tensor> fields, std::vector<Tensor> apart) {
    std::unique_ptr<Page>& page = pages_[page_of(key)];
    if (!page) page = std::make_unique<Page>();
    ++size_;
    if (!apart.empty() || fields.empty()) {
      if (!page->others) page->others = std::make_unique<std::array<std::vector<Tensor>, kPage>>();
      (*page->others)[key.index % kPage] = std::move(apart);
      page->apart |= bit(key);
      return;
    }
    if (!page->block) {
      for (const Tensor& field : fields) page->specs.push_back({field.dtype, field.shape});
      page->block = HeapBuffer::make(std::max<size_t>(1, kPage * bytes_of(fields)));
    }
    std::byte* column = page->block->mutable_data();
    for (const Tensor& field : fields) {
      const View view = field.view();
      std::memcpy(column + key.index % kPage * view.size_bytes(), view.data, view.size_bytes());
      column += kPage * view.size_bytes();
    }
    page->small |= bit(key);
  }
  // The mean of bytes_for() over the elements of a full page, plus the overhead of packing them.
  static size_t mean_beside(std::span<const TensorSpec> fields) {
    const auto is_fixed = [](const TensorSpec& spec) { return spec.is_static() && !is_text(spec.dtype); };
    size_t bytes = 0;
    bool all_fixed = !fields.empty();
    for (const TensorSpec& spec : fields) {
      all_fixed = all_fixed && is_fixed(spec);
      if (all_fixed) bytes += spec.size_bytes();
    }
    const size_t page = sizeof(Page) + kBeside;
    if (all_fixed && bytes <= kSmall) return (page + kBeside + fields.size() * sizeof(TensorSpec)) / kPage;
    constexpr size_t kPacked = 48;  // a field: its header and padding
    return page / kPage + sizeof(std::vector<Tensor>) + kBeside + fields.size() * (sizeof(Tensor) + kPacked);
  }
  size_t size() const { return size_; }
  // Whether these would be stored together with their neighbours.
  bool is_small(const CacheKey& key, std::span<const Tensor> fields) const {
    for (const Tensor& field : fields)
      if (field.is_ragged() || is_text(field.dtype)) return false;
    if (fields.empty() || bytes_of(fields) > kSmall) return false;
    const Page* page = find_page(key);
    if (!page || !page->block) return true;
    const auto is_form = [](const Tensor& field, const TensorSpec& spec) {
      return field.dtype == spec.dtype && field.shape == spec.shape;
    };
    return std::ranges::equal(fields, page->specs, is_form);
  }
  // What one more element takes besides its own bytes, when it has its own block.
  size_t bytes_for(const CacheKey& key, std::span<const Tensor> fields, bool is_small) const {
    const Page* page = find_page(key);
    size_t bytes = page ? 0 : sizeof(Page) + kBeside;
    if (!is_small) {
      bytes += kBeside + fields.size() * sizeof(Tensor);
      if (!page || !page->others) bytes += sizeof(*page->others);
    } else if (!page || !page->block) {
      bytes += kBeside + kPage * bytes_of(fields) + fields.size() * sizeof(TensorSpec);
    }
    return bytes;
  }

 private:
  static constexpr uint64_t kPage = 16;
  static constexpr size_t kSmall = 64;    // bytes of an element that is stored with its neighbours
  static constexpr size_t kBeside = 128;  // about what the allocator and the table take for a block or a page
  struct Page {
    uint32_t small = 0, apart = 0;  // which elements are there
    std::vector<TensorSpec> specs;  // of small ones
    MutableBufferPtr block;         //   and where they are; null: there are none
    std::unique_ptr<std::array<std::vector<Tensor>, kPage>> others;
  };
  struct Run {
    size_t first, count;
  };
  static CacheKey page_of(const CacheKey& key) { return {key.leaf, key.index / kPage}; }
  static uint32_t bit(const CacheKey& key) { return uint32_t{1} << key.index % kPage; }
  static size_t bytes_of(std::span<const Tensor> fields) {
    size_t bytes = 0;
    for (const Tensor& field : fields) bytes += field.view().size_bytes();
    return bytes;
  }

  const Page* find_page(const CacheKey& key) const {
    const auto it = pages_.find(page_of(key));
    return it == pages_.end() ? nullptr : it->second.get();
  }

  // Elements that are needed next are anywhere in memory, behind several pointers. Each pointer is prefetched
  // for all of them at once, instead of one element after the other.
  struct Ahead {
    static constexpr size_t kMost = 16;
    const Page* page(size_t i) const { return pages[i % kMost]; }
    std::array<const Page*, kMost> pages;  // of element i at i % kMost
    size_t end = 0;                        // past the last of them
  };
  void look_ahead(uint64_t leaf, std::span<const uint64_t> indices, Ahead& ahead) const {
    const size_t begin = ahead.end, end = std::min(begin + Ahead::kMost, indices.size());
    ahead.end = end;
    for (size_t i = begin; i < end; ++i) {
      const bool again = i > begin && indices[i] / kPage == indices[i - 1] / kPage;
      const Page* page = again ? ahead.page(i - 1) : find_page({leaf, indices[i]});
      ahead.pages[i % Ahead::kMost] = page;
      __builtin_prefetch(page);
    }
    const auto each_apart = [&](auto&& look) {
      for (size_t i = begin; i < end; ++i) {
        const Page* page = ahead.page(i);
        if (page && (page->apart & bit({leaf, indices[i]}))) look((*page->others)[indices[i] % kPage]);
      }
    };
    each_apart([](const std::vector<Tensor>& fields) { __builtin_prefetch(&fields); });
    each_apart(
        [](const std::vector<Tensor>& fields) { fetch(fields.data(), fields.size() * sizeof(Tensor)); });
    each_apart([](const std::vector<Tensor>& fields) {
      if (!fields.empty()) __builtin_prefetch(fields[0].buffer.get());  // all are in one block
    });
    each_apart([](const std::vector<Tensor>& fields) {
      for (const Tensor& field : fields)
        if (field.buffer) fetch(field.buffer->data() + field.offset, field.buffer->size() - field.offset);
    });
  }
  static void fetch(const void* data, size_t size) {
    constexpr size_t kLine = 64, kMost = 8 * kLine;  // the processor prefetches what follows
    for (size_t at = 0; at < std::min(size, kMost); at += kLine)
      __builtin_prefetch(static_cast<const std::byte*>(data) + at);
  }
  static bool copy(const std::vector<Tensor>& fields, size_t row, size_t rows, std::span<const MutView> out) {
    return fields.size() == out.size() &&
           copy([&](size_t f) { return fields[f].view(); }, {row, 1}, rows, out);
  }
  // Copies small ones from `first` on.
  static bool copy(const Page& page, size_t first, Run to, size_t rows, std::span<const MutView> out) {
    const std::byte* column = page.block->data();
    const auto next_field = [&](size_t f) {
      const TensorSpec& spec = page.specs[f];
      const View view{spec.dtype, spec.shape, column + first * spec.size_bytes()};
      column += kPage * spec.size_bytes();
      return view;
    };
    return page.specs.size() == out.size() && copy(next_field, to, rows, out);
  }
  // Copies adjacent elements to rows `to` of `rows`; `first_of` shows fields of the first of them.
  template <class FirstOf>
  static bool copy(FirstOf first_of, Run to, size_t rows, std::span<const MutView> out) {
    for (size_t f = 0; f < out.size(); ++f) {
      const View from = first_of(f);
      if (!(from.shape == out[f].shape.without_front()) || from.dtype != out[f].dtype) return false;
      const size_t bytes = out[f].size_bytes() / rows;
      std::memcpy(out[f].data + to.first * bytes, from.data, to.count * bytes);
    }
    return true;
  }

  std::unordered_map<CacheKey, std::unique_ptr<Page>, CacheKeyHash> pages_;
  size_t size_ = 0;
};

class MemoryCache final : public ElementCache {
 public:
  MemoryCache(std::shared_ptr<CacheRoom> room, size_t most_bytes, std::string cause = "")
      : room_(std::move(room)), most_(most_bytes), cause_(std::move(cause)) {}

  bool has(const CacheKey& key) override {
    std::shared_lock lock(mutex_);
    return elements_.has(key);
  }

  Status put(const CacheKey& key, std::span<const Tensor> fields) override {
    bool is_small = false;
    size_t size = 0;
    {
      std::shared_lock lock(mutex_);
      if (elements_.has(key) || has_given_up_) return {};
      is_small = elements_.is_small(key, fields);
      size = elements_.bytes_for(key, fields, is_small);
    }
    std::vector<Tensor> apart;
    if (!is_small) {
      // One block of memory per element, outside the run's budget: it outlives the run.
      const std::vector<std::byte> packed = pack_fields(fields);
      MutableBufferPtr block = HeapBuffer::make(packed.size());
      std::copy(packed.begin(), packed.end(), block->mutable_data());
      HEADRACE_TRY(unpack_fields(std::move(block), apart));
      size += packed.size();
    }
    size_t wanted = 0;
    if (!room_->take(size, most_, wanted)) return too_many(size, wanted);
    if (add(key, fields, std::move(apart), size)) return {};
    room_->give_back(size);
    return put(key, fields);  // it is there, or its neighbours have another form
  }

  size_t size() override {
    std::shared_lock lock(mutex_);
    return elements_.size();
  }
  uint64_t bytes() override {
    std::shared_lock lock(mutex_);
    return used_;
  }
  std::string trouble() override { return {}; }
  void reclaim() override {
    std::lock_guard lock(mutex_);
    room_->give_back(std::exchange(used_, 0));
    elements_ = {}, has_given_up_ = true;
  }

 private:
  Result<bool> find(const CacheKey& key, std::vector<Tensor>& fields, Pool*) override {
    std::shared_lock lock(mutex_);
    return elements_.get(key, fields);
  }

  bool find_all(uint64_t leaf, std::span<const uint64_t> indices, std::span<const MutView> out) override {
    std::shared_lock lock(mutex_);
    return elements_.gather(leaf, indices, out);
  }

  // False when another thread was first, with this element or with one that its neighbours do not match.
  bool add(const CacheKey& key, std::span<const Tensor> fields, std::vector<Tensor> apart, size_t size) {
    std::lock_guard lock(mutex_);
    if (elements_.has(key) || has_given_up_ || (apart.empty() && !elements_.is_small(key, fields)))
      return false;
    elements_.add(key, fields, std::move(apart));
    used_ += size;
    return true;
  }

  Status too_many(size_t size, size_t wanted) {
    std::shared_lock lock(mutex_);
    const size_t others = wanted - size - std::min(used_, wanted - size);
    return {
        Code::exhausted,
        "cache: " + std::to_string(elements_.size() + 1) + " elements need at least " +
            std::to_string(wanted) + " bytes" +
            (others > 0 ? ", including " + std::to_string(others) + " bytes that another run uses now" : "") +
            ", but the limit is " + std::to_string(most_) + (cause_.empty() ? "" : "; " + cause_) +
            "; cache smaller elements, use cache(path) to cache in files, or set max_memory="};
  }

  const std::shared_ptr<CacheRoom> room_;
  const size_t most_;
  const std::string cause_;
  std::shared_mutex mutex_;  // guards the next members; readers do not wait for each other
  size_t used_ = 0;
  bool has_given_up_ = false;
  ElementTable elements_;
};

}  // namespace

std::shared_ptr<ElementCache> memory_cache(size_t most_bytes) {
  return std::make_shared<MemoryCache>(std::make_shared<CacheRoom>(), most_bytes);
}

size_t beside_in_memory_cache(std::span<const TensorSpec> fields) {
  return ElementTable::mean_beside(fields);
}

MemoryCaches::MemoryCaches() : MemoryCaches(nullptr) {}
MemoryCaches::MemoryCaches(std::shared_ptr<ElementCache> given)
    : room_(std::make_shared<CacheRoom>()), given_(std::move(given)) {}
MemoryCaches::~MemoryCaches() { room_->clear(); }  // the caches hold the room, and the room holds them

std::shared_ptr<ElementCache> MemoryCaches::of(const std::string& key, size_t most_bytes,
                                               const std::string& cause) {
  if (given_) return given_;
  std::lock_guard lock(room_->mutex());
  std::shared_ptr<ElementCache>& found = room_->of(key);
  if (!found) found = std::make_shared<MemoryCache>(room_, most_bytes, cause);
  return found;
}

}  // namespace headrace
