#include "headrace/formats/arrow/rows.h"

#include <algorithm>
#include <cstring>

namespace headrace::arrow {
namespace {

// First byte of the piece that is cut for some rows: bits begin at whole bytes.
uint64_t first_byte(uint64_t bit) { return bit / 8; }
uint64_t bytes_of(uint64_t bit, uint64_t count) { return count == 0 ? 0 : (bit + count + 7) / 8 - bit / 8; }

// Small enough that sums of a few of them, in bits, cannot overflow either.
Result<uint64_t> product(uint64_t a, uint64_t b, std::string_view name) {
  constexpr uint64_t kMost = uint64_t{1} << 60;
  uint64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out) || out > kMost)
    return corrupt("has too many values in column '" + std::string(name) + "'");
  return out;
}

// Unpacks booleans from one bit to one byte each.
void spread_bits(Values& values, uint64_t shift, uint64_t count) {
  const Bits bits{values.data, shift};
  const MutableBufferPtr made = HeapBuffer::make(count);
  for (uint64_t i = 0; i < count; ++i) made->mutable_data()[i] = std::byte{bits[i]};
  values.data = {made, 0, count};
  values.held += count;
}

void widen(Values& values, uint64_t count) {
  const MutableBufferPtr made = HeapBuffer::make(count * sizeof(int64_t));
  for (uint64_t i = 0; i < count; ++i) {
    const int64_t wide = load<int32_t>(values.data.data() + i * sizeof(int32_t));
    std::memcpy(made->mutable_data() + i * sizeof wide, &wide, sizeof wide);
  }
  values.data = {made, 0, made->size()};
  values.held += made->size();
}

// Numbers are read in place where aligned for their type; writers pad so that they are, others are copied.
void align(Values& values) {
  if (reinterpret_cast<uintptr_t>(values.data.data()) % size_of(values.dtype) == 0) return;
  const MutableBufferPtr made = HeapBuffer::make(values.data.size);
  if (values.data.size > 0) std::memcpy(made->mutable_data(), values.data.data(), values.data.size);
  values.data = {made, 0, made->size()};
  values.held += made->size();
}

// Lengths of the strings of `values`; 0 for null ones, whatever their offsets are.
Bytes lengths_of(const Values& values, const Bytes& texts, int text_size) {
  const MutableBufferPtr made = HeapBuffer::make(values.num_items * sizeof(int64_t));
  auto* const lengths = reinterpret_cast<uint64_t*>(made->mutable_data());
  for (uint64_t i = 0; i < values.num_items; ++i) {
    const uint64_t begin = offset_in(texts, text_size, i), end = offset_in(texts, text_size, i + 1);
    lengths[i] = values.items_present[i] ? end - begin : 0;
  }
  return {made, 0, made->size()};
}

}  // namespace

Result<RowsReader> RowsReader::make(const std::vector<Column>& columns, const Batch& batch, uint64_t first,
                                    uint64_t count, const Dictionaries& dictionaries) {
  if (!within(first, count, batch.rows()))
    return corrupt("expected rows " + std::to_string(first) + " to " + std::to_string(first + count) +
                   " of a record batch, which has " + std::to_string(batch.rows()));
  RowsReader out(columns, batch, first, count);
  out.values_.reserve(columns.size());
  out.wanted_.reserve(2 * columns.size());
  for (const Column& column : columns) HEADRACE_TRY(out.begin(column, dictionaries));
  return out;
}

Status RowsReader::begin(const Column& column, const Dictionaries& dictionaries) {
  const size_t i = values_.size();
  Values& values = values_.emplace_back();
  values.name = column.name, values.dtype = column.stored, values.item = column.item;
  values.items_each = column.items_each(), values.count = count_, values.offset_size = column.offset_size;
  values.is_view = column.is_view;
  values.of_texts = column.text_size != 0;
  if (column.dictionary) {
    const auto it = dictionaries.find(*column.dictionary);
    if (it == dictionaries.end() || !it->second)
      return corrupt("expected dictionary " + std::to_string(*column.dictionary) + " for column '" +
                     column.name + "', but the file has none");
    values.dictionary = it->second;
  }
  if (is_made_beside(i)) return {};
  if (column.has_only_nulls && !column.is_list()) return set_all_null(i);
  HEADRACE_TRY(want_present(i));
  if (count_ == 0) {  // a batch without rows may leave out its offsets
    values_[i].dtype = column.dtype;
    return wanted_.clear(), Status();
  }
  if (column.is_view) {
    HEADRACE_ASSIGN(const uint64_t begin, product(first_, sizeof(View16), column.name));
    HEADRACE_ASSIGN(const uint64_t length, product(count_, sizeof(View16), column.name));
    return want(i, Part::views, column.offsets, begin, length);
  }
  if (!column.is_list()) {
    HEADRACE_ASSIGN(values_[i].first_item, product(first_, values.items_each, column.name));
    HEADRACE_ASSIGN(values_[i].num_items, product(count_, values.items_each, column.name));
    HEADRACE_TRY(want_items_present(i));
    return want_items(i);
  }
  const auto size = static_cast<uint64_t>(column.offset_size);
  HEADRACE_ASSIGN(const uint64_t begin, product(first_, size, column.name));
  HEADRACE_ASSIGN(const uint64_t length, product(count_ + 1, size, column.name));
  return want(i, Part::offsets, column.offsets, begin, length);
}

// Nothing is stored for them.
Status RowsReader::set_all_null(size_t i) {
  const MutableBufferPtr zeros = HeapBuffer::make(bytes_of(0, count_));
  std::memset(zeros->mutable_data(), 0, zeros->size());
  values_[i].present.push_back({{zeros, 0, zeros->size()}, 0});
  values_[i].held += zeros->size();
  return {};
}

// Lengths of strings whose values are a column, too: their offsets are read once.
bool RowsReader::is_made_beside(size_t i) const {
  if (i == 0 || i >= columns_->size() || count_ == 0) return false;
  const Column &column = (*columns_)[i], &texts = (*columns_)[i - 1];
  return column.is_lengths && texts.text_size != 0 && !texts.is_lengths && texts.texts == column.texts;
}

Status RowsReader::want_present(size_t i) {
  const Column& column = (*columns_)[i];
  for (const NodeAt& at : column.rows) {
    HEADRACE_ASSIGN(const Node node, batch_->node(at.node));
    if (node.rows != batch_->rows())
      return corrupt({.expected = std::to_string(batch_->rows()) + " rows in column '" + column.name + "'",
                      .got = std::to_string(node.rows)});
    if (node.nulls == 0) continue;
    values_[i].present.push_back({{}, first_ % 8});
    HEADRACE_TRY(want(i, Part::present, at.validity, first_byte(first_), bytes_of(first_, count_)));
  }
  for (const uint32_t between : column.between) {
    HEADRACE_ASSIGN(const Node node, batch_->node(between));
    if (node.nulls != 0)
      return Status(Code::unavailable,
                    "cannot read null lists inside the lists of column '" + column.name + "'");
  }
  return {};
}

Status RowsReader::want_items_present(size_t i) {
  const Column& column = (*columns_)[i];
  if (!column.items) return {};
  HEADRACE_ASSIGN(const Node node, batch_->node(column.items->node));
  if (node.nulls == 0) return {};
  const uint64_t first = values_[i].first_item, count = values_[i].num_items;
  values_[i].items_present.shift = first % 8;
  return want(i, Part::items_present, column.items->validity, first_byte(first), bytes_of(first, count));
}

// The values themselves.
Status RowsReader::want_items(size_t i) {
  const Column& column = (*columns_)[i];
  const uint64_t first = values_[i].first_item, count = values_[i].num_items, size = size_of(column.stored);
  if (column.bits) return want(i, Part::data, column.values, first_byte(first), bytes_of(first, count));
  HEADRACE_ASSIGN(const uint64_t begin, product(first, size, column.name));
  HEADRACE_ASSIGN(const uint64_t length, product(count, size, column.name));
  return want(i, Part::data, column.values, begin, length);
}

// Offsets of the strings. If there are no strings, nothing needs to be stored, not even offsets.
Status RowsReader::want_texts(size_t i) {
  const Column& column = (*columns_)[i];
  const auto size = static_cast<uint64_t>(column.text_size);
  if (values_[i].num_items == 0) {
    const MutableBufferPtr zero = HeapBuffer::make(size);
    std::memset(zero->mutable_data(), 0, size);
    return take_texts(i, {zero, 0, size});
  }
  HEADRACE_ASSIGN(const uint64_t begin, product(values_[i].first_item, size, column.name));
  HEADRACE_ASSIGN(const uint64_t length, product(values_[i].num_items + 1, size, column.name));
  return want(i, Part::texts, column.texts, begin, length);
}

// For each buffer behind the views, the range between the first and the last byte that these rows use.
Status RowsReader::want_behind(size_t i) {
  const Column& column = (*columns_)[i];
  Values& values = values_[i];
  struct Span {
    uint64_t begin = ~uint64_t{0}, end = 0;
  };
  std::vector<Span> spans(batch_->num_behind(column.offsets.views));
  uint64_t& sum = bytes_of_views_;  // of all columns
  for (uint64_t row = 0; row < count_; ++row) {
    if (!values.is_present(row)) continue;  // its view is ignored
    const View16 view = values.view(row);
    const bool is_right =
        view.length >= 0 && (view.is_short() || (view.offset >= 0 && view.buffer >= 0 &&
                                                 static_cast<size_t>(view.buffer) < spans.size()));
    if (!is_right)
      return corrupt({.expected = "a view with a length >= 0 and one of " + std::to_string(spans.size()) +
                                  " buffers in column '" + column.name + "'",
                      .got = "length " + std::to_string(view.length) + " and buffer " +
                             std::to_string(view.buffer) + " in row " + std::to_string(first_ + row)});
    sum += static_cast<uint64_t>(view.length);
    if (view.is_short()) continue;
    Span& span = spans[static_cast<size_t>(view.buffer)];
    const auto begin = static_cast<uint64_t>(view.offset);
    span.begin = std::min(span.begin, begin);
    span.end = std::max(span.end, begin + static_cast<uint64_t>(view.length));
  }
  // Views may share bytes, so a small file could require much memory.
  if (sum > kFree && sum / kMaxRatio > batch_->body())
    return corrupt({.expected = "views of at most " + std::to_string(kMaxRatio) +
                                " times the bytes of their batch in column '" + column.name + "'",
                    .got = std::to_string(sum) + " bytes"});
  HEADRACE_ASSIGN(const uint32_t views, batch_->buffer(column.offsets));
  values.behind.resize(spans.size());
  for (size_t k = 0; k < spans.size(); ++k) {
    if (spans[k].begin >= spans[k].end) continue;
    values.behind[k].begin = spans[k].begin;
    const auto buffer = static_cast<uint32_t>(views + 1 + k);
    wanted_.push_back({{buffer, spans[k].begin, spans[k].end - spans[k].begin}, i, Part::behind, k});
  }
  return {};
}

Status RowsReader::want(size_t column, Part part, BufferAt at, uint64_t offset, uint64_t length) {
  HEADRACE_ASSIGN(const uint32_t buffer, batch_->buffer(at));
  wanted_.push_back({{buffer, offset, length}, column, part});
  return {};
}

Status RowsReader::take(std::vector<Bytes> bytes) {
  const std::vector<Wanted> answered = std::exchange(wanted_, {});
  std::vector<size_t> presents(values_.size());
  for (size_t i = 0; i < answered.size(); ++i) {
    Values& values = values_[answered[i].column];
    switch (answered[i].part) {
      case Part::present: values.present[presents[answered[i].column]++].bytes = std::move(bytes[i]); break;
      case Part::items_present: values.items_present.bytes = std::move(bytes[i]); break;
      case Part::offsets: values.offsets = std::move(bytes[i]); break;
      case Part::texts: break;  // below, once the bitmap is known
      case Part::views: values.views = std::move(bytes[i]); break;
      case Part::behind: values.behind[answered[i].behind].bytes = std::move(bytes[i]); break;
      case Part::data:
        values.data = std::move(bytes[i]);
        settle(answered[i].column);
        break;
    }
  }
  for (size_t i = 0; i < answered.size(); ++i) {
    const size_t column = answered[i].column;
    if (answered[i].part == Part::texts) HEADRACE_TRY(take_texts(column, bytes[i]));
    if (answered[i].part == Part::views) HEADRACE_TRY(want_behind(column));
    if (answered[i].part != Part::offsets) continue;
    HEADRACE_TRY(check_offsets(column));
    if ((*columns_)[column].has_only_nulls) {
      HEADRACE_TRY(check_empty(column));
      continue;
    }
    HEADRACE_TRY(want_items_present(column));
    HEADRACE_TRY(values_[column].of_texts ? want_texts(column) : want_items(column));
  }
  return {};
}

// Offsets of all strings become lengths, or offsets of the rows' bytes, or both.
Status RowsReader::take_texts(size_t i, const Bytes& texts) {
  const Column& column = (*columns_)[i];
  Values& values = values_[i];
  const auto begin = [&](uint64_t text) { return offset_in(texts, column.text_size, text); };
  if (texts.size != (values.num_items + 1) * static_cast<uint64_t>(column.text_size))
    return internal_error("expected an offset for each string, and the end of the last one");
  for (uint64_t text = 0; text < values.num_items; ++text)
    if (begin(text + 1) < begin(text))
      return corrupt("expected increasing string offsets in column '" + column.name + "', string " +
                     std::to_string(values.first_item + text) + " goes from " + std::to_string(begin(text)) +
                     " to " + std::to_string(begin(text + 1)));
  const auto take_lengths = [&](Values& out) {
    out.data = lengths_of(values, texts, column.text_size);
    out.held += out.data.size;
  };
  if (column.is_lengths) return take_lengths(values), Status();
  if (is_made_beside(i + 1)) {
    Values& beside = values_[i + 1];
    beside.present = values.present, beside.items_present = values.items_present;
    beside.offsets = values.offsets;
    take_lengths(beside);
  }
  const MutableBufferPtr made = HeapBuffer::make((count_ + 1) * sizeof(uint64_t));
  auto* const rows = reinterpret_cast<uint64_t*>(made->mutable_data());
  for (uint64_t row = 0; row <= count_; ++row) rows[row] = begin(values.offset(row) - values.offset(0));
  values.held += made->size();
  if (values.items_present.bytes.buffer) {
    values.lists = std::exchange(values.offsets, {}), values.list_size = values.offset_size;
    values.texts = texts, values.text_size = column.text_size;
  }
  values.offsets = {made, 0, made->size()}, values.offset_size = sizeof(uint64_t);
  values.first_item = rows[0], values.num_items = rows[count_] - rows[0];
  return want_items(i);
}

// One pass: offsets never decrease. Whether the last is inside the values is checked when these are cut.
Status RowsReader::check_offsets(size_t i) {
  const Values& values = values_[i];
  uint64_t last = values.offset(0);
  for (uint64_t row = 1; row <= count_; ++row) {
    const uint64_t next = values.offset(row);
    if (next < last)
      return corrupt("expected increasing offsets in column '" + std::string(values.name) + "', row " +
                     std::to_string(first_ + row - 1) + " goes from " + std::to_string(last) + " to " +
                     std::to_string(next));
    last = next;
  }
  HEADRACE_ASSIGN(values_[i].first_item, product(values.offset(0), values.items_each, values.name));
  HEADRACE_ASSIGN(values_[i].num_items, product(last - values.offset(0), values.items_each, values.name));
  return {};
}

// Lists of nulls are empty: there is nothing else that they could be.
Status RowsReader::check_empty(size_t i) {
  if (values_[i].num_items == 0) return {};
  return corrupt({.expected = "empty lists in column '" + std::string(values_[i].name) +
                              "', whose items have the null type",
                  .got = "items"});
}

void RowsReader::settle(size_t i) {
  const Column& column = (*columns_)[i];
  Values& values = values_[i];
  if (column.bits) spread_bits(values, values_[i].first_item % 8, values_[i].num_items);
  if (column.stored != column.dtype) widen(values, values_[i].num_items);
  values.dtype = column.dtype;
  align(values);
}

Result<std::vector<uint32_t>> buffers_of(const std::vector<Column>& columns, const Batch& batch) {
  std::vector<BufferAt> all;
  std::vector<uint32_t> out;
  for (const Column& column : columns) {
    if (column.has_only_nulls && !column.is_list()) continue;
    for (const NodeAt& node : column.rows) {
      HEADRACE_ASSIGN(const Node stated, batch.node(node.node));
      if (stated.nulls != 0) all.push_back(node.validity);
    }
    if (column.has_only_nulls) {
      all.push_back(column.offsets);
      continue;
    }
    if (column.items) all.push_back(column.items->validity);
    if (column.is_list()) all.push_back(column.offsets);
    if (column.text_size != 0) all.push_back(column.texts);
    if (column.is_view) {
      HEADRACE_ASSIGN(const uint32_t views, batch.buffer(column.offsets));
      for (uint64_t k = 0; k <= batch.num_behind(column.offsets.views); ++k)
        out.push_back(views + static_cast<uint32_t>(k));
    } else if (!column.is_lengths) {
      all.push_back(column.values);
    }
  }
  for (const BufferAt at : all) {
    HEADRACE_ASSIGN(const uint32_t buffer, batch.buffer(at));
    out.push_back(buffer);
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace headrace::arrow
