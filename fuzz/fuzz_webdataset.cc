// Any bytes as a tar, with the checksums of its headers fixed where the first byte selects it: samples are
// inside it in order, each is read or refused, its fields are inside it, too, and several read together equal
// those read one by one.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "headrace/codecs/deflate/inflate.h"
#include "headrace/formats/records/record_files.h"
#include "headrace/formats/testing/put_rows.h"
#include "headrace/formats/webdataset/first_members.h"
#include "headrace/formats/webdataset/index.h"
#include "headrace/formats/webdataset/sample_fields.h"
#include "headrace/formats/webdataset/tar_head.h"

using headrace::kTarBlock;

namespace {

void mend(std::byte* tar, size_t size) {
  for (size_t at = 0; at + kTarBlock <= size; at += kTarBlock) {
    if (std::memcmp(tar + at + 257, "ustar", 5) != 0) continue;
    std::memset(tar + at + 148, ' ', 8);
    unsigned sum = 0;
    for (size_t i = 0; i < kTarBlock; ++i) sum += std::to_integer<unsigned>(tar[at + i]);
    char text[9];
    std::snprintf(text, sizeof text, "%06o", sum);
    std::memcpy(tar + at + 148, text, 7);
  }
}

headrace::BufferPtr part(const headrace::Buffer& tar, uint64_t offset, uint64_t length) {
  if (offset > tar.size() || length > tar.size() - offset) std::abort();  // bytes outside the file
  const auto out =
      headrace::HeapBuffer::make(length);  // a separate block, so that reads outside of it are detected
  if (length > 0) std::memcpy(out->mutable_data(), tar.data() + offset, length);
  return out;
}

headrace::Result<headrace::FileIndex> walked(const headrace::Buffer& tar, bool may_be_open) {
  const auto walk = headrace::walk_webdataset({"x.tar", tar.size()}, may_be_open);
  std::vector<headrace::BufferPtr> bytes;
  while (true) {
    HEADRACE_ASSIGN(auto step, walk->advance(bytes));
    if (auto* index = std::get_if<headrace::FileIndex>(&step)) return *index;
    bytes.clear();
    for (const headrace::Extent& extent : *std::get_if<std::vector<headrace::Extent>>(&step))
      bytes.push_back(part(tar, extent.offset, extent.length));
  }
}

// Samples of a tar, with all of its bytes in one buffer.
class Whole final : public headrace::Block {
 public:
  Whole(const headrace::SampleFields& fields, headrace::BufferPtr tar,
        const std::vector<headrace::RecordExtent>& records)
      : fields_(fields), tar_(std::move(tar)), records_(records) {}
  headrace::Status get(uint64_t row, std::vector<headrace::Tensor>& values) const override {
    return fields_.read({tar_, records_[row].offset, records_[row].length}, values);
  }
  size_t put(std::span<const uint64_t> rows, std::span<const headrace::FieldPlace> to) const override {
    return fields_.put({tar_, 0, std::span(records_).subspan(rows[0], rows.size())}, to);
  }

 private:
  const headrace::SampleFields& fields_;
  headrace::BufferPtr tar_;
  const std::vector<headrace::RecordExtent>& records_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto tar = headrace::HeapBuffer::make(size - 1);
  if (size > 1) std::memcpy(tar->mutable_data(), data + 1, size - 1);
  if (data[0] % 2 == 1) mend(tar->mutable_data(), size - 1);
  const auto index = walked(*tar, data[0] % 4 < 2);
  if (!index.ok()) return index.status().text().empty() ? std::abort(), 0 : 0;
  if (headrace::looks_deflated(tar->bytes()) && !headrace::is_tar_header(tar->bytes()))
    return 0;  // samples are in its decompressed data
  if (!headrace::is_in_order(*index, tar->size())) std::abort();
  headrace::SampleFields wanted{{"__key__", "cls", "npy"}, data[0] % 8 < 4, data[0] % 16 < 8};
  if (!wanted.choose(headrace::unpack_first_members(index->extra)).ok()) return 0;
  for (const headrace::RecordExtent& extent : index->records) {
    const auto buffer = part(*tar, extent.offset, extent.length);
    std::vector<headrace::Tensor> fields;
    const auto status = wanted.read({buffer, 0, extent.length}, fields);
    if (!status.ok()) continue;
    if (fields.size() != 3) std::abort();
    for (const headrace::Tensor& field : fields)
      if (field.view().size_bytes() > field.buffer->size() - field.offset) std::abort();
  }
  const Whole whole(wanted, tar, index->records);
  const auto rows = std::min<uint64_t>(index->records.size(), 16);
  if (rows > 0 && !puts_what_it_gets(whole, wanted.schema(), rows)) std::abort();
  return 0;
}
