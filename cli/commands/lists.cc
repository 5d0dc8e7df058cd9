// headrace formats and headrace ops: the formats and operators of this build.
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/output/say.h"
#include "headrace/formats/format.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/writer.h"
#include "headrace/ops/op.h"

namespace headrace::cli {
namespace {

std::string default_text(const Value& fallback, const std::string& type) {
  if (fallback.is_null()) return "None";
  const std::string text = shown_param(type, fallback).dump();
  return text == "true" ? "True" : text == "false" ? "False" : text;
}

Result<int> list_formats() {
  for (const auto& [name, format] : formats()) {
    say("{:<16} {}{}\n", name, format.doc, !format.recognise && format.open ? " Only with --format." : "");
    for (const OptionInfo& option : format.options)
      say("{:<16}   --option {}=…  {}\n", "", option.name, option.doc);
  }
  say("\nformats that `headrace convert` can write:\n");
  for (const auto& [name, writer] : writers()) {
    say("{:<16} {}{}\n", name, writer.doc,
        writer.ending.empty() ? "" : fmt::format(" Chosen by the extension {}.", writer.ending));
    for (const OptionInfo& option : writer.options)
      say("{:<16}   --option {}=…  {}\n", "", option.name, option.doc);
  }
  return kOk;
}

void describe(const std::vector<OptionInfo>& options) {
  for (const OptionInfo& option : options)
    say("  {:<14} {} {}\n  {:<14}   {}\n", option.name, option.type,
        option.required ? "required" : "= " + default_text(option.fallback, option.type), "", option.doc);
}

Result<int> describe_format(const std::string& name) {
  const FormatInfo* format = find_format(name);
  const WriterInfo* writer = find_writer(name);
  if (!format && !writer) refuse(no_format(name));
  if (format) {
    say("{}\n  {}{}\n", name, format->doc, !format->recognise && format->open ? " Only with --format." : "");
    describe(format->options);
    if (const auto split = split_option(*format)) describe({*split});
  }
  if (!writer) return kOk;
  say("{}{}, as written by `headrace convert`\n  {}{}\n", format ? "\n" : "", name, writer->doc,
      writer->ending.empty() ? "" : fmt::format(" Chosen by the extension {}.", writer->ending));
  describe(writer->options);
  return kOk;
}

void describe(const OpInfo& op) {
  std::string inputs;
  for (const std::string& input : op.inputs) inputs += (inputs.empty() ? "" : ", ") + input;
  say("{}({}{}){}\n  {}\n", op.name, inputs, op.variadic ? ", …" : "", op.random ? "    random" : "", op.doc);
  for (const ParamInfo& param : op.params) {
    const std::string given = param.required ? "required" : "= " + default_text(param.fallback, param.type);
    say("  {:<14} {} {}{}\n  {:<14}   {}\n", param.name, param.type, given,
        param.bindable ? "; or a field of the sample" : "", "", param.doc);
  }
}

Result<int> list_ops(const std::string& name) {
  if (name.empty()) {
    for (const auto& [op_name, op] : ops()) say("{:<22} {}\n", op_name, op.doc);
    return kOk;
  }
  const OpInfo* op = find_op(name);
  if (!op) refuse("no operator named '" + name + "'" + suggest_op(name));
  describe(*op);
  return kOk;
}

}  // namespace

void add_formats(CLI::App& program, Run& run) {
  auto* command =
      program.add_subcommand("formats", "List the formats that can be read and written, or describe one");
  auto name = std::make_shared<std::string>();
  command->add_option("name", *name, "Format to describe with its options")->option_text("NAME");
  command->footer("example:\n  headrace formats parquet");
  command->callback(
      [name, &run] { run = [name] { return name->empty() ? list_formats() : describe_format(*name); }; });
}

void add_ops(CLI::App& program, Run& run) {
  auto* command = program.add_subcommand("ops", "List the operators, or describe one");
  auto name = std::make_shared<std::string>();
  command->add_option("name", *name, "Operator to describe with its parameters")->option_text("NAME");
  command->footer("example:\n  headrace ops random_resized_crop");
  command->callback([name, &run] { run = [name] { return list_ops(*name); }; });
}

}  // namespace headrace::cli
