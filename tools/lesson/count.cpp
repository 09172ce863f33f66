// Lesson 5: 163 million parameters, or 124?
#include <cstring>

#include "common/error.h"
#include "common/output.h"
#include "lesson/lesson.h"
#include "lesson/svg.h"
#include "minigpt/weights.h"

namespace minigpt::lesson {
namespace {

Config gpt2_config(uint32_t n_layer, uint32_t n_embd, uint32_t n_head, bool tied) {
    Config config;
    config.n_vocab = config.n_rows = 50257;
    config.n_ctx = 1024;
    config.n_embd = n_embd;
    config.n_head = n_head;
    config.n_layer = n_layer;
    config.n_ff = 4 * n_embd;
    config.tied = tied;
    return config;
}

std::string millions(uint64_t n) {
    return cli::format("%.1f M", static_cast<double>(n) / 1e6);
}

std::string shape_of(const TensorSpec& spec) {
    return spec.n_dims == 1 ? cli::format("(%zu)", spec.shape[0])
                            : cli::format("(%zu, %zu)", spec.shape[0], spec.shape[1]);
}

// Numbers in all tensors, added one by one.
uint64_t added_up(const Config& config) {
    uint64_t sum = 0;
    for (size_t i = 0; i < tensor_count(config); i++) {
        TensorSpec spec = tensor_spec(config, i);
        sum += uint64_t{spec.shape[0]} * spec.shape[1];
    }
    return sum;
}

// Every tensor, one layer standing for all, each as often as it is there.
void show_tensors(Page& page, const Config& config) {
    std::vector<Names> cells = {{"tensor", "shape", "numbers", "times", "together"}};
    uint64_t sum = 0;
    for (size_t i = 0; i < tensor_count(config); i++) {
        TensorSpec spec = tensor_spec(config, i);
        bool in_layer = strncmp(spec.name, "h.", 2) == 0;
        if (in_layer && strncmp(spec.name, "h.0.", 4) != 0)
            continue;
        uint64_t n = uint64_t{spec.shape[0]} * spec.shape[1], times = in_layer ? config.n_layer : 1;
        sum += n * times;
        cells.push_back({in_layer ? std::string("h.*.") + (spec.name + 4) : spec.name,
                         shape_of(spec), cli::grouped(n), std::to_string(times),
                         cli::grouped(n * times)});
    }
    cells.push_back({"sum", "", "", "", cli::grouped(sum)});
    page.table(cells);
    page.claim(sum == parameter_count(config, false), "the sum is parameter_count of the library");
}

void show_sizes(Page& page) {
    page.say(
        "The same two counts for all four sizes. The paper's own table has 117 M for the smallest, "
        "which its authors later called a mistake.");
    const struct {
        const char* name;
        uint32_t n_layer, n_embd, n_head;
    } sizes[] = {{"small", 12, 768, 12},
                 {"medium", 24, 1024, 16},
                 {"large", 36, 1280, 20},
                 {"XL", 48, 1600, 25}};
    std::vector<Names> cells = {
        {"GPT-2", "n_layer", "n_embd", "table once", "table twice", "difference"}};
    bool adds_up = true;
    for (const auto& size : sizes) {
        Config tied = gpt2_config(size.n_layer, size.n_embd, size.n_head, true);
        Config untied = gpt2_config(size.n_layer, size.n_embd, size.n_head, false);
        uint64_t once = parameter_count(tied, false), twice = parameter_count(tied, true);
        adds_up = adds_up && added_up(tied) == once && added_up(untied) == twice &&
                  parameter_count(untied, false) == twice;
        cells.push_back({size.name, std::to_string(size.n_layer), std::to_string(size.n_embd),
                         millions(once), millions(twice),
                         cli::format("%.1f %%", 100.0 * static_cast<double>(twice - once) /
                                                    static_cast<double>(once))});
    }
    page.table(cells);
    page.claim(adds_up, "each is the sum of its tensors, added up one by one");
}

}  // namespace

void count(Page& page) {
    page.title("count", "5  The count that was wrong: 163 million, or 124?");
    page.say(
        "Write GPT-2 small by hand, let the framework count its parameters, and it says 163 "
        "million. The model is known as the one with 124 million. Here is every tensor with its "
        "shape: wte is the table of tokens, wpe that of positions, and h.* is a layer, of which "
        "there are 12:");
    Config config = gpt2_config(12, 768, 12, true);
    show_tensors(page, config);

    uint64_t once = parameter_count(config, false), twice = parameter_count(config, true);
    uint64_t table = uint64_t{50257} * 768;
    page.say(
        "The last step of the model, the output head, is a product with a matrix of (50257, 768), "
        "the shape of wte. Made as a layer of its own it is one more tensor, and the count is "
        "wrong "
        "by it. In GPT-2 the head is wte: the table that turns a token into a vector turns vectors "
        "into scores of tokens, and is there once.");
    page.table({{"table once", cli::grouped(once), millions(once)},
                {"the head apart", cli::grouped(table), millions(table)},
                {"table twice", cli::grouped(twice), millions(twice)}});
    page.claim(once == 124439808 && millions(once) == "124.4 M", "once: 124,439,808, or 124.4 M");
    page.claim(twice == 163037184 && millions(twice) == "163.0 M",
               "twice: 163,037,184, or 163.0 M");
    page.claim(twice - once == table, "the difference is the table, 50257 * 768");
    show_sizes(page);
    if (page.has_pictures()) {
        double layers = 12e-6, n = 768;
        page.picture("count.svg",
                     bars("Where GPT-2 small has its parameters", "part", "million numbers",
                          {"wte", "wpe", "attention", "mlp", "norms", "head, if apart"},
                          {{"",
                            {static_cast<double>(table) / 1e6, 1024 * n / 1e6,
                             layers * (4 * n * n + 4 * n), layers * (8 * n * n + 5 * n),
                             (layers * 4 * n + 2e-6 * n), static_cast<double>(table) / 1e6}}}));
    }
}

}  // namespace minigpt::lesson
