// Writes LMDB: see "Writing" in README.md.
#include "headrace/formats/writer.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "headrace/codecs/protobuf.h"
#include "headrace/formats/lmdb/datum.h"
#include "headrace/formats/lmdb/new_database.h"

namespace headrace {
namespace {

using Bytes = std::span<const std::byte>;

// The roles of a sample's fields; -1: none.
struct Roles {
  int key = -1, value = -1, label = -1;  // `value`: also a Datum's image
  bool is_datum() const { return label >= 0; }
};

Status refused(const std::string& why, const Schema& schema) {
  return invalid(
             "expected one bytes field, or for Caffe's Datum an image (bytes, or uint8 (?, ?, 3) or (?, ?, "
             "1)) "
             "and an integer label, each optionally with a key (bytes or str); " +
             why + " (" + schema.text() + ")")
      .in_format("lmdb");
}

std::string named(const Schema& schema, int field) {
  return "'" + schema.names[static_cast<size_t>(field)] + "'";
}

// The field named by the option; else `usual` if it exists and fits; else -1.
template <class Fits> Result<int> find_field(const WriteRequest& request, std::string_view option,
                                             std::string_view usual, const Fits& is_one) {
  const Schema& schema = request.schema;
  HEADRACE_ASSIGN(const std::string name, request.text(option));
  const int at = schema.find(name.empty() ? usual : name);
  const bool fits = at >= 0 && is_one(schema.specs[static_cast<size_t>(at)]);
  if (!name.empty() && at < 0)
    return invalid(std::string(option) + " must be one of the fields " + schema.text() + ", got '" + name +
                   "'");
  if (!name.empty() && !fits)
    return refused(named(schema, at) + " cannot be the " + std::string(option), schema);
  return fits ? at : -1;
}

bool is_key(const TensorSpec& spec) { return is_text(spec.dtype); }
bool is_label(const TensorSpec& spec) {
  return !is_text(spec.dtype) && !is_float(spec.dtype) && spec.shape.rank() == 0;
}
bool has_channels(int64_t channels, std::initializer_list<int64_t> wanted) {
  return std::ranges::find(wanted, channels) != wanted.end();
}
bool is_raw_image(const TensorSpec& spec) {
  return spec.dtype == DType::u8 && spec.shape.rank() == 3 && has_channels(spec.shape[2], {1, 3, kAny});
}

// Besides the key: a value alone, or an image and its label.
Result<Roles> roles_of(const WriteRequest& request) {
  const Schema& schema = request.schema;
  Roles out;
  if (schema.size() > 1) {
    HEADRACE_ASSIGN(out.key, find_field(request, "key", "key", is_key));
  }
  for (int i = 0; i < static_cast<int>(schema.size()); ++i) {
    if (i == out.key) continue;
    const TensorSpec& spec = schema.specs[static_cast<size_t>(i)];
    if (!is_label(spec) && spec.dtype != DType::bytes && !is_raw_image(spec))
      return refused(no_place_for(named(schema, i)), schema);
    int& role = is_label(spec) ? out.label : out.value;
    if (role >= 0)
      return refused(no_place_for("both " + named(schema, role) + " and " + named(schema, i)), schema);
    role = i;
  }
  if (out.value < 0) return refused("none of these is an image or bytes", schema);
  if (!out.is_datum() && schema.specs[static_cast<size_t>(out.value)].dtype != DType::bytes)
    return refused("an image of pixels needs a label", schema);
  return out;
}

// A protobuf message around an image.
struct DatumFrame {
  std::string before, after;
};

DatumFrame frame_of(const View& image, int32_t label) {
  enum : uint8_t {
    kChannels = 1 << 3,
    kHeight = 2 << 3,
    kWidth = 3 << 3,
    kData = 4 << 3 | 2,
    kLabel = 5 << 3,
    kEncoded = 7 << 3
  };
  DatumFrame out;
  const auto number = [](std::string& to, uint8_t tag, uint64_t value) {
    to += static_cast<char>(tag);
    append_varint(value, to);
  };
  if (image.dtype == DType::u8) {
    number(out.before, kChannels, static_cast<uint64_t>(image.shape[2]));
    number(out.before, kHeight, static_cast<uint64_t>(image.shape[0]));
    number(out.before, kWidth, static_cast<uint64_t>(image.shape[1]));
  }
  number(out.before, kData, image.size_bytes());
  number(out.after, kLabel, static_cast<uint64_t>(int64_t{label}));
  if (image.dtype == DType::bytes) number(out.after, kEncoded, 1);
  return out;
}

Result<int32_t> label_of(const View& label) {
  return visit_dtype(label.dtype, [&]<class T>() -> Result<int32_t> {
    if constexpr (std::is_integral_v<T>) {
      const auto value = +*label.as<T>();
      if (std::in_range<int32_t>(value)) return static_cast<int32_t>(value);
      return invalid({.expected = "a label of 32 bits for a Datum", .got = std::to_string(value)});
    } else {
      return internal_error("expected an integer as the label");
    }
  });
}

std::byte* put(std::byte* out, Bytes bytes) {
  if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
  return out + bytes.size();
}

// Writes planes in BGR, as Caffe does. One channel is a plane already.
std::byte* put_planes(std::byte* out, const View& image) {
  if (image.shape[2] == 1) return put(out, image.bytes());
  const auto plane = static_cast<size_t>(image.shape[0] * image.shape[1]);
  std::byte *blue = out, *green = out + plane, *red = out + 2 * plane;
  for (size_t i = 0; i < plane; ++i) {
    red[i] = image.data[3 * i];
    green[i] = image.data[3 * i + 1];
    blue[i] = image.data[3 * i + 2];
  }
  return out + 3 * plane;
}

// "0000000042": ten digits, so that keys sort like the numbers.
std::string key_of(uint64_t number) {
  std::string digits = std::to_string(number);
  return std::string(10 - std::min<size_t>(10, digits.size()), '0') + digits;
}

class LmdbWriter final : public FileWriter {
 public:
  LmdbWriter(Schema schema, Roles roles, std::unique_ptr<NewDatabase> database)
      : schema_(std::move(schema)), roles_(roles), database_(std::move(database)) {}

  Status add(const std::vector<Tensor>& fields) override {
    HEADRACE_TRY(roles_.is_datum() ? add_datum(fields) : add_bytes(fields));
    ++count_;
    return {};
  }
  Status finish() override { return database_->finish(); }
  const std::vector<Tensor>* as_read() const override { return &read_; }

 private:
  static View at(const std::vector<Tensor>& fields, int field) {
    return fields[static_cast<size_t>(field)].view();
  }
  Status wrong(int field, Status status) const {
    return std::move(status).before("field " + named(schema_, field) + ": ");
  }

  Tensor key_for(const std::vector<Tensor>& fields) const {
    if (roles_.key < 0) return text_tensor(key_of(count_), DType::bytes);
    Tensor out = fields[static_cast<size_t>(roles_.key)];
    out.dtype = DType::bytes;
    return out;
  }

  // Memory in the database for the value of a sample.
  Result<std::span<std::byte>> room(const std::vector<Tensor>& fields, uint64_t size) {
    if (size > kMostLmdbValue)
      return wrong(roles_.value,
                   invalid({.expected = "a value of at most " + std::to_string(kMostLmdbValue) + " bytes",
                            .got = std::to_string(size)}));
    Tensor name = key_for(fields);
    const Bytes key = name.view().bytes();
    if (key.empty() || key.size() > kMostLmdbKey)
      return wrong(roles_.key,
                   invalid({.expected = "a key of 1 to " + std::to_string(kMostLmdbKey) + " bytes",
                            .got = std::to_string(key.size())}));
    auto out = database_->add(key, size);
    if (out.ok()) {
      const auto value = std::make_shared<BorrowedBuffer>(*out, nullptr);
      read_ = {std::move(name), {value, 0, DType::bytes, {static_cast<int64_t>(size)}, nullptr}};
      return out;
    }
    if (out.status().code() != Code::invalid) return out;
    const std::string_view text(reinterpret_cast<const char*>(key.data()), key.size());
    return wrong(roles_.key, out.status().after(": '" + std::string(text) + "'"));
  }

  Status add_bytes(const std::vector<Tensor>& fields) {
    const Bytes value = at(fields, roles_.value).bytes();
    HEADRACE_ASSIGN(const auto out, room(fields, value.size()));
    put(out.data(), value);
    return {};
  }

  // The reader expects one kind of image per file.
  Status check_image(const View& image) const {
    if (image.size_bytes() == 0)
      return wrong(roles_.value, invalid({.expected = "an image for a Datum", .got = "an empty one"}));
    if (image.dtype == DType::bytes) return {};
    const int64_t channels = image.shape[2];
    if (channels_ == 0 && !has_channels(channels, {1, 3}))
      return wrong(roles_.value,
                   invalid({.expected = "1 or 3 channels for a Datum", .got = std::to_string(channels)}));
    if (channels_ != 0 && channels != channels_)
      return wrong(roles_.value,
                   invalid({.expected = std::to_string(channels_) + " channels as in the first image",
                            .got = std::to_string(channels)}));
    return {};
  }

  Status add_datum(const std::vector<Tensor>& fields) {
    const View image = at(fields, roles_.value);
    HEADRACE_TRY(check_image(image));
    const auto label = label_of(at(fields, roles_.label));
    if (!label.ok()) return wrong(roles_.label, label.status());
    const DatumFrame frame = frame_of(image, *label);
    HEADRACE_ASSIGN(const auto out,
                    room(fields, frame.before.size() + image.size_bytes() + frame.after.size()));
    std::byte* end = put(out.data(), std::as_bytes(std::span(frame.before)));
    end = image.dtype == DType::u8 ? put_planes(end, image) : put(end, image.bytes());
    put(end, std::as_bytes(std::span(frame.after)));
    if (image.dtype == DType::u8) channels_ = image.shape[2];
    return {};
  }

  Schema schema_;
  Roles roles_;
  std::unique_ptr<NewDatabase> database_;
  uint64_t count_ = 0;
  int64_t channels_ = 0;      // of the images so far
  std::vector<Tensor> read_;  // key and value of the last sample, the value in the database's memory
};

Result<std::unique_ptr<FileWriter>> make(const WriteRequest& request) {
  HEADRACE_ASSIGN(const Roles roles, roles_of(request));
  HEADRACE_ASSIGN(const bool folder, request.flag("folder", true));
  HEADRACE_ASSIGN(auto database, NewDatabase::make(request.path, folder ? NewDatabase::Layout::folder
                                                                        : NewDatabase::Layout::file));
  return std::make_unique<LmdbWriter>(request.schema, roles, std::move(database));
}

bool is_folder(const GivenOptions& given) {
  const auto folder = given.flag("folder", true);
  return !folder.ok() || *folder;
}

const WriterRegistration registered_writer({
    .name = "lmdb",
    .doc =
        "LMDB databases: bytes, or images and labels as Caffe's Datum, under a key or the sample's number.",
    .ending = ".lmdb",
    .options = {{"key", "str | None",
                 "The field with the key, bytes or str; default: \"key\" if there is one, else the sample's "
                 "number in "
                 "ten digits.",
                 Value()},
                {"folder", "bool", "Write a folder with data.mdb in it; False: a file of that name.", true}},
    .make = make,
    .other_endings = {{".mdb", Value(Value::Object{{"folder", false}})}},
    .is_folder = is_folder,
});

}  // namespace
}  // namespace headrace
