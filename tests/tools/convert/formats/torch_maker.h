// Small writers of pickles, zip archives and PyTorch's two containers.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/tools/convert/maker.h"

namespace minigpt::test {

// Opcodes that leave one value on the stack; they nest.
namespace pickle {
std::string text(const std::string& utf8);
std::string integer(int64_t n);
std::string none();
std::string boolean(bool value);
std::string real(double x);
std::string tuple(const std::vector<std::string>& values);
std::string sizes(const std::vector<uint64_t>& values);
std::string list(const std::vector<std::string>& values);
std::string dict(const std::vector<std::pair<std::string, std::string>>& members);
std::string named(const std::string& module, const std::string& name);
std::string call(const std::string& callee, const std::string& arguments);
std::string ordered_dict(const std::vector<std::pair<std::string, std::string>>& members);
std::string storage(const std::string& type, const std::string& key, uint64_t numel,
                    const std::string& place = "cpu", bool is_legacy = false);
std::string tensor(const std::string& storage, uint64_t offset, const std::vector<uint64_t>& shape,
                   const std::vector<uint64_t>& strides);
std::string whole(const std::string& value);  // PROTO 2, the value, STOP
}  // namespace pickle

struct ZipMember {
    std::string name, data;
    unsigned method = 0;
    bool descriptor = false;  // sizes and checksum behind the data, 0 before it
    bool zip64 = false;
    bool no_checksum = false;
    std::string unpacked = {};  // what packed data becomes
};

std::string zip_archive(const std::vector<ZipMember>& members);

// Numbers under a key, and how PyTorch calls their type: FloatStorage, ...
struct TorchNumbers {
    std::string type, data;
};

// Storages are keyed 0, 1, 2, ... An object names them by pickle::storage.
std::string torch_zip(const std::string& object, const std::vector<TorchNumbers>& storages,
                      const ZipMember& like = {});
std::string torch_legacy(const std::string& object, const std::vector<TorchNumbers>& storages);

// A model's tensors as PyTorch would have them, to be changed before they are written.
struct TorchModel {
    std::vector<std::pair<std::string, std::string>> tensors;  // name, opcodes
    std::vector<TorchNumbers> storages;
    bool is_legacy = false;

    // Adds a contiguous tensor in a storage of its own; its key is returned.
    std::string add(const SavedTensor& tensor, const std::string& place = "cpu");
    std::string& tensor(const std::string& name);
    std::string state_dict() const { return pickle::ordered_dict(tensors); }
    // A file of an object that may hold state_dict().
    std::string file(const std::string& object) const;
};

std::string torch_type(const std::string& dtype);
SavedTensor transposed(const SavedTensor& tensor);

// Hugging Face's names; linear: the four matrices of a layer the other way round.
TorchModel torch_model(const HfModel& model, bool linear, const std::string& prefix = "",
                       bool is_legacy = false);

Converted convert_with(const convert::Options& options);
// Converts a file and compares the tensors; the report.
convert::Report check_torch(const std::string& file, const std::vector<SavedTensor>& expected,
                            convert::Options options = {});
// Converting the file fails, and says each word.
void check_torch_refused(const std::string& file, const std::vector<std::string>& words,
                         convert::Options options = {});

}  // namespace minigpt::test
