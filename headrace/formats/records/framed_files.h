// The Source of files whose records lie in frames that unpack one by one: compressed shards, chunks, groups.
//
// A format says where the frames lie and how many records each has, what a frame unpacks to, and what fields
// a record has; this is the rest. A file that is not packed has a frame for each record. A block is a frame;
// frames of one record are read together, in whatever mix a batch wants them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "headrace/formats/records/made_bytes.h"
#include "headrace/formats/records/record_files.h"

namespace headrace {

struct FramedFile {
  SourceFile file;
  std::vector<RecordExtent> frames;  // inside the file, in any order
  // Records before each frame, and at the end the number of all. Empty: each frame is one record.
  std::vector<uint64_t> first = {};
  bool is_packed = false;  // else a frame is the record
  // Of a packed file, the most bytes that a frame of one record unpacks to. Where that is little, such frames
  // are read together, too.
  uint64_t most_unpacked = ~uint64_t{0};
  std::string refused = {};  // what is wrong with it; each of its records is that error
};

struct UnpackedFrame {
  BufferPtr bytes;
  std::vector<RecordExtent> records;  // inside `bytes`
};

struct FramedFormat {
  std::string name;
  Schema schema;
  // What a frame unpacks to, checked against the size it may have, in `memory` or anywhere else. Any thread.
  // Errors are said without file and byte, which the source adds. The file may have changed since it was
  // opened.
  std::function<Status(size_t file, uint64_t frame, const Record& packed, MadeBytes& memory,
                       UnpackedFrame& out)>
      unpack = nullptr;
  // It copies a frame before it looks at it, if that may be mapped: kLeastMapped bytes or more.
  bool copies_frames = false;
  // See RecordFormat. Null: a record is its one field.
  std::function<Status(const Record& record, std::vector<Tensor>& fields)> read = nullptr;
  std::string options = "";
  // What else the source says of itself; an object.
  Value metadata = {};
};

Result<SourcePtr> framed_files(FramedFormat format, const OpenRequest& request,
                               std::vector<FramedFile> files);

}  // namespace headrace
