#include "headrace/formats/arrow/index.h"

#include <algorithm>
#include <cstring>

#include "headrace/formats/arrow/message.h"

namespace headrace::arrow {
namespace {

constexpr std::string_view kMagic = "ARROW1";
constexpr uint64_t kHead = 8, kTrailer = 10;  // magic, padded; footer length and magic
constexpr uint64_t kFirstWindow = 4096, kMostWindow = 256 << 10;
constexpr uint64_t kBetween = 8192;    // metadata closer together than this is read in one piece
constexpr uint64_t kStep = 8 << 20;    // bytes of metadata in memory at once, or one batch's
constexpr size_t kMostExtents = 1024;  // of one step

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Status at_byte(Status status, uint64_t byte) { return std::move(status).at_byte(byte); }

// Collects the index of a file, message by message.
class Found {
 public:
  Status schema(std::span<const std::byte> message) {
    contents_.schema = text_of(message);
    return schema_in(contents_.schema).status();
  }
  Status schema_of_footer(std::span<const std::byte> footer) {
    contents_.schema = std::string(kOfFooter).append(text_of(footer));
    return schema_in(contents_.schema).status();
  }
  void dictionary(std::span<const std::byte> message) {
    contents_.dictionaries.emplace_back(text_of(message));
  }
  Status batch(const Message& message, RecordExtent place) {
    HEADRACE_ASSIGN(const Batch batch, Batch::of(message));
    contents_.is_compressed |= batch.codec() != Codec::none;
    if (__builtin_add_overflow(rows_, batch.rows(), &rows_) || rows_ > (uint64_t{1} << 48))
      return corrupt({.expected = "fewer than 2^48 rows", .got = "more"});
    if (index_.records.empty()) contents_.rows_each = batch.rows();
    const bool is_even = contents_.first_row.empty() && batch.rows() == contents_.rows_each;
    if (!is_even && contents_.first_row.empty())
      for (size_t i = 0; i <= index_.records.size(); ++i)
        contents_.first_row.push_back(i * contents_.rows_each);
    if (!is_even) contents_.first_row.push_back(rows_);
    index_.records.push_back(place);
    return {};
  }
  bool has_schema() const { return !contents_.schema.empty(); }
  FileIndex finish() {
    index_.extra = pack(contents_);
    return std::move(index_);
  }

 private:
  FileIndex index_;
  Contents contents_;
  uint64_t rows_ = 0;
};

struct Block {
  uint64_t offset = 0, metadata = 0, body = 0;
  uint64_t size() const { return metadata + body; }
};

// By the footer: reads the schema and the end of the file at once, the rest of the footer if it is longer,
// dictionaries, and the metadata of all batches in large steps.
class FileSteps final : public Opening<FileIndex> {
 public:
  FileSteps(uint64_t size, uint64_t schema, uint64_t tail)
      : size_(size), schema_(schema), tail_(std::clamp(tail, kTrailer, std::max(size, kTrailer))) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    switch (stage_) {
      case Stage::start: return ask_ends();
      case Stage::ends: {
        // Polars 2.1 writes no length before it, so that only the footer has a schema.
        has_schema_ = schema_ > 0 && found_.schema(bytes[1]->bytes()).ok();
        return read_tail(bytes[0]->bytes());
      }
      case Stage::footer: return read_tail(bytes[0]->bytes());
      case Stage::dictionaries:
        for (const BufferPtr& message : bytes) found_.dictionary(message->bytes());
        return next_batches();
      case Stage::batches: HEADRACE_TRY(read_batches(bytes)); return next_batches();
    }
    return internal_error("no such stage");
  }

 private:
  enum class Stage { start, ends, footer, dictionaries, batches };

  Result<Step<FileIndex>> ask_ends() {
    if (size_ < kHead + kTrailer)
      return corrupt({.expected = "at least " + std::to_string(kHead + kTrailer) + " bytes",
                      .got = std::to_string(size_)});
    if (!within(kHead, schema_, size_ - kTrailer)) schema_ = 0;
    stage_ = Stage::ends;
    std::vector<Extent> extents{{0, size_ - tail_, tail_}};
    if (schema_ > 0) extents.push_back({0, kHead, schema_});
    return Step<FileIndex>(std::move(extents));
  }

  Result<Step<FileIndex>> read_tail(std::span<const std::byte> tail) {
    const auto trailer = tail.last(kTrailer);
    if (text_of(trailer.subspan(4)) != kMagic)
      return corrupt({.expected = "ARROW1 at its end, byte " + std::to_string(size_ - 6),
                      .got = "other bytes",
                      .fix = "the file may be incomplete"});
    const uint64_t length = load<uint32_t>(trailer.data());
    if (length > size_ - kTrailer - kHead)
      return corrupt({.expected = "a footer before byte " + std::to_string(size_ - kTrailer),
                      .got = "a length of " + std::to_string(length) + " bytes"});
    footer_at_ = size_ - kTrailer - length;
    if (length + kTrailer > tail.size()) {
      stage_ = Stage::footer;
      return Step<FileIndex>(std::vector<Extent>{{0, footer_at_, length + kTrailer}});
    }
    Status status = parse_footer(tail.last(length + kTrailer).first(length));
    if (!status.ok()) return at_byte(std::move(status), footer_at_);
    if (dictionaries_.empty()) return next_batches();
    stage_ = Stage::dictionaries;
    std::vector<Extent> extents;
    for (const Block& block : dictionaries_) extents.push_back({0, block.offset, block.size()});
    return Step<FileIndex>(std::move(extents));
  }

  Status parse_footer(std::span<const std::byte> bytes) {
    HEADRACE_ASSIGN(const FlatTable footer, FlatTable::root(bytes));
    HEADRACE_ASSIGN(dictionaries_, blocks_of(footer, 2, "dictionary"));
    HEADRACE_ASSIGN(batches_, blocks_of(footer, 3, "record batch"));
    return has_schema_ ? Status() : found_.schema_of_footer(bytes);
  }

  // In file order and without overlap, so a small footer cannot request a large file many times.
  Result<std::vector<Block>> blocks_of(const FlatTable& footer, int field, const std::string& what) const {
    HEADRACE_ASSIGN(const FlatVector blocks, footer.vector(field, 24));
    std::vector<Block> out;
    uint64_t end = kHead;
    for (uint32_t i = 0; i < blocks.count; ++i) {
      const std::byte* at = blocks.bytes.data() + uint64_t{24} * i;
      const Block block{load<uint64_t>(at), load<uint32_t>(at + 8), load<uint64_t>(at + 16)};
      if (block.offset < end || block.metadata < kPrefix ||
          !within(block.offset, block.metadata, footer_at_) ||
          !within(block.offset + block.metadata, block.body, footer_at_))
        return corrupt({.expected = what + " " + std::to_string(i) + " after byte " + std::to_string(end) +
                                    " and before the footer",
                        .got = "one at byte " + std::to_string(block.offset)});
      end = block.offset + block.size();
      out.push_back(block);
    }
    return out;
  }

  // Metadata of adjacent batches in one extent, as long as the gaps are small.
  Result<Step<FileIndex>> next_batches() {
    stage_ = Stage::batches;
    std::vector<Extent> extents;
    uint64_t asked = 0;
    asked_to_ = next_;
    for (; asked_to_ < batches_.size(); ++asked_to_) {
      const Block& block = batches_[asked_to_];
      Extent* last = extents.empty() ? nullptr : &extents.back();
      const uint64_t end = block.offset + block.metadata;
      const bool joins = last && block.offset - (last->offset + last->length) <= kBetween &&
                         end - last->offset <= kMostWindow;
      if (!joins && (extents.size() == kMostExtents || (!extents.empty() && asked >= kStep))) break;
      asked += joins ? end - last->offset - last->length : block.metadata;
      if (joins)
        last->length = end - last->offset;
      else
        extents.push_back({0, block.offset, block.metadata});
    }
    if (extents.empty()) return Step<FileIndex>(found_.finish());
    asked_ = extents;
    return Step<FileIndex>(std::move(extents));
  }

  Status read_batches(std::span<const BufferPtr> bytes) {
    for (size_t i = 0; next_ < asked_to_; ++next_) {
      const Block& block = batches_[next_];
      while (!within(block.offset - asked_[i].offset, block.metadata, asked_[i].length)) ++i;
      Status status =
          read_batch(block, bytes[i]->bytes().subspan(block.offset - asked_[i].offset, block.metadata));
      if (!status.ok())
        return at_byte(std::move(status).before("record batch " + std::to_string(next_) + ": "),
                       block.offset);
    }
    return {};
  }

  Status read_batch(const Block& block, std::span<const std::byte> bytes) {
    HEADRACE_ASSIGN(const Message message, Message::read(bytes));
    if (metadata_length(bytes) != block.metadata || message.body > block.body)
      return corrupt(
          {.expected = "a message of " + std::to_string(block.metadata) + " and " +
                       std::to_string(block.body) + " bytes as in the footer",
           .got = std::to_string(metadata_length(bytes)) + " and " + std::to_string(message.body)});
    return found_.batch(message, {block.offset, block.size()});
  }

  uint64_t size_, schema_, tail_, footer_at_ = 0;
  bool has_schema_ = false;
  Stage stage_ = Stage::start;
  std::vector<Block> dictionaries_, batches_;
  size_t next_ = 0, asked_to_ = 0;  // batches
  std::vector<Extent> asked_;
  Found found_;
};

// Scans message by message.
class StreamSteps final : public Opening<FileIndex> {
 public:
  explicit StreamSteps(uint64_t size) : size_(size) {}

  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (!bytes.empty()) {
      Status status = scan(bytes[0]->bytes());
      if (!status.ok()) return at_byte(std::move(status), position_);
    }
    const uint64_t left = size_ - position_;
    if (is_ended_ || left == 0) {
      if (!found_.has_schema()) return corrupt({.expected = "a stream with a schema", .got = "none"});
      return Step<FileIndex>(found_.finish());
    }
    return Step<FileIndex>(std::vector<Extent>{{0, position_, std::min(std::max(window_, needs_), left)}});
  }

 private:
  // Every message whose metadata is in `window`, which begins with one.
  Status scan(std::span<const std::byte> window) {
    needs_ = 0;
    const uint64_t begin = position_;
    uint64_t messages = 0;
    while (position_ < size_ && position_ - begin < window.size()) {
      const auto rest = window.subspan(position_ - begin);
      const uint64_t left = size_ - position_;
      if (rest.size() < std::min(left, kPrefix)) break;
      const bool is_cut = left < 4 || (left < kPrefix && load<uint32_t>(rest.data()) == kContinuation);
      if (is_cut)
        return corrupt("expected a message or the end of the stream, but only " + std::to_string(left) +
                       " bytes are left");
      const uint64_t metadata = metadata_length(rest);
      is_ended_ = metadata == 0;
      if (is_ended_) return {};
      if (metadata > left)
        return corrupt({.expected = "message metadata of at most " + std::to_string(left) + " bytes",
                        .got = std::to_string(metadata)});
      if (metadata > rest.size()) {
        needs_ = metadata;
        break;
      }
      HEADRACE_ASSIGN(const bool is_read, message(rest, metadata));
      if (!is_read) break;
      ++messages;
    }
    if (messages > 0)
      window_ = (position_ - begin) / messages > kBetween ? kSmallWindow : std::min(2 * window_, kMostWindow);
    return {};
  }

  // False when more bytes are needed.
  Result<bool> message(std::span<const std::byte> rest, uint64_t metadata) {
    HEADRACE_ASSIGN(const Message message, Message::read(rest.first(metadata)));
    if (message.body > size_ - position_ - metadata)
      return corrupt(
          {.expected = "a body of at most " + std::to_string(size_ - position_ - metadata) + " bytes",
           .got = std::to_string(message.body)});
    const uint64_t length = metadata + message.body;
    if (!found_.has_schema()) {
      HEADRACE_TRY(found_.schema(rest.first(metadata)));
    } else if (message.kind == Message::batch) {
      HEADRACE_TRY(found_.batch(message, {position_, length}));
    } else if (message.kind == Message::dictionary) {
      needs_ = length > rest.size() ? length : 0;
      if (needs_ != 0) return false;
      found_.dictionary(rest.first(length));
    } else {
      return corrupt({.expected = "a record batch or a dictionary",
                      .got = "message type " + std::to_string(message.kind)});
    }
    position_ += length;
    return true;
  }

  static constexpr uint64_t kSmallWindow = 1024;
  uint64_t size_, position_ = 0;
  uint64_t window_ = kFirstWindow, needs_ = 0;
  bool is_ended_ = false;
  Found found_;
};

// Reads the head, then takes one of the two ways.
class Steps final : public Opening<FileIndex> {
 public:
  Steps(SourceFile file, uint64_t tail) : file_(std::move(file)), tail_(tail) {}
  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (steps_) return steps_->advance(bytes);
    if (bytes.empty()) return Step<FileIndex>(std::vector<Extent>{{0, 0, std::min(file_.size, 2 * kPrefix)}});
    const auto head = bytes[0]->bytes();
    switch (form_of(head)) {
      case Form::file: {
        const uint64_t schema = head.size() < 2 * kPrefix ? 0 : metadata_length(head.subspan(kHead));
        steps_ = std::make_unique<FileSteps>(file_.size, schema, tail_);
        break;
      }
      case Form::stream: steps_ = std::make_unique<StreamSteps>(file_.size); break;
      case Form::feather1:
        return Status(Code::unavailable,
                      {.expected = "an Arrow IPC file or stream",
                       .got = "Feather V1",
                       .fix = "pyarrow.feather.write_feather writes Feather V2, which is an Arrow file"});
      case Form::none: return corrupt({.expected = "ARROW1 or a schema message at byte 0", .got = "neither"});
    }
    return steps_->advance({});
  }

 private:
  SourceFile file_;
  uint64_t tail_;
  std::unique_ptr<Opening<FileIndex>> steps_;
};

}  // namespace

Result<StoredSchema> schema_in(std::string_view stored) {
  const auto bytes = std::as_bytes(std::span(stored));
  if (!stored.starts_with(kOfFooter)) {
    HEADRACE_ASSIGN(const Message message, Message::read(bytes));
    if (message.kind != Message::schema)
      return corrupt({.expected = "a schema first", .got = "message type " + std::to_string(message.kind)});
    return StoredSchema{message.header, message.version};
  }
  HEADRACE_ASSIGN(const FlatTable footer, FlatTable::root(bytes.subspan(kOfFooter.size())));
  HEADRACE_ASSIGN(const auto version, footer.number<int16_t>(0, 0));
  HEADRACE_ASSIGN(const auto schema, footer.table(1));
  if (!schema) return corrupt({.expected = "a schema in the footer", .got = "none"});
  HEADRACE_TRY(check_version(version));
  return StoredSchema{*schema, version};
}

Form form_of(std::span<const std::byte> head) {
  const std::string_view text = text_of(head);
  if (text.starts_with(kMagic)) return Form::file;
  if (text.starts_with("FEA1")) return Form::feather1;
  if (head.size() < kPrefix) return Form::none;
  const uint64_t length = metadata_length(head.first(kPrefix));
  return length >= 2 * kPrefix && length <= (uint64_t{1} << 30) ? Form::stream : Form::none;
}

std::unique_ptr<Opening<FileIndex>> index_arrow(SourceFile file, uint64_t tail) {
  return std::make_unique<Steps>(std::move(file), tail);
}

}  // namespace headrace::arrow
