// Small writers of TensorFlow checkpoints: protobuf fields, snappy, tables, shards.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/tools/convert/maker.h"

namespace minigpt::test {

std::string varint(uint64_t value);
namespace proto {
std::string number(unsigned field, uint64_t value);
std::string bytes(unsigned field, const std::string& value);
std::string fixed32(unsigned field, uint32_t value);
}  // namespace proto

// Bit by bit, as RFC 3720 defines it; and as tables keep it.
uint32_t plain_crc32c(const std::string& bytes);
uint32_t masked_crc32c(const std::string& bytes);

// A snappy stream of literals and of copies with offsets of 1, 2 and 4 bytes.
std::string snappy(const std::string& bytes);

using Entries = std::vector<std::pair<std::string, std::string>>;  // key, value

// A block's bytes: entries that share prefixes, restarts every `interval` entries.
std::string table_block(const Entries& entries, size_t interval = 16);
// A block and its trailer; compression 1: packed first.
std::string sealed(const std::string& block, unsigned char compression = 0);

// A table of data blocks that are sealed already, each under the key that the index gives it.
std::string table_of(const Entries& blocks);
// One whose index block's values are as given.
std::string table_of(const std::string& data, const Entries& handles);

struct TableOptions {
    size_t per_block = 1000;  // entries
    size_t interval = 16;
    unsigned char compression = 0;
};
std::string table(const Entries& entries, const TableOptions& options = {});

// A checkpoint, to be changed before it is written.
struct TfModel {
    struct Tensor {
        SavedTensor saved;  // under TensorFlow's name; dtype F32, F16, BF16 or a number
        uint64_t shard = 0;
        std::string more;  // fields after the others: the last of a field counts
    };
    std::vector<Tensor> tensors;
    uint64_t n_shards = 1;
    std::string header;                         // empty: as it should be
    Entries extra;                              // entries as they are
    std::map<std::string, std::string> fields;  // hparams.json's
    TableOptions options;

    Tensor& tensor(const std::string& name);
    Entries entries(std::vector<std::string>* shards) const;
    void write(const std::string& folder, const std::string& prefix = "model.ckpt") const;
};

// The model of a Hugging Face folder under OpenAI's names, its tensors dealt out to the shards.
TfModel tf_model(const HfModel& model, uint64_t n_shards = 1);

}  // namespace minigpt::test
