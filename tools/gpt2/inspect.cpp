// gpt2 inspect: what a weight file holds, and what it takes to run it.
#include <cinttypes>
#include <cstring>

#include "common/error.h"
#include "common/json.h"
#include "common/output.h"
#include "common/text.h"
#include "gpt2/commands.h"
#include "gpt2/loaded.h"
#include "minigpt/version.h"

namespace minigpt::gpt2 {
namespace {

const struct {
    Bias bit;
    const char* name;
} kBiasNames[] = {
    {kBiasLn1, "ln_1"}, {kBiasAttnQkv, "attn.c_attn"}, {kBiasAttnProj, "attn.c_proj"},
    {kBiasLn2, "ln_2"}, {kBiasFc, "mlp.c_fc"},         {kBiasMlpProj, "mlp.c_proj"},
    {kBiasLnF, "ln_f"},
};

// How many numbers are subnormal as the f32 that kernels compute with, which armv7's vector units
// take for zero, see models/FORMAT.md. An f16 never is, nor a grouped type's number.
uint64_t count_subnormals(const TensorInfo& tensor) {
    uint64_t n = 0;
    const unsigned char* bytes = static_cast<const unsigned char*>(tensor.data);
    size_t size = tensor.type == ElementType::f16 ? 0 : bytes_of(tensor.type);
    uint32_t fraction = 0x7f, exponent = 0x7f80;  // bf16
    if (tensor.type == ElementType::f32)
        fraction = 0x7fffff, exponent = 0x7f800000;
    for (uint64_t at = 0; size != 0 && at + size <= tensor.bytes; at += size) {
        uint32_t bits = 0;
        memcpy(&bits, bytes + at, size);
        n += (bits & exponent) == 0 && (bits & fraction) != 0;
    }
    return n;
}

std::string shape_text(const TensorSpec& spec, const char* separator) {
    std::string text = std::to_string(spec.shape[0]);
    return spec.n_dims == 1 ? text : text + separator + std::to_string(spec.shape[1]);
}

const char* layout_name(Layout layout) {
    switch (layout) {
        case Layout::vector:
            return "vector";
        case Layout::rows:
            return "rows";
        case Layout::panels:
            return "panels";
    }
    return "?";
}

const char* kind_name(TokenizerKind kind) {
    switch (kind) {
        case TokenizerKind::none:
            return "none";
        case TokenizerKind::bpe:
            return "bpe";
        case TokenizerKind::chars:
            return "chars";
    }
    return "?";
}

struct Memory {
    uint64_t file_bytes;
    size_t kv_bytes;       // the cache of one sequence
    size_t session_bytes;  // that and everything else a run allocates
};

Memory measure(const Options& options, const Loaded& loaded) {
    Memory memory{loaded.model.file_bytes(), 0, 0};
    SessionOptions session = session_options(options, loaded);
    size_t two = 0;
    require(session_bytes(loaded.model, session, &memory.session_bytes), loaded.name);
    session.n_seq = 2;
    // A second sequence adds its cache and nothing else. It may be too much for a small machine.
    if (session_bytes(loaded.model, session, &two).ok())
        memory.kv_bytes = two - memory.session_bytes;
    return memory;
}

const char* json_bool(bool value) {
    return value ? "true" : "false";
}

std::string config_json(const Config& c) {
    std::string biases;
    for (const auto& bias : kBiasNames) {
        if ((c.biases & bias.bit) == 0)
            continue;
        biases += (biases.empty() ? "" : ",") + json_string(bias.name);
    }
    return format(
               "{\"n_vocab\":%u,\"n_rows\":%u,\"n_ctx\":%u,\"n_embd\":%u,\"n_head\":%u,"
               "\"head_dim\":%u,\"n_layer\":%u,\"n_ff\":%u,",
               c.n_vocab, c.n_rows, c.n_ctx, c.n_embd, c.n_head, c.head_dim(), c.n_layer, c.n_ff) +
           "\"layer_norm_epsilon\":" + shortest(c.layer_norm_epsilon) +
           ",\"activation\":" + json_string(name_of(c.activation)) + ",\"biases\":[" + biases +
           "],\"tied\":" + json_bool(c.tied) +
           ",\"scale_attn_weights\":" + json_bool(c.scale_attn_weights) +
           ",\"scale_attn_by_inverse_layer_idx\":" + json_bool(c.scale_attn_by_inverse_layer_idx) +
           "}";
}

void write_json(Output& out, const Options& options, const Loaded& loaded) {
    const Model& model = loaded.model;
    Memory memory = measure(options, loaded);
    out.write("{\"config\":" + config_json(model.config()) +
              ",\"subnormals\":" + json_bool(model.has_subnormals()));
    out.write(format(",\n\"parameters\":%" PRIu64 ",\"parameters_untied\":%" PRIu64,
                     parameter_count(model.config(), false),
                     parameter_count(model.config(), true)));
    out.write(format(",\n\"memory\":{\"file_bytes\":%" PRIu64
                     ",\"kv_bytes\":%zu,\"session_bytes\":%zu}",
                     memory.file_bytes, memory.kv_bytes, memory.session_bytes));
    out.write(format(
        ",\n\"tokenizer\":{\"kind\":\"%s\",\"tokens\":%zu,\"eos\":%s}",
        kind_name(loaded.tokenizer.kind()), loaded.tokenizer.n_tokens(),
        loaded.tokenizer.eos() < 0 ? "null" : std::to_string(loaded.tokenizer.eos()).c_str()));
    out.write(",\n\"source\":{\"format\":" + json_string(model.source_format()) +
              ",\"name\":" + json_string(model.source_name()) +
              ",\"converter\":" + json_string(model.converter()) + "}");
    out.write(format(",\n\"version\":\"%s\"", kVersion));
    out.write(format(",\n\"isa\":\"%s\",\"bit_exact\":%s,\"threads\":%zu", loaded.compute.isa(),
                     loaded.compute.bit_exact() ? "true" : "false", loaded.compute.n_threads()));
    out.write(",\n\"tensors\":[");
    for (size_t i = 0; i < model.n_tensors(); i++) {
        TensorInfo tensor = model.tensor(i);
        out.write((i == 0 ? "\n{\"name\":" : ",\n{\"name\":") + json_string(tensor.spec.name));
        out.write(format(",\"shape\":[%s],\"type\":\"%s\",\"layout\":\"%s\",\"bytes\":%" PRIu64
                         ",\"subnormals\":%" PRIu64 "}",
                         shape_text(tensor.spec, ",").c_str(), name_of(tensor.type),
                         layout_name(tensor.spec.layout), tensor.bytes, count_subnormals(tensor)));
    }
    out.write("]}\n");
}

void write_line(Output& out, const char* name, const std::string& value) {
    out.write(format("%-22s ", name) + value + "\n");
}

// The file's words may hold anything: they are shown as in JSON, where nothing is lost.
std::string escaped(const char* text) {
    std::string quoted = json_string(text);
    return quoted.substr(1, quoted.size() - 2);
}

void write_config(Output& out, const Config& c) {
    const struct {
        const char* name;
        uint32_t value;
    } sizes[] = {{"n_vocab", c.n_vocab}, {"n_ctx", c.n_ctx},         {"n_embd", c.n_embd},
                 {"n_head", c.n_head},   {"head_dim", c.head_dim()}, {"n_layer", c.n_layer},
                 {"n_ff", c.n_ff}};
    for (const auto& size : sizes)
        write_line(out, size.name, std::to_string(size.value));
    if (c.n_rows != c.n_vocab) {
        write_line(out, "rows of the table",
                   format("%u, %u of them padding", c.n_rows, c.n_rows - c.n_vocab));
    }
    write_line(out, "layer_norm_epsilon", shortest(c.layer_norm_epsilon));
    write_line(out, "activation", name_of(c.activation));
    write_line(out, "output head", c.tied ? "the token table" : "of its own");
    std::string absent;
    for (const auto& bias : kBiasNames) {
        if ((c.biases & bias.bit) == 0)
            absent += std::string(absent.empty() ? "" : " ") + bias.name;
    }
    write_line(out, "biases", absent.empty() ? "all" : "all but " + absent);
    if (!c.scale_attn_weights)
        write_line(out, "scores", "not divided by sqrt(head_dim)");
    if (c.scale_attn_by_inverse_layer_idx)
        write_line(out, "scores", "divided by layer + 1");
}

void write_text(Output& out, const Options& options, const Loaded& loaded) {
    const Model& model = loaded.model;
    const Config& config = model.config();
    write_line(out, "model", escaped(loaded.name.c_str()));
    write_line(out, "made from",
               escaped(model.source_format()) + " " + escaped(model.source_name()));
    write_line(out, "made by", escaped(model.converter()));
    write_config(out, config);
    if (model.has_subnormals())
        write_line(out, "subnormal weights", "some; armv7 runs them on its scalar kernels");
    write_line(out, "parameters", grouped(parameter_count(config, false)));
    write_line(out, "with the head apart", grouped(parameter_count(config, true)));
    std::string kind = kind_name(loaded.tokenizer.kind());
    if (loaded.tokenizer.eos() >= 0) {
        kind += format(", <|endoftext|> is %d", loaded.tokenizer.eos());
    }
    write_line(out, "vocabulary", kind);
    Memory memory = measure(options, loaded);
    write_line(out, "file", grouped(memory.file_bytes) + " bytes");
    write_line(out, "KV cache", grouped(memory.kv_bytes) + " bytes");
    write_line(out, "session, cache and all", grouped(memory.session_bytes) + " bytes");
    write_line(out, "library", kVersion);
    write_line(
        out, "kernels",
        format("%s, threads %zu%s", loaded.compute.isa(), loaded.compute.n_threads(),
               loaded.compute.bit_exact() ? "" : "; the bits are its own, not those of others"));
    out.write("\ntensors\n");
    for (size_t i = 0; i < model.n_tensors(); i++) {
        TensorInfo tensor = model.tensor(i);
        uint64_t n_subnormals = count_subnormals(tensor);
        out.write(format("  %-28s %-14s %-5s %15s bytes", tensor.spec.name,
                         shape_text(tensor.spec, " x ").c_str(), name_of(tensor.type),
                         grouped(tensor.bytes).c_str()));
        if (n_subnormals > 0)
            out.write(format(", %" PRIu64 " subnormal", n_subnormals));
        out.write("\n");
    }
}

}  // namespace

void inspect(const Options& options) {
    Loaded loaded(options);
    Output out;
    if (options.json) {
        write_json(out, options, loaded);
    } else {
        write_text(out, options, loaded);
    }
    out.finish();
}

}  // namespace minigpt::gpt2
