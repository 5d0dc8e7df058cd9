#include "headrace/ops/decode_resampled.h"

#include <cstring>
#include <new>
#include <type_traits>

#include "headrace/kernels/affine.h"
#include "headrace/ops/decode_image.h"
#include "headrace/ops/geometry.h"
#include "headrace/ops/normalize.h"
#include "headrace/ops/row_sinks.h"

namespace headrace {
namespace {

static_assert(std::is_trivially_copyable_v<ImageHeader>);
ImageHeader read_header(const View& view) {
  ImageHeader out;
  std::memcpy(&out, view.data, sizeof(out));
  return out;
}

class ReadImage final : public AnyOp {
 public:
  explicit ReadImage(ImageDecoding decoding) : decoding_(decoding) {}
  std::string_view name() const override { return "decode_image"; }
  Value params() const override { return Value::Object{{"only", "header"}}; }
  std::span<const std::string> bound() const override { return {}; }
  bool counted() const override { return false; }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec>) const override {
    return std::vector<TensorSpec>{header_spec(), geometry_spec()};
  }
  Status measure(std::span<const View>, std::span<Shape>, CallContext&) const override { return {}; }
  Status run(std::span<const View> in, std::span<const MutView> out, CallContext&) const override {
    const auto header = decoding_.header(in[0].bytes());
    if (!header.ok()) return header.status().in_op("decode_image");
    std::memcpy(out[0].data, &*header, sizeof(ImageHeader));
    const Shape shape = decoding_.shape(*header);
    write_geometry(Geometry::of(shape[0], shape[1]), out[1]);
    return {};
  }

 private:
  ImageDecoding decoding_;
};

class Place final : public AnyOp {
 public:
  explicit Place(OpPtr op) : op_(std::move(op)) {}
  std::string_view name() const override { return op_->name(); }
  Value params() const override { return op_->params(); }
  std::span<const std::string> bound() const override { return op_->bound(); }
  bool random() const override { return op_->random(); }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec>) const override {
    return std::vector<TensorSpec>{geometry_spec()};
  }
  Status measure(std::span<const View>, std::span<Shape>, CallContext&) const override { return {}; }
  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const override {
    HEADRACE_ASSIGN(const Geometry placed, op_->place(read_geometry(in[0]), in.subspan(1), call.key()));
    write_geometry(placed, out[0]);
    return {};
  }

 private:
  OpPtr op_;
};

// The masks of an image that is placed: cut from pixels as usual.
class Follow final : public AnyOp {
 public:
  Follow(const OpPtr& op, bool counted) : op_(op->of_masks() ? op->of_masks() : op), counted_(counted) {}
  std::string_view name() const override { return op_->name(); }
  Value params() const override { return op_->params(); }
  std::span<const std::string> bound() const override { return op_->bound(); }
  bool random() const override { return op_->random(); }
  bool counted() const override { return counted_; }
  bool reads_part() const override { return op_->reads_part(); }
  Result<Box> reads(const Shape& mask, const Key& key) const override { return op_->reads(mask, key); }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const override {
    return op_->infer(in.subspan(1));
  }
  Status measure(std::span<const View> in, std::span<Shape> out, CallContext& call) const override {
    HEADRACE_TRY(check_sizes(in, out.size()));
    return op_->measure(in.subspan(1), out, call);
  }
  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const override {
    HEADRACE_TRY(check_sizes(in, out.size()));
    return op_->run(in.subspan(1), out, call);
  }

 private:
  Status check_sizes(std::span<const View> in, size_t masks) const {
    const Geometry image = read_geometry(in[0]);
    for (const View& mask : in.subspan(1, masks))
      if (mask.shape[0] != image.height() || mask.shape[1] != image.width())
        return invalid({.expected = "inputs of one height and width",
                        .got = Shape({image.height(), image.width()}).text() + " and " + mask.shape.text()})
            .in_op(name());
    return {};
  }

  OpPtr op_;
  bool counted_;
};

// The form in which an image leaves: pixels, or what `normalize` makes of them.
struct Form {
  OpPtr normalize;
  Normalization numbers;

  Result<TensorSpec> infer(const TensorSpec& image) const {
    if (!normalize) return image;
    HEADRACE_ASSIGN(const std::vector<TensorSpec> specs, normalize->infer(std::span(&image, 1)));
    return specs[0];
  }
};

class DecodeResampled final : public AnyOp {
 public:
  DecodeResampled(OpPtr decode, ImageDecoding decoding, std::vector<Form> forms,
                  std::shared_ptr<PointStore> store = nullptr)
      : decode_(std::move(decode)), decoding_(decoding), forms_(std::move(forms)), store_(std::move(store)) {}

  std::string_view name() const override { return "decode_resampled"; }
  Value params() const override {
    Value out = decode_->params();
    for (size_t i = 0; i < forms_.size(); ++i)
      if (forms_[i].normalize)
        out.set("normalize" + (forms_.size() > 1 ? std::to_string(i) : ""), forms_[i].normalize->params());
    return out;
  }
  std::span<const std::string> bound() const override { return {}; }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const override {
    HEADRACE_ASSIGN(const std::vector<TensorSpec> images, decode_->infer(in.first(1)));
    std::vector<TensorSpec> out;
    for (const Form& form : forms_) {
      HEADRACE_ASSIGN(out.emplace_back(), form.infer(images[0]));
    }
    return out;
  }

  Status measure(std::span<const View> in, std::span<Shape> out, CallContext&) const override {
    const ImageHeader header = read_header(in[1]);
    for (size_t i = 0; i < out.size(); ++i) {
      HEADRACE_ASSIGN(const TensorSpec spec, forms_[i].infer({DType::u8, shape(header, in[2 + i])}));
      out[i] = spec.shape;
    }
    return {};
  }

  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const override {
    const Scratch::Mark mark = call.scratch().mark();
    Status status = decode(in, out, call);
    call.scratch().reset(mark);
    return std::move(status).in_op("decode_image");
  }

  const std::vector<Form>& forms() const { return forms_; }
  const OpPtr& decode_image() const { return decode_; }
  const ImageDecoding& decoding() const { return decoding_; }

 private:
  Shape shape(const ImageHeader& header, const View& geometry) const {
    return read_geometry(geometry).shape(decoded_channels(header, decoding_.color));
  }

  union AnySink {
    PixelSink pixels;
    NormalizingSink normalizing;
  };

  Status decode(std::span<const View> in, std::span<const MutView> out, CallContext& call) const {
    Scratch& scratch = call.scratch();
    const ImageHeader header = read_header(in[1]);
    const auto pictures = scratch.take<Resampled>(out.size());
    const auto sinks = scratch.take<RowSink*>(out.size());
    const auto memory = scratch.take(out.size() * sizeof(AnySink));
    if (pictures.empty() || sinks.empty() || memory.empty())
      return scratch.over_budget(out.size() * sizeof(AnySink), "pictures of an image");
    for (size_t i = 0; i < out.size(); ++i) {
      const Geometry geometry = read_geometry(in[2 + i]);
      const Shape image = geometry.shape(decoded_channels(header, decoding_.color));
      if (image.count() != out[i].shape.count())
        return internal_error("an image " + image.text() + " for memory of " + out[i].shape.text());
      pictures[i] = geometry.picture();
      pictures[i].scale_in_dct = decoding_.scale_in_dct;
      void* at = memory.data() + i * sizeof(AnySink);
      if (forms_[i].normalize)
        sinks[i] = new (at) NormalizingSink(forms_[i].numbers.kernel(image), out[i].data);
      else
        sinks[i] = new (at) PixelSink(image[1], image[2], out[i].as<uint8_t>());
    }
    Status status = decode_resampled(in[0].bytes(), header, decoding_.color, decoding_.upright, pictures,
                                     sinks, scratch, store_.get(), &call.facts().decoder);
    kernels::finish_streaming();  // of the sinks that normalise
    return status;
  }

  OpPtr decode_;
  ImageDecoding decoding_;
  std::vector<Form> forms_;
  std::shared_ptr<PointStore> store_;
};

}  // namespace

TensorSpec header_spec() { return {DType::u8, {sizeof(ImageHeader)}}; }

bool decodes_fast(const AnyOp& op) { return fast_decoding(op).has_value(); }

OpPtr make_read_image(const OpPtr& decode) { return std::make_shared<ReadImage>(*fast_decoding(*decode)); }

OpPtr make_place(const OpPtr& op) { return std::make_shared<Place>(op); }

OpPtr make_follow(const OpPtr& op, bool counted) { return std::make_shared<Follow>(op, counted); }

OpPtr make_decode_resampled(const OpPtr& decode, size_t images) {
  return std::make_shared<DecodeResampled>(decode, *fast_decoding(*decode), std::vector<Form>(images));
}

bool can_normalize(const AnyOp& op, size_t i, const AnyOp& normalize) {
  const auto* decode = dynamic_cast<const DecodeResampled*>(&op);
  return decode && !decode->forms()[i].normalize && normalization_of_u8(normalize);
}

OpPtr with_normalize(const OpPtr& op, size_t i, const OpPtr& normalize) {
  const auto& decode = dynamic_cast<const DecodeResampled&>(*op);
  std::vector<Form> forms = decode.forms();
  forms[i] = {normalize, *normalization_of_u8(*normalize)};
  return std::make_shared<DecodeResampled>(decode.decode_image(), decode.decoding(), std::move(forms));
}

OpPtr with_point_store(const OpPtr& op, std::shared_ptr<PointStore> store) {
  const auto* decode = dynamic_cast<const DecodeResampled*>(op.get());
  if (!decode) return op;
  return std::make_shared<DecodeResampled>(decode->decode_image(), decode->decoding(), decode->forms(),
                                           std::move(store));
}

}  // namespace headrace
