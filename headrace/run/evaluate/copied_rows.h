// Rows copied one by one out of a mapped file into columns, and the block of them.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "headrace/core/pool.h"
#include "headrace/formats/source.h"

namespace headrace {

class CopiedRows {
 public:
  // Room for `rows` rows; empty when the pool has none now.
  static std::optional<CopiedRows> make(const Schema& schema, size_t rows, Pool& pool);
  ~CopiedRows();
  CopiedRows(CopiedRows&&) noexcept;
  CopiedRows& operator=(CopiedRows&&) = delete;

  // Destinations for Source::put_mapped(); valid as long as this object.
  std::span<const FieldPlace> places() const { return places_; }
  // A block of the first `rows` rows.
  BlockPtr finish(size_t rows) &&;

 private:
  struct Fields;
  class AsBlock;
  explicit CopiedRows(std::unique_ptr<Fields> fields);
  std::unique_ptr<Fields> fields_;
  std::vector<FieldPlace> places_;
};

}  // namespace headrace
