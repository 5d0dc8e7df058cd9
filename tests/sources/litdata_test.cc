#include <zstd.h>

#include "headrace/formats/litdata/testing.h"
#include "tests/sources/conformance.h"

namespace headrace::trial {
namespace {

std::string zstd_frame(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const auto context = std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)>(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  out.resize(ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size()));
  return out;
}

enum class Form { plain, framed, packed };

SourceCase litdata_case(Form form) {
  SourceCase out;
  std::vector<std::pair<std::string, size_t>> chunks;
  for (const size_t begin : {0, 5}) {
    std::vector<std::string> samples;
    for (size_t i = begin; i < begin + 5; ++i) {
      const std::string image(i * 9, 'i'), numbers = litdata_bytes(1.5f) + litdata_bytes(-1.0f);
      // As torch's are: numbers of the header are big-endian.
      const std::string tensor = std::string("\0\0\0\0\0\0\0\2\0\0\0\1\0\0\0\2", 16) + numbers;
      samples.push_back(litdata_sample({image, litdata_bytes(int64_t{7}), tensor}));
      out.samples.push_back(field_text(DType::bytes, {static_cast<int64_t>(image.size())}, image) +
                            field_text(DType::i64, {}, litdata_bytes(int64_t{7})) +
                            field_text(DType::f32, {1, 2}, numbers));
    }
    chunks.emplace_back("chunk-0-" + std::to_string(begin) + ".bin", samples.size());
    out.files.emplace_back("data/" + chunks.back().first, form == Form::plain ? litdata_chunk(samples)
                                                          : form == Form::framed
                                                              ? litdata_framed(samples, 2, zstd_frame)
                                                              : zstd_frame(litdata_chunk(samples)));
  }
  const Value tree = litdata_dict({"image", "label", "tensor"});
  out.open = by_registered_format("litdata", {}, litdata_index(chunks, {"jpeg", "int", "tensor"}, tree));
  return out;
}

SourceCase plain() { return litdata_case(Form::plain); }
SourceCase framed_case() { return litdata_case(Form::framed); }
SourceCase packed() { return litdata_case(Form::packed); }
INSTANTIATE_TEST_SUITE_P(Litdata, SourceConformance, ::testing::Values(plain, framed_case, packed));

}  // namespace
}  // namespace headrace::trial
