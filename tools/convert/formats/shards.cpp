#include "convert/formats/shards.h"

#include <algorithm>
#include <set>

#include "common/file.h"
#include "convert/formats/safetensors.h"

namespace minigpt::convert {
namespace {

// Each tensor of the files is in the map, under that file, and the other way round.
Status check_map(const WeightMap& map, const std::string& file, const Checkpoint& checkpoint,
                 size_t first) {
    std::set<std::string> found;
    for (size_t i = first; i < checkpoint.tensors.size(); i++) {
        const std::string& name = checkpoint.tensors[i].name;
        auto entry = std::lower_bound(map.begin(), map.end(), std::make_pair(name, std::string()));
        if (entry == map.end() || entry->first != name || entry->second != file) {
            return Status::error(Code::bad_file,
                                 "%s: %s is left over: the index does not place "
                                 "it there",
                                 shown(file).c_str(), shown(name).c_str());
        }
        found.insert(name);
    }
    for (const auto& entry : map) {
        if (entry.second == file && found.count(entry.first) == 0) {
            return Status::error(Code::bad_file, "%s: %s is missing: the index places it there",
                                 shown(file).c_str(), shown(entry.first).c_str());
        }
    }
    return Status();
}

}  // namespace

Status add_shards(const std::string& path, Checkpoint* checkpoint,
                  const std::function<Status(const std::string&)>& add_file) {
    std::string name = name_of_path(path), folder = folder_of(path);
    WeightMap map;
    MINIGPT_TRY(within(name, read_weight_map(path, &map)));
    std::set<std::string> shards;
    for (const auto& entry : map)
        shards.insert(entry.second);
    for (const std::string& shard : shards) {
        std::string shard_path = join(folder, shard);
        if (path_kind(shard_path) == PathKind::missing) {
            return Status::error(Code::bad_file, "%s, a part that %s names, is missing",
                                 shown(shard).c_str(), name.c_str());
        }
        size_t first = checkpoint->tensors.size();
        MINIGPT_TRY(add_file(shard_path));
        MINIGPT_TRY(check_map(map, shard, *checkpoint, first));
    }
    checkpoint->files.insert(checkpoint->files.begin(), path);
    return Status();
}

}  // namespace minigpt::convert
