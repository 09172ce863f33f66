#include "networks/config.h"

namespace minigpt::networks {
namespace {

Status check_size(const char* name, size_t value, size_t least, size_t most) {
    if (value >= least && value <= most)
        return Status();
    return Status::error(Code::bad_argument, "%s: found %zu, expected %zu to %zu", name, value,
                         least, most);
}

// T: the value's type. The limits are compared in it, too: 1e-6f is less than 1e-6.
template <typename T>
Status check_number(const char* name, T value, T least, T most) {
    if (value >= least && value <= most)
        return Status();
    return Status::error(Code::bad_argument, "%s: found %g, expected %g to %g", name,
                         static_cast<double>(value), static_cast<double>(least),
                         static_cast<double>(most));
}

}  // namespace

Status check(const TrainConfig& c) {
    if (c.architecture != Architecture::gpt && c.architecture != Architecture::mlp)
        return Status::error(Code::bad_argument, "model: found none that there is");
    MINIGPT_TRY(check_size("layers", c.n_layer, 1, 256));
    MINIGPT_TRY(check_size("embd", c.n_embd, 1, 8192));
    MINIGPT_TRY(check_size("heads", c.n_head, 1, c.n_embd));
    MINIGPT_TRY(check_size("ctx", c.n_ctx, 1, 8192));
    MINIGPT_TRY(check_size("window", c.window, 1, 1024));
    MINIGPT_TRY(check_size("batch", c.n_batch, 1, 4096));
    MINIGPT_TRY(check_size("iters", c.n_iters, 1, size_t{1} << 30));
    MINIGPT_TRY(check_size("eval-every", c.eval_every, 1, size_t{1} << 30));
    MINIGPT_TRY(check_size("eval-windows", c.eval_windows, 1, size_t{1} << 30));
    MINIGPT_TRY(check_size("warmup", c.n_warmup, 0, size_t{1} << 30));
    const struct {
        const char* name;
        float value, least, most;
    } numbers[] = {{"lr", c.lr, 1e-9f, 10},         {"lr-end", c.lr_end, 0, 1},
                   {"beta1", c.beta1, 0, 0.9999f},  {"beta2", c.beta2, 0, 0.99999f},
                   {"dropout", c.dropout, 0, 0.9f}, {"weight-decay", c.weight_decay, 0, 10},
                   {"clip", c.clip, 1e-6f, 1e6f}};
    for (const auto& n : numbers)
        MINIGPT_TRY(check_number(n.name, n.value, n.least, n.most));
    MINIGPT_TRY(check_number("val", c.val, 0.0, 0.9));
    if (c.n_embd % c.n_head != 0) {
        return Status::error(Code::bad_argument,
                             "embd: found %zu, expected a multiple of heads, %zu", c.n_embd,
                             c.n_head);
    }
    return Status();
}

}  // namespace minigpt::networks
