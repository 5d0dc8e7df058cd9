// C functions in C++ pipelines: results, errors, and what a plan stores of them.
#include "headrace/ops/c_function.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headrace/core/random/key.h"
#include "headrace/graph/node.h"
#include "headrace/graph/program.h"
#include "headrace/headrace.h"
#include "headrace/ops/op.h"

namespace headrace {
namespace {

double sum_of_many(int8_t a, float b, uint16_t c, double d, bool e, int64_t f) {
  return a + 10.0 * b + 100.0 * c + 1e3 * d + 1e4 * e + 1e5 * static_cast<double>(f);
}
float half(float x) { return x / 2; }
int8_t negative(int64_t x) { return static_cast<int8_t>(-x); }
bool is_odd(int64_t x) { return x % 2 != 0; }
int64_t plus(int64_t a, int64_t b) { return a + b; }

template <class T> View view_of(const std::vector<T>& values, DType dtype, const Shape& shape) {
  return {dtype, shape, reinterpret_cast<const std::byte*>(values.data())};
}

// The first output of a call, or the error as text.
template <class T>
std::vector<T> call(const CFunction& function, std::span<const View> in, const Key& key = {}) {
  const auto op = c_function_op(function);
  EXPECT_TRUE(op.ok()) << op.status().text();
  std::vector<Shape> shapes(function.outputs.size());
  Scratch scratch;
  CallContext context(scratch, key);
  EXPECT_TRUE((*op)->measure(in, shapes, context).ok());
  std::vector<std::vector<std::byte>> memory;
  std::vector<MutView> out;
  for (size_t i = 0; i < shapes.size(); ++i) {
    memory.emplace_back(shapes[i].size_bytes(function.outputs[i].dtype) + 1, std::byte{0xcc});
    out.push_back({function.outputs[i].dtype, shapes[i], memory[i].data()});
  }
  const Status status = (*op)->run(in, out, context);
  EXPECT_TRUE(status.ok()) << status.text();
  return {out[0].as<T>(), out[0].as<T>() + shapes[0].count()};
}

std::string refused(const CFunction& function, std::vector<TensorSpec> in) {
  const auto op = c_function_op(function);
  if (!op.ok()) return std::string(op.status().text());
  return std::string((*op)->infer(in).status().text());
}

std::vector<int64_t> all_of(const Dataset& data, unsigned workers, bool rewrites) {
  LoaderOptions options;
  options.workers = workers;
  if (!rewrites) options.rewrites_off = {"all"};
  const auto loader = data.loader(std::move(options));
  EXPECT_TRUE(loader.ok()) << loader.status().text();
  std::vector<int64_t> out;
  EXPECT_TRUE((*loader)->begin().ok());
  for (Sample sample; *(*loader)->next(sample);)
    for (int64_t i = 0; i < sample.fields[0].view().shape.count(); ++i)
      out.push_back(sample.fields[0].view().as<int64_t>()[i]);
  return out;
}

TEST(CFunction, ArgumentsOfEveryKindArriveWhereTheyBelong) {
  constexpr int64_t n = 600;  // more than are laid out at once
  std::vector<int8_t> a(n);
  std::vector<float> b(n);
  std::vector<uint16_t> c(n);
  std::vector<double> d{0.5};
  std::vector<uint8_t> e(n);
  std::vector<int64_t> f(n);
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<size_t>(i);
    a[at] = static_cast<int8_t>(i), b[at] = static_cast<float>(i) / 4,
    c[at] = static_cast<uint16_t>(65535 - i);
    e[at] = static_cast<uint8_t>(i % 3), f[at] = -i;
  }
  const View in[] = {view_of(a, DType::i8, {n}),      view_of(b, DType::f32, {n}),
                     view_of(c, DType::u16, {n}),     view_of(d, DType::f64, {}),
                     view_of(e, DType::boolean, {n}), view_of(f, DType::i64, {n})};
  const std::vector<double> out = call<double>(c_function("sum", &sum_of_many), in);
  ASSERT_EQ(out.size(), 600u);
  for (size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], sum_of_many(a[i], b[i], c[i], 0.5, e[i] != 0, f[i])) << i;
}

TEST(CFunction, ResultsOfEveryKind) {
  const std::vector<float> x{1, 3};
  const std::vector<int64_t> i{1, 200};
  const View floats[] = {view_of(x, DType::f32, {2})}, integers[] = {view_of(i, DType::i64, {2})};
  EXPECT_EQ(call<float>(c_function("half", &half), floats), (std::vector<float>{0.5f, 1.5f}));
  EXPECT_EQ(call<int8_t>(c_function("negative", &negative), integers), (std::vector<int8_t>{-1, 56}));
  EXPECT_EQ(call<uint8_t>(c_function("is_odd", &is_odd), integers), (std::vector<uint8_t>{1, 0}));
}

TEST(CFunction, RefusesWhatItsTypesDoNotSay) {
  const CFunction two = c_function("plus", &plus);
  EXPECT_EQ(refused(two, {{DType::i64, {}}}),
            "plus: expected the fields (int64 (), int64 ()), got 1 (int64 ())");
  EXPECT_EQ(refused(two, {{DType::i64, {}}, {DType::f32, {3}}}),
            "plus: argument 1 of int64(int64, int64): expected int64, got float32 (3); convert it with cast");
  EXPECT_EQ(refused(two, {{DType::i64, {2}}, {DType::i64, {3}}}),
            "plus: expected fields of one shape, or scalars, got int64 (2), int64 (3)");
  EXPECT_EQ(refused(two, {{DType::i64, {2}}, {DType::i64, {}}}), "");
  CFunction null = two;
  null.code = nullptr;
  EXPECT_EQ(refused(null, {}), "plus: expected the address of a function, got 0");
  CFunction half_precision = two;
  half_precision.inputs[0].dtype = DType::f16;
  EXPECT_EQ(refused(half_precision, {}),
            "plus: expected bool, integers, float32 or float64, got int64(float16, int64)");
}

// (n, m), (m) -> (n): each row times the vector; 7 where a row begins with a negative number.
int multiply(const void* const* inputs, const int64_t* const* shapes, void* const* outputs, const uint64_t*,
             void* user) {
  const auto *rows = static_cast<const float*>(inputs[0]), *x = static_cast<const float*>(inputs[1]);
  auto* const out = static_cast<float*>(outputs[0]);
  for (int64_t i = 0; i < shapes[0][0]; ++i) {
    const float* row = rows + i * shapes[0][1];
    if (row[0] < 0) return 7;
    for (int64_t k = 0; k < shapes[0][1]; ++k) out[i] += row[k] * x[k] * *static_cast<const float*>(user);
  }
  return 0;
}

TEST(CFunction, ArraysWithNamedDimensions) {
  float twice = 2;
  CFunction product = c_function("product", &multiply, {{DType::f32, {"n", "m"}}, {DType::f32, {"m"}}},
                                 {{DType::f32, {"n"}}});
  product.user = &twice;
  std::vector<float> rows{1, 2, 3, 4, 5, 6}, x{1, 10};
  const View in[] = {view_of(rows, DType::f32, {3, 2}), view_of(x, DType::f32, {2})};
  EXPECT_EQ(call<float>(product, in), (std::vector<float>{42, 86, 130}));  // memory is zeroed before

  const auto op = *c_function_op(product);
  const auto out_of = [&](std::vector<TensorSpec> specs) { return (*op->infer(specs))[0].text(); };
  EXPECT_EQ(out_of({{DType::f32, {3, 2}}, {DType::f32, {2}}}), "float32 (3)");
  EXPECT_EQ(out_of({{DType::f32, {kAny, 2}}, {DType::f32, {kAny}}}), "float32 (?)");
  EXPECT_EQ(refused(product, {{DType::f32, {3, 2}}, {DType::f32, {4}}}),
            "product: input 1: expected float32 (m) where m is 2, got float32 (4)");
  EXPECT_EQ(refused(product, {{DType::f32, {3, 2}}, {DType::f64, {2}}}),
            "product: input 1: expected float32 (m), got float64 (2)");

  rows[4] = -1;
  float memory[3];
  const MutView out{DType::f32, {3}, reinterpret_cast<std::byte*>(memory)};
  Scratch scratch;
  CallContext call(scratch);
  EXPECT_EQ(op->run(in, {&out, 1}, call).text(), "product: the C function returned 7, which is not 0");
  const View longer[] = {in[0], view_of(rows, DType::f32, {3})};
  EXPECT_EQ(op->run(longer, {&out, 1}, call).text(),
            "product: input 1: expected float32 (m) where m is 2, got float32 (3)");
}

TEST(CFunction, OutputsWantShapesThatAreKnown) {
  const FieldLayout in{DType::f32, {"n"}};
  const auto said = [&](const FieldLayout& out) {
    return refused(c_function("f", &multiply, {in}, {out}), {});
  };
  const std::string wanted = "f: dimensions of an output must be sizes or names of input dimensions, got ";
  EXPECT_EQ(said({DType::f32, {"m"}}), wanted + "float32 (m)");
  EXPECT_EQ(said({DType::f32, {kAny}}), wanted + "float32 (?)");
  EXPECT_EQ(said({DType::bytes, {3}}), "f: an output must be numbers or bool, got bytes (3)");
  EXPECT_EQ(said({DType::f32, {-5}}), "f: sizes must be at least 0, got float32 (-5)");
}

int write_key(const void* const*, const int64_t* const*, void* const* outputs, const uint64_t* key, void*) {
  auto* const out = static_cast<uint64_t*>(outputs[0]);
  out[0] = key ? key[0] : 1, out[1] = key ? key[1] : 2;
  return 0;
}

TEST(CFunction, GetsItsKeyWhenItIsRandomAndNullWhenNot) {
  CFunction draw = c_function("draw", &write_key, {{DType::i64, {}}}, {{DType::u64, {2}}});
  const std::vector<int64_t> x{0};
  const View in[] = {view_of(x, DType::i64, {})};
  EXPECT_EQ(call<uint64_t>(draw, in), (std::vector<uint64_t>{1, 2}));
  draw.random = true;
  const Key key(5, 1, {});
  const auto word = [&](uint32_t at) { return key.bits(at) | uint64_t{key.bits(at + 1)} << 32; };
  EXPECT_EQ(call<uint64_t>(draw, in, key), (std::vector<uint64_t>{word(0), word(2)}));
}

TEST(CFunction, OneStreamForAnyWorkersAndRewrites) {
  const CFunction add = c_function("plus", &plus), odd = c_function("is_odd", &is_odd);
  const Dataset data = range(3000).filter(odd).map(
      [&](const Fields& s) -> Outputs { return {{"value", apply(add, {s["value"], s["value"]})[0]}}; });
  std::vector<int64_t> expected;
  for (int64_t i = 1; i < 3000; i += 2) expected.push_back(2 * i);
  for (const unsigned workers : {1u, 4u})
    for (const bool rewrites : {true, false}) {
      EXPECT_EQ(all_of(data, workers, rewrites), expected);
      EXPECT_EQ(all_of(data.batch(7), workers, rewrites), expected);
    }
}

TEST(CFunction, APlanNamesItByItsSlotAndWantsOneLikeIt) {
  const auto plan = range(3).map(c_function("negative", &negative)).plan();
  ASSERT_TRUE(plan.ok());
  const std::string text = (*Value::parse(*plan)).dump();
  EXPECT_NE(text.find(R"("params":{"slot":"negative","calls":"elements","inputs":[["i64",[]]],)"
                      R"("outputs":[["i8",[]]],"random":false},"in":[0])"),
            std::string::npos)
      << text;
  EXPECT_EQ(load_plan(*plan).status().text(),
            "plan: the C function in slot 'negative' is not bound; open the plan in Python with "
            "bind={\"negative\": f}");
  const auto opened_with = [&](const CFunction& function) {
    Bindings bindings;
    bindings.function = [&](const std::string&, const Value&) { return c_function_op(function); };
    return load_plan(*plan, bindings);
  };
  EXPECT_TRUE(opened_with(c_function("negative", &negative)).ok());
  EXPECT_EQ(opened_with(c_function("half", &half)).status().text(),
            "plan: slot 'negative': expected a C function with inputs int64 (), got half with "
            "float32 ()");
}

TEST(CFunction, FilesOfACacheWantToKnowWhichItIs) {
  const auto cached = [](const std::string& version, const std::string& of_cache) {
    CFunction function = c_function("negative", &negative);
    function.version = version;
    return range(3).map(function).cache({.path = "unused", .version = of_cache}).node();
  };
  EXPECT_EQ(cached("", "").status().text(),
            "cache: cannot tell whether the C function negative is the same in another run; set a version "
            "for it or for the cache, and change it when the function changes");
  EXPECT_TRUE(cached("1", "").ok());
  EXPECT_TRUE(cached("", "1").ok());
}

}  // namespace
}  // namespace headrace
