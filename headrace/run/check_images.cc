#include "headrace/run/check_images.h"

#include <cstring>

#include "headrace/codecs/image.h"

namespace headrace {
namespace {

// encoded image -> the same bytes.
class CheckImage final : public AnyOp {
 public:
  std::string_view name() const override { return "check_image"; }
  Value params() const override { return Value::Object(); }
  std::span<const std::string> bound() const override { return {}; }
  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const override {
    return std::vector<TensorSpec>{in[0]};
  }
  Status measure(std::span<const View> in, std::span<Shape> out, CallContext&) const override {
    out[0] = in[0].shape;
    return {};
  }
  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const override {
    const auto bytes = in[0].bytes();
    HEADRACE_ASSIGN(const ImageHeader header, read_image_header(bytes));
    const size_t row = static_cast<size_t>(header.width) * 3, size = row * static_cast<size_t>(header.height);
    Scratch& scratch = call.scratch();
    const Scratch::Mark mark = scratch.mark();
    const auto pixels = scratch.take<uint8_t>(size);
    if (pixels.empty()) return scratch.over_budget(size, "an image to check");
    const Status status = decode_image(bytes, header, Color::rgb, header.whole(), pixels.data(), row, scratch,
                                       &call.facts().decoder);
    scratch.reset(mark);
    if (status.ok()) std::memcpy(out[0].data, bytes.data(), bytes.size());
    return status;
  }
};

}  // namespace

Result<NodePtr> with_checked_images(const NodePtr& data) {
  const Schema& schema = data->schema;
  ProgramBuilder builder(schema, "check_images");
  std::vector<int> values;
  for (size_t i = 0; i < schema.size(); ++i) values.push_back(builder.field(static_cast<int>(i)));
  bool any = false;
  for (size_t i = 0; i < schema.size(); ++i) {
    const TensorSpec& spec = schema.specs[i];
    if (spec.dtype != DType::bytes || spec.shape.rank() != 1) continue;
    any = true;
    HEADRACE_ASSIGN(const auto made, builder.add_op(std::make_shared<CheckImage>(), {&values[i], 1}));
    values[i] = made[0];
  }
  if (!any)
    return invalid({.expected = "a field of encoded images", .got = "{" + schema.text() + "}"})
        .in_op("check_images");
  HEADRACE_ASSIGN(Program program, builder.finish(schema.names, std::move(values), schema.structure));
  return make_node(Map{std::move(program)}, {data});
}

}  // namespace headrace
