#include "headrace/formats/records/mostly_numbers.h"

#include "headrace/core/text/text.h"
#include "headrace/core/text/utf8.h"
#include "headrace/core/value.h"

namespace headrace {
namespace {

constexpr size_t kKeptText = 48;         // bytes: more than a message shows
constexpr uint64_t kSparedTexts = 8;     // if strings exceed numbers by more, it is a column of strings
constexpr uint64_t kNumbersToAText = 9;  // at most a tenth of the fields are not numbers

}  // namespace

void MostlyNumbers::see_text(std::string_view field, uint64_t line) {
  if (num_texts++ == 0) text_line = line, text = field.substr(0, kKeptText);
  is_of_texts = num_texts > num_numbers + kSparedTexts;
}

void MostlyNumbers::merge(const MostlyNumbers& later, const std::string& path_of_later) {
  if (num_texts == 0 && later.num_texts > 0)
    text_line = later.text_line, text = later.text, text_path = path_of_later;
  num_numbers += later.num_numbers, num_texts += later.num_texts;
  is_of_texts = is_of_texts || later.is_of_texts;
}

bool MostlyNumbers::is_mostly_numbers() const {
  return num_texts > 0 && !is_of_texts && num_texts <= num_numbers / kNumbersToAText;
}

std::string MostlyNumbers::note(const std::string& name, DType numbers) const {
  if (!is_mostly_numbers()) return {};
  return "column " + in_quotes(name) + " is read as strings because of " + shown_field(text) + " (" +
         text_path + ", line " + std::to_string(text_line) + ")" +
         (num_texts > 1 ? " and " + std::to_string(num_texts - 1) + " more" : "") + "; the other " +
         std::to_string(num_numbers) + " are numbers; dtypes={" + Value(name).dump() + ": \"" +
         std::string(dtype_name(numbers)) +
         "\"} makes such fields errors of their rows, \"str\" silences this note";
}

std::vector<std::string> first_notes(std::vector<std::string> notes) {
  constexpr size_t kMost = 4;
  if (notes.size() <= kMost) return notes;
  const size_t more = notes.size() - kMost;
  notes.resize(kMost);
  notes.push_back(std::to_string(more) + " more columns are read as strings because of a few fields");
  return notes;
}

std::string shown_field(std::string_view field) {
  constexpr size_t kMost = 40;
  const std::string_view head = field.substr(0, kMost);
  return in_quotes(head.substr(0, utf8_prefix(head))) + (field.size() > kMost ? "…" : "");
}

}  // namespace headrace
