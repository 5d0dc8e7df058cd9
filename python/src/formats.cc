// Wraps formats/: opening and creating sources.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "headrace/formats/arrays/arrays.h"
#include "headrace/formats/data_notes.h"
#include "headrace/formats/nulls.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/opening/patterns.h"
#include "headrace/formats/opening/readable.h"
#include "headrace/formats/wrapped_source.h"
#include "headrace/io/skipping_store.h"
#include "headrace/io/store.h"
#include "python/src/arrays/tensors.h"
#include "python/src/base/errors.h"
#include "python/src/base/gil.h"
#include "python/src/base/module.h"
#include "python/src/base/text.h"
#include "python/src/base/value.h"
#include "python/src/base/watcher.h"
#include "python/src/generator.h"
#include "python/src/sequence.h"

namespace headrace::python {
namespace {

SourceHandle open(const std::variant<std::string, std::vector<std::string>>& path, const std::string& format,
                  nb::handle options, nb::handle progress) {
  const Value wanted = to_exact_value(options);
  Watcher watcher(progress);
  IndexingOptions indexing;
  indexing.watch = [&](uint64_t done, uint64_t total) {
    return watcher.watch([&] { return nb::make_tuple(done, total); });
  };
  Result<SourcePtr> source = internal_error("");
  {
    const NoGil nogil;
    const auto read = [&](const auto& given) {
      return open_source(*file_store(), given, format, wanted, indexing);
    };
    source = std::visit(read, path);
  }
  watcher.rethrow();
  return {unwrap(std::move(source))};
}

Schema schema_of(std::vector<std::string> names, std::vector<TensorSpec> specs, std::string structure) {
  Schema out;
  out.names = std::move(names), out.specs = std::move(specs), out.structure = std::move(structure);
  return out;
}

// An array, a list of bytes, str or arrays, or (flat, shapes) of a headrace.Ragged.
Tensor column_of(nb::handle column) {
  if (nb::isinstance<nb::list>(column)) return to_column(nb::borrow<nb::list>(column));
  if (nb::isinstance<nb::tuple>(column)) return to_ragged(column[0], column[1]);
  return to_tensor(column);
}

SourceHandle arrays(std::vector<std::string> names, const std::string& structure, const nb::list& columns,
                    const std::string& slot, nb::handle types) {
  std::vector<Tensor> tensors;
  for (nb::handle column : columns) tensors.push_back(column_of(column));
  SourcePtr out = unwrap(array_source(schema_of(std::move(names), {}, structure), std::move(tensors), slot));
  if (nb::len(types) == 0) return {std::move(out)};
  Value metadata = out->metadata();
  metadata.set("types", to_value(types));
  return {with_metadata(std::move(out), std::move(metadata))};
}

SourceHandle sequence(std::vector<std::string> names, const nb::list& specs, const std::string& structure,
                      uint64_t size, const std::string& slot, nb::object items, nb::object convert) {
  std::vector<TensorSpec> types;
  for (nb::handle spec : specs) types.push_back(to_spec(spec));
  return {sequence_source(schema_of(std::move(names), std::move(types), structure), size, slot,
                          std::move(items), std::move(convert))};
}

// For each field its rule, and the name of its mask or "".
nb::list null_rules(nb::handle nulls, std::vector<std::string> names, const nb::list& specs) {
  std::vector<TensorSpec> types;
  for (nb::handle spec : specs) types.push_back(to_spec(spec));
  const Schema schema = schema_of(std::move(names), std::move(types), "");
  const NullRules rules = unwrap(NullRules::of(to_value(nulls)));
  const std::vector<Nulls> of_fields = unwrap(rules.of_fields(schema));
  std::vector<std::string> masks(schema.size());
  for (const NullMask& mask : unwrap(masks_of(schema, of_fields))) masks[mask.field] = mask.name;
  nb::list out;
  for (size_t i = 0; i < schema.size(); ++i)
    out.append(nb::make_tuple(std::string(null_rule_name(of_fields[i])), masks[i]));
  return out;
}

GeneratorHandle generator(std::vector<std::string> names, const nb::list& specs, const std::string& structure,
                          std::string slot, std::string label, nb::object start) {
  std::vector<TensorSpec> types;
  for (nb::handle spec : specs) types.push_back(to_spec(spec));
  return {make_generator(schema_of(std::move(names), std::move(types), structure), std::move(slot),
                         std::move(label), std::move(start))};
}

nb::list format_table() {
  nb::list out;
  for (const auto& [name, info] : formats()) {
    nb::dict row;
    row["name"] = name, row["doc"] = info.doc, row["fields"] = info.fields, row["path"] = info.path;
    row["made"] = info.make != nullptr, row["takes_files"] = info.takes_files;
    nb::list details, raises;
    for (const std::string& paragraph : info.details) details.append(paragraph);
    for (const RaisedError& one : info.raises) raises.append(nb::make_tuple(one.error, one.reason));
    row["details"] = details, row["raises"] = raises, row["example"] = info.example;
    row["options"] = options_to_python(info.options);
    const std::optional<OptionInfo> split = split_option(info);
    row["split"] = options_to_python(split ? std::span(&*split, 1) : std::span<const OptionInfo>());
    const OptionInfo skip = skip_unreadable_option();
    row["common"] = options_to_python(info.open ? std::span(&skip, 1) : std::span<const OptionInfo>());
    out.append(row);
  }
  return out;
}

}  // namespace

nb::list options_to_python(std::span<const OptionInfo> options) {
  nb::list out;
  for (const OptionInfo& option : options) {
    nb::dict item;
    item["name"] = option.name, item["type"] = option.type, item["doc"] = option.doc;
    item["fallback"] = to_python(option.fallback);
    item["required"] = option.required;
    out.append(item);
  }
  return out;
}

void bind_formats(nb::module_& m) {
  nb::class_<SourceHandle>(m, "Source", "Data with random access, as the engine sees it.")
      .def_prop_ro(
          "size", [](const SourceHandle& s) { return s.source->size(); }, "Number of samples.")
      .def_prop_ro(
          "metadata", [](const SourceHandle& s) { return to_python(s.source->metadata()); },
          "What the format reports about the data: a dict.")
      .def_prop_ro(
          "notes", [](const SourceHandle& s) { return notes_of(*s.source); },
          "Warnings of the format: a list of strings.");
  m.def("open_source", &open, nb::arg("path"), nb::arg("format"), nb::arg("options"),
        nb::arg("progress").none(),
        "Open the data at one path or several; an empty format is detected from the content.");
  m.def(
      "list_splits",
      [](const std::string& path, const std::string& format, bool skip_unreadable) {
        Result<std::vector<std::string>> names = internal_error("");
        {
          const NoGil nogil;
          SkippingStore skipping(*file_store());
          names = list_splits(skip_unreadable ? static_cast<Store&>(skipping) : *file_store(), path, format);
        }
        return unwrap(std::move(names));
      },
      nb::arg("path"), nb::arg("format"), nb::arg("skip_unreadable") = false,
      "The names that the option `split` takes for this path.");
  m.def(
      "range_source",
      [](int64_t start, int64_t stop, int64_t step) {
        return SourceHandle{unwrap(range_source(start, stop, step))};
      },
      nb::arg("start"), nb::arg("stop"), nb::arg("step"), "The integers of a range.");
  m.def(
      "counter_source", [](int64_t start, int64_t step) { return SourceHandle{counter_source(start, step)}; },
      nb::arg("start"), nb::arg("step"));
  m.def(
      "random_source",
      [](uint64_t seed, const std::vector<int64_t>& shape, std::optional<uint64_t> size) {
        if (shape.size() > kMaxRank)
          check(invalid({.expected = "a shape of at most 8 dimensions", .got = std::to_string(shape.size())})
                    .in_op("random"));
        return SourceHandle{unwrap(random_source(seed, Shape(shape), size.value_or(~uint64_t{0})))};
      },
      nb::arg("seed"), nb::arg("shape"), nb::arg("size").none());
  m.def(
      "list_files",
      [](const std::string& pattern, bool skip_unreadable) {
        SkippingStore skipping(*file_store());
        Store& store = skip_unreadable ? static_cast<Store&>(skipping) : *file_store();
        std::vector<std::string> files = unwrap(expand(store, pattern));
        return nb::make_tuple(std::move(files), left_out_note(skipping.left_out()));
      },
      nb::arg("pattern"), nb::arg("skip_unreadable") = false,
      "The files that match a pattern, sorted, and what was left out, for a warning.");
  m.def("array_source", &arrays, nb::arg("names"), nb::arg("structure"), nb::arg("columns"), nb::arg("slot"),
        nb::arg("types"), "Columns in memory, and the types of times by name.");
  m.def("null_rules", &null_rules, nb::arg("nulls"), nb::arg("names"), nb::arg("specs"),
        "How the nulls of each field are read, and the name of its mask or \"\".");
  m.def("null_is_read", &null_is_read, nb::arg("may_be_nan"), "The end of a message after \"got null\".");
  m.def(
      "numbers_beside",
      [](const SourceHandle& s, const std::string& what) {
        const Beside kind = what == "keys"      ? Beside::keys
                            : what == "weights" ? Beside::weights
                            : what == "choices" ? Beside::choices
                                                : Beside::indices;
        return SourceHandle{unwrap(numbers_beside(kind, s.source))};
      },
      nb::arg("source"), nb::arg("what"),
      "Numbers for the verbs that take keys, weights, choices or indices.");
  m.def("sequence_source", &sequence, nb::arg("names"), nb::arg("specs"), nb::arg("structure"),
        nb::arg("size"), nb::arg("slot"), nb::arg("items"), nb::arg("convert"),
        "Items by position; convert(item, index) returns the leaves of items with another nesting.");
  nb::class_<GeneratorHandle>(m, "Generator", "Samples without random access, as the engine sees them.");
  m.def("generator", &generator, nb::arg("names"), nb::arg("specs"), nb::arg("structure"), nb::arg("slot"),
        nb::arg("label"), nb::arg("start"), "A generator whose passes are returned by start(epoch).");
  m.def(
      "no_option",
      [](const std::string& wrong, const std::vector<std::string>& known) {
        return no_option(wrong, std::vector<std::string_view>(known.begin(), known.end()));
      },
      nb::arg("wrong"), nb::arg("known"), "The error message for an unknown option.");
  m.def("format_table", &format_table, "The formats and their options, as described in the C++ sources.");
}

}  // namespace headrace::python
