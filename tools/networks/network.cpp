#include "networks/network.h"

#include "networks/gpt.h"
#include "networks/mlp.h"

namespace minigpt::networks {

std::unique_ptr<Network> make_network(const TrainConfig& config, size_t n_vocab,
                                      const Compute& compute) {
    if (config.architecture == Architecture::mlp)
        return std::make_unique<Mlp>(config, n_vocab, compute);
    return std::make_unique<Gpt>(config, n_vocab, compute);
}

}  // namespace minigpt::networks
