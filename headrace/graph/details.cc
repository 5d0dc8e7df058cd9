#include "headrace/graph/details.h"

#include <algorithm>

namespace headrace {
namespace {

// A long operator call, with line breaks between its parameters; `at` is the column of its first letter.
std::string broken(const std::string& call, size_t at, size_t indent) {
  std::string out;
  for (size_t begin = 0; begin < call.size();) {
    const size_t comma = call.find(", ", begin), end = comma == std::string::npos ? call.size() : comma + 2;
    if (begin > 0 && at + end - begin > kColumns) {
      while (out.ends_with(' ')) out.pop_back();
      out += "\n" + std::string(indent, ' '), at = indent;
    }
    out += call.substr(begin, end - begin), at += end - begin;
    begin = end;
  }
  return out;
}

// Human-readable JSON, with a space after each comma and colon.
std::string spaced(const Value& value) {
  std::string out;
  bool in_text = false, is_escaped = false;
  for (const char c : value.dump()) {
    out += c;
    if (!in_text && (c == ',' || c == ':')) out += ' ';
    if (c == '"' && !is_escaped) in_text = !in_text;
    is_escaped = c == '\\' && !is_escaped;
  }
  return out;
}

// The same with NumPy's names of dtypes: ["f32", [3]] is ["float32", [3]], {"dtype": "f32"} {"dtype":
// "float32"}.
Value with_numpy_names(const Value& value) {
  if (const auto* object = value.object()) {
    Value out{Value::Object()};
    for (const auto& [key, item] : *object) {
      const auto dtype =
          key == "dtype" && item.text() ? parse_dtype(*item.text()) : Result<DType>(invalid(""));
      out.set(key, dtype.ok() ? Value(std::string(dtype_name(*dtype))) : with_numpy_names(item));
    }
    return out;
  }
  const Value::List* list = value.list();
  if (!list) return value;
  Value::List out;
  for (const Value& item : *list) out.push_back(with_numpy_names(item));
  if (list->size() == 2 && (*list)[0].text() && (*list)[1].list())
    if (const auto dtype = parse_dtype(*(*list)[0].text()); dtype.ok()) out[0] = dtype_name(*dtype);
  return Value(std::move(out));
}

// An operator with the parameters that differ from its defaults.
std::string call_text(const AnyOp& op) {
  const OpInfo* info = find_op(op.name());
  const auto param_of = [&](const std::string& name) -> const ParamInfo* {
    if (!info) return nullptr;
    const auto param = std::ranges::find(info->params, name, &ParamInfo::name);
    return param != info->params.end() ? &*param : nullptr;
  };
  std::string params;
  const Value given = op.params();
  if (const auto* object = given.object())
    for (const auto& [name, value] : *object) {
      const bool is_bound = std::ranges::find(op.bound(), name) != op.bound().end();
      const ParamInfo* const param = param_of(name);
      if (!is_bound && param && !param->required && param->fallback.dump() == value.dump()) continue;
      const Value shown = with_numpy_names(param ? shown_param(param->type, value) : value);
      params += (params.empty() ? "" : ", ") + name + "=" + (is_bound ? "<field>" : spaced(shown));
    }
  return std::string(op.name()) + "(" + params + ")";
}

}  // namespace

std::string joined(const std::vector<std::string>& items, size_t at, size_t indent) {
  std::string out;
  size_t column = at;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ",", ++column;
    if (i > 0 && column + 2 + items[i].size() > kColumns) {
      out += "\n" + std::string(indent, ' '), column = indent;
    } else if (i > 0) {
      out += " ", ++column;
    }
    const std::string item =
        column + items[i].size() > kColumns ? broken(items[i], column, indent + 4) : items[i];
    const size_t line = item.rfind('\n');
    out += item, column = line == std::string::npos ? column + item.size() : item.size() - line - 1;
  }
  return out;
}

std::vector<std::string> step_texts(const Program& program) {
  std::vector<std::string> out;
  for (const Call& step : program.steps) out.push_back(call_text(*step.op));
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const auto value = static_cast<size_t>(program.outputs[i]);
    if (value >= program.input_fields.size() || program.input_fields[value] >= 0) continue;
    out.push_back((program.input_fields[value] == kValidField ? "with_validity(" : "with_ids(") +
                  Value(program.schema.names[i]).dump() + ")");
  }
  if (out.empty()) out.push_back("select fields");
  return out;
}

std::string steps_text(const Program& program) {
  std::string out;
  for (const std::string& step : step_texts(program)) out += (out.empty() ? "" : ", ") + step;
  return out;
}

std::string source_text(const Value& description) {
  std::string name, more;
  // The schema is printed after the node; of data in a slot the description has it, too.
  const bool has_schema =
      description.find("names") && description.find("specs") && description.find("structure");
  if (const auto* object = description.object())
    for (const auto& [key, value] : *object) {
      if (has_schema && (key == "names" || key == "specs" || key == "structure")) continue;
      if ((key == "format" || key == "generator") && value.text())
        name = *value.text();
      else
        more += (more.empty() ? "" : ", ") + key + "=" + spaced(value);
    }
  return name + "(" + more + ")";
}

}  // namespace headrace
