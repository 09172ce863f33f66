// Lesson 5: 163 million parameters, or 124?
#include <cstring>

#include "common/error.h"
#include "common/plot.h"
#include "common/text.h"
#include "lesson/lesson.h"
#include "minigpt/config.h"

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
    return tools::format("%.1f M", static_cast<double>(n) / 1e6);
}

std::string shape_of(const TensorSpec& spec) {
    return spec.n_dims == 1 ? tools::format("(%zu)", spec.shape[0])
                            : tools::format("(%zu, %zu)", spec.shape[0], spec.shape[1]);
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

// A framework's tensors for one of ours: q, k and v apart make three of c_attn's weight and bias.
size_t tensors_apart(const TensorSpec& spec) {
    return strstr(spec.name, "attn.c_attn.") != nullptr ? 3 : 1;
}

// Counts of tensors, not of numbers.
void show_tensor_counts(Page& page, const Config& config) {
    size_t here = tensor_count(config), apart = 0, in_layer = 0, in_layer_apart = 0, n_masks = 0;
    uint64_t numbers_here = 0;
    for (size_t i = 0; i < here; i++) {
        TensorSpec spec = tensor_spec(config, i);
        apart += tensors_apart(spec);
        numbers_here += uint64_t{spec.shape[0]} * spec.shape[1];
        n_masks += spec.shape[0] == config.n_ctx && spec.shape[1] == config.n_ctx;
        if (strncmp(spec.name, "h.0.", 4) == 0)
            in_layer++, in_layer_apart += tensors_apart(spec);
    }
    size_t n_layer = config.n_layer;
    page.say(
        "Tensors are counted differently, too. `convert` counts %zu in GPT-2 small: %zu in each of "
        "%zu layers, and wte, wpe and the two of ln_f. A program that keeps W_q, W_k and W_v "
        "apart, "
        "each with its bias, has 6 tensors where c_attn has 2, so %zu in each layer. If its head "
        "is a tensor of its own as well, that makes %zu:",
        here, in_layer, n_layer, in_layer_apart, apart + 1);
    auto row = [](const char* what, size_t layers, size_t each, size_t others) {
        return Names{what, tools::format("%zu * %zu + %zu", layers, each, others),
                     std::to_string(layers * each + others)};
    };
    page.table({{"tensors", "n_layer * each + others", "together"},
                row("as `convert` counts", n_layer, in_layer, 4),
                row("q, k, v apart", n_layer, in_layer_apart, 4),
                row("q, k, v apart, and a head", n_layer, in_layer_apart, 5),
                row("the published file: with masks", n_layer, in_layer + 1, 4)});
    page.claim(here == 148 && here == n_layer * in_layer + 4,
               "tensor_count of the library is 148 = 12 * 12 + 4");
    page.claim(apart + 1 == 197 && apart + 1 == n_layer * in_layer_apart + 5,
               "with q, k, v and the head apart it is 197 = 12 * 16 + 5");
    page.claim(numbers_here + uint64_t{50257} * 768 == parameter_count(config, true),
               "the 197 tensors hold the 163,037,184 numbers, the 148 hold 124,439,808");
    page.say(
        "The published file has 160 tensors. The other 12 are h.*.attn.bias, which is no bias but "
        "the mask: one triangle of ones a layer, (1024, 1024). A framework calls it a buffer: it "
        "is "
        "saved with the model, but training never changes it, so it is no parameter. This library "
        "keeps no mask. Its loops end at the last position that a row may see.");
    uint64_t masks = uint64_t{n_layer} * config.n_ctx * config.n_ctx;
    page.claim(masks == 12582912 && n_masks == 0,
               "12 masks are 12 * 1024 * 1024 = 12,582,912 numbers; no tensor here has that shape");
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
                         shape_of(spec), tools::grouped(n), std::to_string(times),
                         tools::grouped(n * times)});
    }
    cells.push_back({"sum", "", "", "", tools::grouped(sum)});
    page.table(cells);
    page.claim(sum == parameter_count(config, false), "the sum is parameter_count of the library");
}

void show_sizes(Page& page) {
    page.say(
        "The two counts of parameters for all four sizes. The paper's own table says 117 M for the "
        "smallest; its authors later called that a mistake.");
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
                         tools::format("%.1f %%", 100.0 * static_cast<double>(twice - once) /
                                                      static_cast<double>(once))});
    }
    page.table(cells);
    page.claim(adds_up, "each is the sum of its tensors, added up one by one");
}

}  // namespace

void count(Page& page) {
    page.title("count", "5  The count that was wrong: 163 million, or 124?");
    page.say(
        "Write GPT-2 small by hand and let the framework count its parameters: it says 163 "
        "million. "
        "The model is known as the one with 124 million. Here is every tensor with its shape. wte "
        "is the table of tokens, wpe the table of positions, and h.* is a layer, of which there "
        "are "
        "12:");
    Config config = gpt2_config(12, 768, 12, true);
    show_tensors(page, config);

    uint64_t once = parameter_count(config, false), twice = parameter_count(config, true);
    uint64_t table = uint64_t{50257} * 768;
    page.say(
        "The last step of the model, the output head, multiplies by a matrix of (50257, 768). That "
        "is the shape of wte. If the head is a layer of its own, it is one more tensor, and the "
        "count is too large by it. In GPT-2 the head is wte itself: the table turns a token into a "
        "vector, and later a vector into scores of tokens. It is stored once.");
    page.table({{"table once", tools::grouped(once), millions(once)},
                {"the head apart", tools::grouped(table), millions(table)},
                {"table twice", tools::grouped(twice), millions(twice)}});
    page.claim(once == 124439808 && millions(once) == "124.4 M", "once: 124,439,808, or 124.4 M");
    page.claim(twice == 163037184 && millions(twice) == "163.0 M",
               "twice: 163,037,184, or 163.0 M");
    page.claim(twice - once == table, "the difference is the table, 50257 * 768");
    show_tensor_counts(page, config);
    show_sizes(page);
    if (page.has_pictures()) {
        double layers = 12e-6, n = 768;
        page.picture(
            "count.svg",
            tools::bar_plot({"Where GPT-2 small has its parameters",
                             "part",
                             "million numbers",
                             {{"",
                               {static_cast<double>(table) / 1e6, 1024 * n / 1e6,
                                layers * (4 * n * n + 4 * n), layers * (8 * n * n + 5 * n),
                                (layers * 4 * n + 2e-6 * n), static_cast<double>(table) / 1e6}}}},
                            {"wte", "wpe", "attention", "mlp", "norms", "head, if apart"}));
    }
}

}  // namespace minigpt::lesson
