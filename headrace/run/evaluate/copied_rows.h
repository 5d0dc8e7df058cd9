// Rows that were copied one by one from where a file is mapped, as columns of their own, and the block of
// them.
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
  // Room for so many; nothing when the pool has none now.
  static std::optional<CopiedRows> make(const Schema& schema, size_t rows, Pool& pool);
  ~CopiedRows();
  CopiedRows(CopiedRows&&) noexcept;
  CopiedRows& operator=(CopiedRows&&) = delete;

  // Where they go, as Source::put_mapped() wants it; as long as this lives.
  std::span<const FieldPlace> places() const { return places_; }
  // The first so many, row i the i-th.
  BlockPtr finish(size_t rows) &&;

 private:
  struct Fields;
  class AsBlock;
  explicit CopiedRows(std::unique_ptr<Fields> fields);
  std::unique_ptr<Fields> fields_;
  std::vector<FieldPlace> places_;
};

}  // namespace headrace
