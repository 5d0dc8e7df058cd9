// decode_image against an independent reader: Pillow 13 with libjpeg-turbo 3.2, whose answers for every file
// of $HEADRACE_DATA lie in truth.jsonl (size, mode, SHA-1 of the pixels, or the error). Where we answer
// otherwise, the file must belong to a class that is named and proved here.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

#include "headrace/codecs/image.h"
#include "headrace/core/value.h"
#include "tests/oracle/plain_libjpeg.h"
#include "tests/oracle/sha1.h"
#include "tests/real_files.h"

namespace headrace {
namespace {

using Pixels = std::vector<uint8_t>;

struct Truth {
  std::string path, status, mode, format, sha1;
  int64_t width = 0, height = 0, orientation = 1;
};

std::string text_of(const Value& line, std::string_view key) {
  const Value* value = line.find(key);
  return value && value->text() ? *value->text() : "";
}

int64_t integer_of(const Value& line, std::string_view key) {
  const Value* value = line.find(key);
  return value && value->integer() ? *value->integer() : 0;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<Truth> truths_below(const std::string& root, std::initializer_list<std::string_view> folders) {
  std::vector<Truth> truths;
  std::ifstream lines(root + "/truth.jsonl");
  for (std::string text; std::getline(lines, text);) {
    const auto line = Value::parse(text);
    if (!line.ok() || text_of(*line, "kind") != "image") continue;
    const std::string path = text_of(*line, "path");
    for (const std::string_view folder : folders)
      if (path.starts_with(folder))
        truths.push_back({path, text_of(*line, "status"), text_of(*line, "mode"), text_of(*line, "format"),
                          text_of(*line, "pixels_sha1"), integer_of(*line, "w"), integer_of(*line, "h"),
                          integer_of(*line, "orientation")});
  }
  return truths;
}

struct Answer {
  Status status;
  ImageHeader header;
  Pixels pixels;
};

Answer decode(const std::string& file, Color color) {
  const auto bytes = std::as_bytes(std::span(file));
  const auto header = read_image_header(bytes);
  if (!header.ok()) return {header.status(), {}, {}};
  const auto row = static_cast<size_t>(header->width * decoded_channels(*header, color));
  Pixels pixels(row * static_cast<size_t>(header->height));
  Scratch scratch;
  const Status status = decode_image(bytes, *header, color, header->whole(), pixels.data(), row, scratch);
  return {status, *header, std::move(pixels)};
}

// Pillow keeps grey with alpha of 16 bits as RGBA, and bits packed: our pixels in its layout.
Pixels in_layout_of(const std::string& mode, const Answer& answer) {
  Pixels out;
  if (mode == "RGBA" && answer.header.channels == 2) {
    for (size_t i = 0; i < answer.pixels.size(); i += 2) {
      out.insert(out.end(), 3, answer.pixels[i]);
      out.push_back(answer.pixels[i + 1]);
    }
  } else if (mode == "1") {
    const auto width = static_cast<size_t>(answer.header.width);
    for (size_t row = 0; row < answer.pixels.size(); row += width)
      for (size_t x = 0; x < width; ++x) {
        if (x % 8 == 0) out.push_back(0);
        if (answer.pixels[row + x]) out.back() |= static_cast<uint8_t>(128 >> (x % 8));
      }
  } else {
    return answer.pixels;
  }
  return out;
}

bool same_pixels(const Truth& truth, const std::string& file) {
  const Answer own = decode(file, Color::unchanged);
  if (testing::sha1_hex(in_layout_of(truth.mode, own)) == truth.sha1) return true;
  if (truth.mode != "RGB" && truth.mode != "L")
    return false;  // a tRNS chunk is a note to Pillow, alpha to us
  return testing::sha1_hex(decode(file, truth.mode == "L" ? Color::gray : Color::rgb).pixels) == truth.sha1;
}

// Why we may refuse what Pillow reads; empty when there is no good reason.
std::string stricter_because(const Truth& truth, const std::string& file, const Status& status) {
  const std::string text(status.text());
  if (status.code() == Code::unavailable && text.find("SOF3") != std::string::npos)
    return "stricter: lossless JPEG";
  if (truth.format == "PNG") return "stricter: PNG cut off or with a wrong checksum of its pixels";
  if (text.find("cannot hold") != std::string::npos) return "stricter: JPEG too small for its size";
  if (text.find("has no scan") != std::string::npos)
    return "stricter: JPEG without a scan of every component";
  if (testing::decode_with_plain_libjpeg(file).warnings > 0) return "stricter: JPEG of which libjpeg warns";
  return "";
}

// Why we may read what Pillow refuses.
std::string laxer_because(const Truth& truth, const std::string& file) {
  const auto ends_with = [&](std::string_view name) { return truth.path.ends_with(name); };
  if (ends_with("png_decompression_dos.png"))
    return "laxer: PNG with a bomb in its text, which we do not inflate";
  if (ends_with("jfif-bogus-empty-jfif-segment.jpg")) return "laxer: JPEG with an empty JFIF segment";
  const testing::PlainDecode plain = testing::decode_with_plain_libjpeg(file);
  if (plain.pixels != decode(file, Color::unchanged).pixels) return "";
  return plain.finished ? "laxer: JPEG that a newer libjpeg-turbo refuses"
                        : "laxer: JPEG damaged behind its last row";
}

// Why our pixels may differ from Pillow's.
std::string different_because(const Truth& truth, const std::string& file) {
  if (truth.mode == "P") return "not comparable: indexes of a palette";
  if (truth.mode == "I;16") return "not comparable: 16 bits";
  const testing::PlainDecode plain = testing::decode_with_plain_libjpeg(file);
  const bool ours_is_plain = plain.progressive && plain.pixels == decode(file, Color::unchanged).pixels;
  return ours_is_plain ? "different: progressive JPEG without all its scans, in which Pillow invents details"
                       : "";
}

std::string class_of(const Truth& truth, const std::string& file) {
  const Answer answer = decode(file, Color::unchanged);
  const bool known_format = truth.format == "JPEG" || truth.format == "MPO" || truth.format == "PNG";
  const std::string_view our_format = answer.status.ok() ? image_format_name(answer.header) : "";
  if (answer.status.ok() && our_format != "JPEG" && our_format != "PNG")
    return truth.format == our_format || (truth.format == "JPEG2000" && our_format == "JPEG 2000") ||
                   (truth.format == "PPM" && our_format == "PNM") || truth.status != "ok"
               ? "another format: test_codecs.py"
               : "";
  if (truth.status != "ok") return answer.status.ok() ? laxer_because(truth, file) : "both refuse";
  if (!known_format) return answer.status.ok() ? "" : "another format, refused";
  if (!answer.status.ok()) return stricter_because(truth, file, answer.status);
  if (answer.header.height != truth.height || answer.header.width != truth.width) return "";
  return same_pixels(truth, file) ? "same pixels" : different_because(truth, file);
}

TEST(DecodeImageOracle, EveryImageNetFileEqualsPillow) {
  const std::string root = testing::data_folder();
  if (root.empty()) GTEST_SKIP() << "set HEADRACE_DATA to the folder of real files";
  int same = 0;
  for (const Truth& truth : truths_below(root, {"imagenet1k/"})) {
    const std::string file = read_file(root + "/" + truth.path);
    EXPECT_EQ(class_of(truth, file), truth.status == "ok" ? "same pixels" : "both refuse") << truth.path;
    same += truth.status == "ok";
  }
  EXPECT_EQ(same, 260);
}

TEST(DecodeImageOracle, EveryFileEqualsPillowOrBelongsToANamedClass) {
  const std::string root = testing::data_folder();
  if (root.empty()) GTEST_SKIP() << "set HEADRACE_DATA to the folder of real files";
  std::map<std::string, int> counts;
  for (const Truth& truth : truths_below(root, {"jpeg/", "images/png/"})) {
    const std::string file = read_file(root + "/" + truth.path);
    const std::clock_t begin = std::clock();  // of the processor, so that a busy machine changes nothing
    const Answer answer = decode(file, Color::rgb);
    EXPECT_LT(std::clock() - begin, 2 * CLOCKS_PER_SEC) << truth.path;
    const std::string name = class_of(truth, file);
    EXPECT_NE(name, "") << truth.path << ": we say '" << answer.status.text() << "', Pillow says "
                        << truth.status;
    ++counts[name];
  }
  for (const auto& [name, count] : counts) std::cout << "  " << count << "  " << name << "\n";
  EXPECT_GE(counts["same pixels"], 350);
}

TEST(DecodeImageOracle, OrientationEqualsPillow) {
  const std::string root = testing::data_folder();
  if (root.empty()) GTEST_SKIP() << "set HEADRACE_DATA to the folder of real files";
  int turned = 0;
  for (const Truth& truth : truths_below(root, {"imagenet1k/", "jpeg/", "images/png/"})) {
    // Pillow also looks into XMP text, which we leave alone.
    if (truth.status != "ok" || truth.path.ends_with("xmp_tags_orientation.png")) continue;
    const std::string file = read_file(root + "/" + truth.path);
    const auto header = read_image_header(std::as_bytes(std::span(file)));
    if (!header.ok()) continue;
    EXPECT_EQ(header->orientation, std::max<int64_t>(truth.orientation, 1)) << truth.path;
    turned += header->orientation > 1;
  }
  EXPECT_GT(turned, 20);
}

}  // namespace
}  // namespace headrace
