#include "headrace/run/work/pack_body.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace headrace {

RowStatus PackBody::run(Ticket& ticket, Part&, Evaluator& evaluator) const {
  ticket.row_outputs[0].clear();
  const std::vector<Sample>& pieces = ticket.item.samples;
  Sample out{pieces[0].id, pieces[0].shown_id, {}, nullptr};
  out.id.valid = std::ranges::any_of(pieces, [](const Sample& piece) { return piece.id.valid; });
  for (size_t f = 0; f < pack_.packed.size(); ++f)
    if (Status status = pack_field(pieces, f, out, evaluator); !status.ok()) return {std::move(status), 0};
  return {follow(std::move(out), 0, evaluator, [] { return "a packed row"; }, ticket.row_outputs[0]), 0};
}

// The values, then the sequence number of each value (from 1 on), then its position in the sequence; padding
// is 0 in both.
Status PackBody::pack_field(std::span<const Sample> pieces, size_t field, Sample& out,
                            Evaluator& evaluator) const {
  const DType dtype = pieces[0].fields[field].dtype;
  const auto length = static_cast<int64_t>(pack_.lengths[field]);
  HEADRACE_ASSIGN(Tensor values, evaluator.allocate({dtype, {length}}, Use::ragged));
  HEADRACE_ASSIGN(Tensor segments, evaluator.allocate({DType::i32, {length}}, Use::ragged));
  HEADRACE_ASSIGN(Tensor positions, evaluator.allocate({DType::i32, {length}}, Use::ragged));
  const auto data = [](const Tensor& t) { return const_cast<Buffer*>(t.buffer.get())->mutable_data(); };
  std::byte* value = data(values);
  auto* segment = reinterpret_cast<int32_t*>(data(segments));
  auto* position = reinterpret_cast<int32_t*>(data(positions));
  int64_t used = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    const View piece = pieces[i].fields[field].view();
    const int64_t n = piece.shape[0];
    if (n > 0)
      std::memcpy(value + static_cast<size_t>(used) * size_of(dtype), piece.data, piece.size_bytes());
    std::fill_n(segment + used, n, static_cast<int32_t>(i + 1));
    std::iota(position + used, position + used + n, 0);
    used += n;
  }
  const std::vector<std::byte> fill = element_bytes(pack_.fill[field], dtype);
  for (int64_t i = used; i < length; ++i)
    std::memcpy(value + static_cast<size_t>(i) * fill.size(), fill.data(), fill.size());
  std::fill(segment + used, segment + length, 0);
  std::fill(position + used, position + length, 0);
  out.fields.push_back(std::move(values));
  out.fields.push_back(std::move(segments));
  out.fields.push_back(std::move(positions));
  return {};
}

}  // namespace headrace
