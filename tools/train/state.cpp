#include "train/state.h"

#include <cstring>
#include <type_traits>

#include "common/file.h"
#include "common/output_file.h"

namespace minigpt::train {
namespace {

// The file, little-endian: this line, a version, the lengths of three parts, the parts, and the
// hash of all before it.
constexpr char kMagic[24] = "minigpt training state\n";
constexpr uint64_t kVersion = 1;
constexpr size_t kMaxBytes = static_cast<size_t>(1) << (sizeof(size_t) == 4 ? 30 : 36);

template <typename T>
void put(std::string* to, const T& value) {
    static_assert(std::is_trivially_copyable<T>::value);
    to->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_floats(std::string* to, const float* x, size_t n) {
    put(to, static_cast<uint64_t>(n));
    to->append(reinterpret_cast<const char*>(x), n * sizeof(float));
}

// Takes values off the front of bytes; ok() turns false where there are not enough.
class Taker {
public:
    Taker(const std::string& bytes, size_t at, size_t end) : bytes_(bytes), at_(at), end_(end) {}

    bool ok() const { return ok_; }
    bool is_at_end() const { return ok_ && at_ == end_; }
    size_t at() const { return at_; }

    void bytes(void* to, size_t n) {
        ok_ = ok_ && n <= end_ - at_;
        if (!ok_)
            return;
        memcpy(to, bytes_.data() + at_, n);
        at_ += n;
    }
    template <typename T>
    T value() {
        T value = {};
        bytes(&value, sizeof value);
        return value;
    }
    void floats(float* to, size_t n) {
        ok_ = value<uint64_t>() == n && ok_;
        bytes(to, n * sizeof(float));
    }

private:
    const std::string& bytes_;
    size_t at_, end_;
    bool ok_ = true;
};

Status damaged(const char* what) {
    return Status::error(Code::bad_file, "%s", what);
}

// Calls f with each of the configuration's values; sizes as uint64_t on every machine.
template <typename C, typename F>
void for_each_value(C& c, F&& f) {
    f(c.architecture), f(c.mask);
    for (auto* size : {&c.n_layer, &c.n_head, &c.n_embd, &c.n_ctx, &c.window, &c.n_batch,
                       &c.n_iters, &c.n_warmup, &c.eval_every, &c.eval_windows})
        f(*size);
    for (auto* number :
         {&c.lr, &c.lr_end, &c.beta1, &c.beta2, &c.weight_decay, &c.clip, &c.dropout})
        f(*number);
    f(c.seed), f(c.val);
}

std::string bytes_of_config(const networks::TrainConfig& config) {
    std::string bytes;
    for_each_value(config, [&](const auto& value) {
        using T = std::remove_cv_t<std::remove_reference_t<decltype(value)>>;
        if constexpr (std::is_floating_point<T>::value) {
            put(&bytes, value);
        } else {
            put(&bytes, static_cast<uint64_t>(value));
        }
    });
    return bytes;
}

bool take_config(Taker* taker, networks::TrainConfig* config) {
    bool fits = true;
    for_each_value(*config, [&](auto& value) {
        using T = std::remove_reference_t<decltype(value)>;
        if constexpr (std::is_floating_point<T>::value) {
            value = taker->value<T>();
        } else {
            uint64_t whole = taker->value<uint64_t>();
            value = static_cast<T>(whole);
            fits = fits && static_cast<uint64_t>(value) == whole;
        }
    });
    return fits && taker->is_at_end() && config->architecture <= networks::Architecture::mlp;
}

}  // namespace

uint64_t fnv1a(const void* data, size_t n_bytes) {
    const unsigned char* p = static_cast<const unsigned char*>(data);
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n_bytes; ++i)
        hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash;
}

State State::of(const networks::Trainer& trainer, const std::string& text) {
    State state;
    state.config_ = trainer.config();
    state.text_hash_ = fnv1a(text.data(), text.size());
    const networks::Vocabulary& vocabulary = trainer.corpus().vocabulary;
    state.tables_.assign(static_cast<const char*>(vocabulary.tables()), vocabulary.bytes());
    const networks::Progress& p = trainer.progress();
    std::string* to = &state.numbers_;
    put(to, p.iteration), put(to, p.last_loss), put(to, p.loss_sum);
    put(to, p.n_losses), put(to, p.best_loss);
    put(to, static_cast<uint64_t>(p.evaluations.size()));
    for (const networks::Evaluation& e : p.evaluations)
        put(to, e);
    for (const float* array : trainer.arrays())
        put_floats(to, array, trainer.network().parameters().size());
    return state;
}

uint64_t State::iteration() const {
    return Taker(numbers_, 0, numbers_.size()).value<uint64_t>();
}

Status State::write(const std::string& path, FileLock* lock) const {
    std::string head(kMagic, sizeof kMagic), config = bytes_of_config(config_);
    put(&head, kVersion), put(&head, text_hash_);
    for (size_t n_bytes : {config.size(), tables_.size(), numbers_.size()})
        put(&head, static_cast<uint64_t>(n_bytes));
    std::string all = head + config + tables_ + numbers_;
    put(&all, fnv1a(all.data(), all.size()));
    tools::OutputFile file;
    MINIGPT_TRY(file.create(path));
    MINIGPT_TRY(file.write(all.data(), all.size()));
    if (lock == nullptr)
        return file.commit();
    MINIGPT_TRY(lock->check(path));
    lock->take(file.descriptor());  // before the file has its name
    MINIGPT_TRY(file.commit());
    lock->settle();
    return Status();
}

Status State::read(const std::string& path) {
    std::string all;
    MINIGPT_TRY(tools::read_text(path, kMaxBytes, &all));
    if (all.size() < sizeof kMagic + 8 || memcmp(all.data(), kMagic, sizeof kMagic) != 0)
        return damaged("not a training state");
    size_t end = all.size() - 8;
    Taker taker(all, sizeof kMagic, end);
    uint64_t version = taker.value<uint64_t>();
    if (version != kVersion) {
        return Status::error(Code::not_supported, "a training state of version %llu, not %llu",
                             static_cast<unsigned long long>(version),
                             static_cast<unsigned long long>(kVersion));
    }
    uint64_t hash;
    memcpy(&hash, all.data() + end, sizeof hash);
    if (hash != fnv1a(all.data(), end))
        return damaged("the training state is cut short or damaged");
    text_hash_ = taker.value<uint64_t>();
    uint64_t sizes[3];
    taker.bytes(sizes, sizeof sizes);
    size_t at = taker.at();
    std::string parts[3];
    for (size_t i = 0; i < 3; ++i) {
        if (!taker.ok() || sizes[i] > end - at)
            return damaged("the training state's parts are longer than it is");
        parts[i] = all.substr(at, static_cast<size_t>(sizes[i]));
        at += parts[i].size();
    }
    Taker config(parts[0], 0, parts[0].size());
    if (at != end || !take_config(&config, &config_))
        return damaged("the training state's configuration is not one");
    tables_ = parts[1], numbers_ = parts[2];
    return check(config_);
}

Status State::vocabulary(networks::Vocabulary* vocabulary) const {
    return vocabulary->of_tables(tables_.data(), tables_.size());
}

Status State::check_text(const std::string& text) const {
    if (fnv1a(text.data(), text.size()) == text_hash_)
        return Status();
    return Status::error(Code::bad_text, "another text than the one the run began with");
}

Status State::restore(networks::Trainer* trainer) const {
    Taker taker(numbers_, 0, numbers_.size());
    networks::Progress& p = trainer->progress();
    p.iteration = taker.value<uint64_t>();
    p.last_loss = taker.value<double>();
    p.loss_sum = taker.value<double>();
    p.n_losses = taker.value<uint64_t>();
    p.best_loss = taker.value<double>();
    uint64_t n_evaluations = taker.value<uint64_t>();
    p.evaluations.clear();
    while (taker.ok() && p.evaluations.size() < n_evaluations)
        p.evaluations.push_back(taker.value<networks::Evaluation>());
    for (float* array : trainer->arrays())
        taker.floats(array, trainer->network().parameters().size());
    if (!taker.is_at_end())
        return damaged("the training state has not the numbers of its configuration");
    return Status();
}

}  // namespace minigpt::train
