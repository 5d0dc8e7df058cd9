// Warnings of a format about the data it has opened, for example ambiguous columns. explain() and inspect
// print them; Python warns.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace {

// The string under this key of its metadata(), "missing", "differs" or "empty" (manifests_beside.h); "" if
// there is none.
std::string told_of(const Source& source, std::string_view key);
// All of these strings that are there, in this order.
std::vector<std::string> described_notes(const Source& source);
// The same, set as members of a JSON object under their keys.
void set_told(const Source& source, Value& out);
// Appends to the "notes" of this metadata().
void add_note(Value& metadata, std::string note);
// The "notes" of metadata(), a list of strings.
std::vector<std::string> notes_in(const Value& metadata);
// The same with "missing", "differs", left_out_columns_note(), and data of other kinds in a folder of shards.
std::vector<std::string> notes_of(const Source& source);
// About files that are left out since they lie there without their compression, too.
std::string copies_note(std::string_view first, uint64_t count);
// About columns whose types are not supported ("left_out_columns" of its metadata()); "" if there are none.
std::string left_out_columns_note(const Source& source);

// Whether this key of metadata() describes how the data was read, so that it does not apply to a copy.
bool is_of_reading(std::string_view key);
// Adds a file's own metadata under keys that are not taken yet and do not describe the reading.
void add_about(const Value& about, Value& metadata);

}  // namespace headrace
