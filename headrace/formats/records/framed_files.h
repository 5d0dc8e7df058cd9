// The Source of files whose records are in frames that are unpacked one by one: compressed shards, chunks,
// groups.
//
// A format provides the positions of the frames, the number of records in each, how to unpack a frame, and
// the fields of a record. A file that is not packed has one frame per record. A block is a frame; frames of
// one record are read together, in any combination that a batch needs.
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
  // Records before each frame, with the total at the end. Empty: each frame is one record.
  std::vector<uint64_t> first = {};
  bool is_packed = false;  // otherwise a frame is the record itself
  // Of a packed file, the most bytes that a frame of one record unpacks to. If that is small, such frames are
  // read together, too.
  uint64_t most_unpacked = ~uint64_t{0};
  std::string refused = {};  // what is wrong with the file: the error of each of its records
};

struct UnpackedFrame {
  BufferPtr bytes;
  std::vector<RecordExtent> records;  // inside `bytes`
};

struct FramedFormat {
  std::string name;
  Schema schema;
  // Unpacks a frame, into `memory` or elsewhere; checks its size against the allowed size. Any thread. Errors
  // do not contain the file and byte, which the source adds. The file may have changed since it was opened.
  std::function<Status(size_t file, uint64_t frame, const Record& packed, MadeBytes& memory,
                       UnpackedFrame& out)>
      unpack = nullptr;
  // Whether `unpack` copies a frame before parsing it if it may be mapped: kLeastMapped bytes or more.
  bool copies_frames = false;
  // See RecordFormat. Null: a record has one field, its bytes.
  std::function<Status(const Record& record, std::vector<Tensor>& fields)> read = nullptr;
  std::string options = "";
  // Further metadata of the source; an object.
  Value metadata = {};
};

Result<SourcePtr> framed_files(FramedFormat format, const OpenRequest& request,
                               std::vector<FramedFile> files);

}  // namespace headrace
