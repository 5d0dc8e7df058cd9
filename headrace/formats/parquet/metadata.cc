#include "headrace/formats/parquet/metadata.h"

#include <algorithm>

namespace headrace::parquet {
namespace {

constexpr size_t kMostElements = 1 << 16;

uint64_t count_of(Thrift& in, int64_t value) {
  if (value < 0) in.fail("a negative number");
  return value < 0 ? 0 : static_cast<uint64_t>(value);
}

Physical physical_of(Thrift& in, int32_t value) {
  if (value < 0 || value > 7) in.fail("an unknown physical type");
  return static_cast<Physical>(value & 7);
}

Encoding encoding_of(Thrift& in, int32_t value) {
  if (value < 0 || value > 9 || value == 1) in.fail("an unknown encoding");
  return static_cast<Encoding>(value);
}

// The unit of a time or a timestamp: 1 milliseconds, 2 microseconds, 3 nanoseconds.
int unit_of(Thrift& in, Thrift::Fields& outer) {
  int unit = 0;
  if (!outer.structure()) return unit;
  for (Thrift::Fields fields(in); fields.next(); fields.skip()) unit = fields.id();
  return unit;
}

void read_logical_type(Thrift& in, SchemaElement& out) {
  for (Thrift::Fields kind(in); kind.next();) {
    const int id = kind.id();
    if (!kind.structure()) return;
    for (Thrift::Fields fields(in); fields.next();) {
      if (id == 5 && fields.id() == 1)
        out.scale = fields.small();
      else if (id == 5 && fields.id() == 2)
        out.precision = fields.small();
      else if (id == 8 && fields.id() == 1)
        out.is_utc = fields.flag();
      else if (id == 10 && fields.id() == 1)
        out.bits = fields.small();
      else if (id == 10 && fields.id() == 2)
        out.is_signed = fields.flag();
      else if ((id == 7 || id == 8) && fields.id() == 2)
        out.unit = unit_of(in, fields);
      else
        fields.skip();
    }
    switch (id) {
      case 1:
      case 4:
      case 12: out.meaning = Meaning::text; break;
      case 2: out.meaning = Meaning::map; break;
      case 3: out.meaning = Meaning::list; break;
      case 5: out.meaning = Meaning::decimal; break;
      case 6: out.meaning = Meaning::date; break;
      case 7: out.meaning = out.unit == 1 ? Meaning::time_ms : Meaning::time; break;
      case 8: out.meaning = Meaning::timestamp; break;
      case 10: out.meaning = Meaning::integer; break;
      case 11: out.meaning = Meaning::null; break;
      case 13: out.meaning = Meaning::bson; break;
      case 14: out.meaning = Meaning::uuid; break;
      case 15: out.meaning = Meaning::f16; break;
      default: break;  // variants, geometries, future types: as stored
    }
  }
}

void set_converted(SchemaElement& out, int32_t converted) {
  const auto integer = [&](int bits, bool is_signed) {
    out.meaning = Meaning::integer, out.bits = bits, out.is_signed = is_signed;
  };
  switch (converted) {
    case 0:
    case 4:
    case 19: out.meaning = Meaning::text; break;
    case 1:
    case 2: out.meaning = Meaning::map; break;
    case 3: out.meaning = Meaning::list; break;
    case 5: out.meaning = Meaning::decimal; break;
    case 6: out.meaning = Meaning::date; break;
    case 7: out.meaning = Meaning::time_ms, out.unit = 1; break;
    case 8: out.meaning = Meaning::time, out.unit = 2; break;
    case 9:
    case 10: out.meaning = Meaning::timestamp, out.unit = converted == 9 ? 1 : 2, out.is_utc = true; break;
    case 11: integer(8, false); break;
    case 12: integer(16, false); break;
    case 13: integer(32, false); break;
    case 14: integer(64, false); break;
    case 15: integer(8, true); break;
    case 16: integer(16, true); break;
    case 17: integer(32, true); break;
    case 18: integer(64, true); break;
    case 20: out.meaning = Meaning::bson; break;
    case 21: out.meaning = Meaning::interval; break;
    default: break;
  }
}

SchemaElement read_element(Thrift& in) {
  SchemaElement out;
  std::optional<int32_t> converted;
  bool has_name = false;
  int32_t scale = 0, precision = 0;
  for (Thrift::Fields fields(in); fields.next();) switch (fields.id()) {
      case 1: out.type = physical_of(in, fields.small()); break;
      case 2: out.length = fields.small(); break;
      case 3: {
        const int32_t value = fields.small();
        if (value < 0 || value > 2) in.fail("an unknown repetition");
        out.repetition = static_cast<Repetition>(value);
        break;
      }
      case 4: out.name = fields.text(), has_name = true; break;
      case 5: out.children = static_cast<uint32_t>(count_of(in, fields.small())); break;
      case 6: converted = fields.small(); break;
      case 7: scale = fields.small(); break;
      case 8: precision = fields.small(); break;
      case 10:
        if (fields.structure()) read_logical_type(in, out);
        break;
      default: fields.skip();
    }
  if (!has_name) in.fail("a column without a name");
  if (out.meaning == Meaning::none && converted)
    set_converted(out, *converted), out.scale = scale, out.precision = precision;
  return out;
}

Statistics read_statistics(Thrift& in) {
  Statistics out;
  for (Thrift::Fields fields(in); fields.next();) switch (fields.id()) {
      case 3: out.nulls = static_cast<int64_t>(count_of(in, fields.integer())); break;
      case 5: out.most = fields.text(); break;
      case 6: out.least = fields.text(); break;
      default: fields.skip();  // 1 and 2 have an undefined sort order
    }
  return out;
}

void read_column_metadata(Thrift& in, Chunk& out) {
  uint64_t data = 0, dictionary = 0, index = 0;
  unsigned seen = 0;
  for (Thrift::Fields fields(in); fields.next();) {
    seen |= fields.id() < 32 ? 1u << fields.id() : 0;
    switch (fields.id()) {
      case 1: out.type = physical_of(in, fields.small()); break;
      case 4: {
        const int32_t codec = fields.small();
        if (codec < 0 || codec >= kCodecs) in.fail("an unknown codec");
        out.codec = static_cast<Codec>(codec);
        break;
      }
      case 5: out.values = count_of(in, fields.integer()); break;
      case 6: out.unpacked = count_of(in, fields.integer()); break;
      case 7: out.size = count_of(in, fields.integer()); break;
      case 9: data = count_of(in, fields.integer()); break;
      case 10: index = count_of(in, fields.integer()); break;
      case 11: dictionary = count_of(in, fields.integer()); break;
      case 12:
        if (fields.structure()) out.statistics = read_statistics(in);
        break;
      default: fields.skip();
    }
  }
  constexpr unsigned kNeeded = 1u << 1 | 1u << 4 | 1u << 5 | 1u << 7 | 1u << 9;
  if ((seen & kNeeded) != kNeeded)
    in.fail("a column without type, codec, number of values, size or position");
  out.offset = data;  // some writers store 0 for a missing dictionary or index
  if (dictionary > 0 && dictionary < out.offset) out.offset = dictionary;
  if (index > 0 && index < out.offset) out.offset = index;
}

Chunk read_chunk(Thrift& in) {
  Chunk out;
  bool has_metadata = false;
  for (Thrift::Fields fields(in); fields.next();) switch (fields.id()) {
      case 1:
        if (!fields.text().empty()) in.fail("a column in another file");
        break;
      case 3:
        if (fields.structure()) read_column_metadata(in, out), has_metadata = true;
        break;
      case 4: out.index_offset = count_of(in, fields.integer()); break;
      case 5: out.index_size = count_of(in, fields.integer()); break;
      case 8:
      case 9: out.is_encrypted = true; [[fallthrough]];
      default: fields.skip();
    }
  if (!has_metadata && !out.is_encrypted) in.fail("a column without metadata");
  if (out.index_size == 0) out.index_offset = 0;
  return out;
}

// Memory is allocated element by element: each has taken bytes of the input.
RowGroup read_group(Thrift& in, size_t leaves) {
  RowGroup out;
  bool has_rows = false;
  for (Thrift::Fields fields(in); fields.next();) switch (fields.id()) {
      case 1: {
        const uint64_t count = fields.list(Thrift::kStruct);
        if (in.ok() && count != leaves)
          in.fail("a row group whose number of columns differs from the schema");
        out.chunks.clear();
        for (uint64_t i = 0; i < count && in.ok(); ++i) out.chunks.push_back(read_chunk(in));
        break;
      }
      case 3: out.rows = count_of(in, fields.integer()), has_rows = true; break;
      default: fields.skip();
    }
  if (!has_rows) in.fail("a row group without a number of rows");
  if (in.ok() && out.chunks.size() != leaves) in.fail("a row group without columns");
  return out;
}

void read_pair(Thrift& in, Footer& out) {
  std::string_view key, value;
  for (Thrift::Fields fields(in); fields.next();) {
    if (fields.id() == 1)
      key = fields.text();
    else if (fields.id() == 2)
      value = fields.text();
    else
      fields.skip();
  }
  out.about.emplace_back(key, value);
}

}  // namespace

std::string_view Footer::find(std::string_view key) const {
  const auto it = std::ranges::find(about, key, &std::pair<std::string_view, std::string_view>::first);
  return it == about.end() ? std::string_view() : it->second;
}

Result<Footer> read_footer(std::span<const std::byte> bytes) {
  Footer out;
  Thrift in(bytes);
  size_t leaves = 0;
  for (Thrift::Fields fields(in); fields.next();) switch (fields.id()) {
      case 2: {
        const uint64_t count = fields.list(Thrift::kStruct);
        if (count > kMostElements) in.fail("a schema of more than 65536 elements");
        out.schema.clear(), leaves = 0;
        for (uint64_t i = 0; i < count && in.ok(); ++i) {
          out.schema.push_back(read_element(in));
          leaves += out.schema.back().type.has_value();
        }
        break;
      }
      case 4: {
        if (out.schema.empty()) in.fail("row groups before the schema");
        const uint64_t count = fields.list(Thrift::kStruct);
        out.groups.clear();
        for (uint64_t i = 0; i < count && in.ok(); ++i) out.groups.push_back(read_group(in, leaves));
        break;
      }
      case 5: {
        const uint64_t count = fields.list(Thrift::kStruct);
        for (uint64_t i = 0; i < count && in.ok(); ++i) read_pair(in, out);
        break;
      }
      default: fields.skip();
    }
  HEADRACE_TRY(in.check("a footer"));
  if (out.schema.empty()) return corrupt({.expected = "a schema in the footer", .got = "none"});
  return out;
}

namespace {

void read_dictionary_header(Thrift& in, PageHeader& out) {
  for (Thrift::Fields fields(in); fields.next();) switch (fields.id()) {
      case 1: out.values = count_of(in, fields.small()); break;
      case 2: out.encoding = encoding_of(in, fields.small()); break;
      default: fields.skip();
    }
}

void read_data_header(Thrift& in, PageHeader& out) {
  for (Thrift::Fields fields(in); fields.next();) switch (fields.id()) {
      case 1: out.values = count_of(in, fields.small()); break;
      case 2: out.encoding = encoding_of(in, fields.small()); break;
      case 3: out.def = encoding_of(in, fields.small()); break;
      case 4: out.rep = encoding_of(in, fields.small()); break;
      default: fields.skip();
    }
}

void read_data_header_v2(Thrift& in, PageHeader& out) {
  for (Thrift::Fields fields(in); fields.next();) switch (fields.id()) {
      case 1: out.values = count_of(in, fields.small()); break;
      case 3: out.rows = count_of(in, fields.small()); break;
      case 4: out.encoding = encoding_of(in, fields.small()); break;
      case 5: out.def_bytes = count_of(in, fields.small()); break;
      case 6: out.rep_bytes = count_of(in, fields.small()); break;
      case 7: out.is_packed = fields.flag(); break;
      default: fields.skip();
    }
}

}  // namespace

Result<PageHeader> read_page_header(std::span<const std::byte> bytes, bool* is_cut) {
  PageHeader out;
  Thrift in(bytes);
  unsigned seen = 0;
  for (Thrift::Fields fields(in); fields.next();) {
    seen |= fields.id() < 32 ? 1u << fields.id() : 0;
    switch (fields.id()) {
      case 1: {
        const int32_t kind = fields.small();
        if (kind < 0 || kind > 3) in.fail("an unknown page type");
        out.kind = static_cast<uint8_t>(kind);
        break;
      }
      case 2: out.unpacked = count_of(in, fields.small()); break;
      case 3: out.packed = count_of(in, fields.small()); break;
      case 4: out.checksum = static_cast<uint32_t>(fields.small()); break;
      case 5:
        if (fields.structure()) read_data_header(in, out);
        break;
      case 7:
        if (fields.structure()) read_dictionary_header(in, out);
        break;
      case 8:
        if (fields.structure()) read_data_header_v2(in, out);
        break;
      default: fields.skip();
    }
  }
  constexpr unsigned kHeaders[] = {1u << 5, 0, 1u << 7, 1u << 8};
  const unsigned needed = 1u << 1 | 1u << 2 | 1u << 3 | kHeaders[out.kind & 3];
  if (in.ok() && (seen & needed) != needed) in.fail("no type, size or number of values");
  if (is_cut) *is_cut = in.is_cut();
  HEADRACE_TRY(in.check("a page header"));
  out.length = in.position();
  return out;
}

Result<std::vector<PagePlace>> read_offset_index(std::span<const std::byte> bytes) {
  std::vector<PagePlace> out;
  Thrift in(bytes);
  for (Thrift::Fields fields(in); fields.next();) {
    if (fields.id() != 1) {
      fields.skip();
      continue;
    }
    const uint64_t count = fields.list(Thrift::kStruct);
    for (uint64_t i = 0; i < count && in.ok(); ++i) {
      PagePlace place;
      unsigned seen = 0;
      for (Thrift::Fields page(in); page.next();) {
        seen |= page.id() < 32 ? 1u << page.id() : 0;
        switch (page.id()) {
          case 1: place.offset = count_of(in, page.integer()); break;
          case 2: place.size = count_of(in, page.small()); break;
          case 3: place.first_row = count_of(in, page.integer()); break;
          default: page.skip();
        }
      }
      constexpr unsigned kNeeded = 1u << 1 | 1u << 2 | 1u << 3;
      if ((seen & kNeeded) != kNeeded || place.size == 0)
        in.fail("a page without position, size or first row");
      out.push_back(place);
    }
  }
  HEADRACE_TRY(in.check("a page index"));
  return out;
}

}  // namespace headrace::parquet
