#include "convert/formats/shards.h"

#include <algorithm>
#include <set>

#include "common/file.h"
#include "convert/codecs/json.h"

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

Status read_weight_map(const std::string& path, WeightMap* map) {
    std::string text;
    MINIGPT_TRY(read_text(path, kMaxText, &text));
    Json json(text.data(), text.size());
    bool found = false;
    Status status = json.object([&](const std::string& key) {
        if (key != "weight_map")
            return json.skip();
        found = true;
        return json.object([&](const std::string& tensor) {
            map->emplace_back(tensor, "");
            std::string& file = map->back().second;
            MINIGPT_TRY(json.string(&file));
            if (!file.empty() && file.find_first_of(std::string("/\0", 2)) == std::string::npos &&
                file != "." && file != "..") {
                return Status();
            }
            return Status::error(Code::bad_file, "%s: \"%s\" is no file name in this folder",
                                 shown(tensor).c_str(), shown(file).c_str());
        });
    });
    MINIGPT_TRY(status);
    MINIGPT_TRY(json.end());
    if (!found)
        return Status::error(Code::bad_file, "weight_map is missing");
    if (map->empty())
        return Status::error(Code::bad_file, "weight_map is empty");
    std::sort(map->begin(), map->end());
    return Status();
}

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
