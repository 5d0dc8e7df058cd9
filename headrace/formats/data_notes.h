// What a format warns of in the data it has opened: columns that may be meant otherwise. explain() and
// inspect print it, Python warns.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "headrace/formats/source.h"

namespace headrace {

// A text of its metadata() under this key, "missing", "differs" or "empty" (manifests_beside.h); "" where it
// has none.
std::string told_of(const Source& source, std::string_view key);
// These texts, of whatever there is to say, in this order.
std::vector<std::string> told_in(const Source& source);
// The same as members of a JSON object, under their keys.
void set_told(const Source& source, Value& out);
// One more of the "notes" of this metadata().
void add_note(Value& metadata, std::string note);
// The "notes" of its metadata(), a list of texts.
std::vector<std::string> notes_in(const Source& source);
// The same with "missing" and "differs", and what left_out_columns_note() says.
std::vector<std::string> notes_of(const Source& source);
// Of columns whose types are not read, "left_out_columns" of its metadata(); "" where there are none.
std::string left_out_columns_note(const Source& source);

// Whether metadata() says under this key how the data was read: a copy of it has no such thing.
bool is_of_reading(std::string_view key);
// What a file says of its data goes under keys that are not there yet, and are not of reading.
void add_about(const Value& about, Value& metadata);

}  // namespace headrace
