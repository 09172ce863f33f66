#include "networks/sample.h"

#include "minigpt/generate.h"

namespace minigpt::networks {

Status sample_text(Network& network, const Vocabulary& vocabulary, const std::string& prompt,
                   size_t n_new, uint64_t seed, const std::string& stop, std::string* text,
                   bool (*is_interrupted)()) {
    std::vector<int32_t> ids;
    MINIGPT_TRY(vocabulary.encode(prompt, &ids));
    if (ids.empty())
        return Status::error(Code::bad_text, "an empty prompt");
    SamplerOptions options;
    options.seed = seed;
    Sampler sampler;
    MINIGPT_TRY(sampler.create(options, network.n_vocab()));
    std::vector<float> logits(network.n_vocab());
    text->clear();
    for (size_t i = 0; i < n_new && (is_interrupted == nullptr || !is_interrupted()); ++i) {
        network.logits_after(logits.data(), ids.data(), ids.size());
        MINIGPT_TRY(check_logits(logits.data(), logits.size(), ids.size() - 1));
        ids.push_back(sampler.sample(logits.data(), nullptr, 0));
        *text += vocabulary.decode({ids.back()});
        size_t end = stop.empty() ? std::string::npos : text->find(stop);
        if (end != std::string::npos) {
            text->resize(end);
            break;
        }
    }
    return Status();
}

}  // namespace minigpt::networks
