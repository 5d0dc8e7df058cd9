// A table of text records, CSV or JSON lines, as the format of record files. A free function, any thread.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headrace/formats/records/record_files.h"

namespace headrace {

// Table: schema(), has_masks(), notes(), read(record, fields), put(run, places), with_columns(fields). Masks
// of nulls are made by read() alone.
template <class Table> RecordFormat table_format(std::string name, std::shared_ptr<const Table> table) {
  RecordFormat out;
  out.name = name;
  out.inflates = true;
  out.schema = table->schema();
  out.read = [table](const Record& record, std::vector<Tensor>& fields) {
    return table->read(record, fields);
  };
  if (!table->has_masks())
    out.put = [table](const RecordRun& run, std::span<const FieldPlace> to) { return table->put(run, to); };
  out.with_fields = [name, table](std::span<const int> fields) {
    return table_format(name, std::make_shared<const Table>(table->with_columns(fields)));
  };
  out.notes = table->notes();
  return out;
}

}  // namespace headrace
