// What was found and made, for a reader.
#include <cstdio>

#include "common/file.h"
#include "convert/convert.h"
#include "convert/formats/readers.h"

namespace minigpt::convert {
namespace {

std::string tensors_text(const Plan& plan) {
    std::string text = std::to_string(plan.tensors.size()) + " taken, left over: 0";
    if (plan.n_ignored > 0)
        text += ", mask buffers ignored: " + std::to_string(plan.n_ignored);
    if (plan.tied_copy)
        text += ", tied copy of the head: 1";
    return text;
}

}  // namespace

std::string vocabulary_text(const Report& report) {
    std::string n = grouped(report.n_tokens) + " token" + plural(report.n_tokens);
    std::string specials = report.n_specials == 0 ? ""
                           : report.n_specials == 1
                               ? ", one of them special"
                               : ", " + grouped(report.n_specials) + " of them special";
    std::string from = " (" + report.vocabulary_source + ")";
    switch (report.vocabulary_kind) {
        case TokenizerKind::none:
            return "none: token ids only, no text";
        case TokenizerKind::chars:
            return "characters, " + n + specials + from;
        case TokenizerKind::bpe:
            break;
    }
    return "byte-level BPE, " + n + specials + ", " + grouped(report.n_merges) + " merge" +
           plural(report.n_merges) + from;
}

std::string config_text(const Config& c) {
    char epsilon[32];
    snprintf(epsilon, sizeof epsilon, "%g", static_cast<double>(c.layer_norm_epsilon));
    std::string text = std::to_string(c.n_layer) + " layer" + plural(c.n_layer) + ", " +
                       std::to_string(c.n_head) + " head" + plural(c.n_head) + ", n_embd " +
                       std::to_string(c.n_embd) + ", n_ff " + std::to_string(c.n_ff) + ", n_ctx " +
                       std::to_string(c.n_ctx) + ", vocabulary " + grouped(c.n_rows) + ", " +
                       name_of(c.activation) + ", epsilon " + epsilon + ", " +
                       (c.tied ? "tied" : "untied") + " head";
    if (!c.scale_attn_weights)
        text += ", attention not scaled by the head size";
    if (c.scale_attn_by_inverse_layer_idx)
        text += ", attention scaled by the layer";
    return text;
}

std::string report_line(const char* name, std::string value) {
    std::string head = std::string(name) + ":";
    head.resize(13, ' ');
    for (char& c : value) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = '?';
    }
    return head + value + "\n";
}

std::string text_of(const Report& report, const Options& options) {
    const Config& config = report.plan.config;
    std::string parameters = grouped(parameter_count(config, false));
    if (config.tied) {
        parameters +=
            ", with the tied head counted twice " + grouped(parameter_count(config, true));
    }
    std::string type =
        report.plan.own_type == report.type
            ? std::string(name_of(report.type))
            : std::string(name_of(report.type)) + " from " + name_of(report.plan.own_type);
    const std::pair<const char*, std::string> lines[] = {
        {"source", report.source_format + ", " + name_of_path(options.source)},
        {"model", config_text(config)},
        {"tensors", tensors_text(report.plan)},
        {"parameters", parameters},
        {"vocabulary", vocabulary_text(report)},
        {"type", type},
        {"output", report.output.empty()
                       ? options.output + ", " + grouped(report.n_output_bytes) + " bytes"
                       : report.output},
    };
    std::string text;
    for (const auto& [name, value] : lines)
        text += report_line(name, value);
    for (const std::string& note : report.notes)
        text += report_line("note", note);
    if (report.n_subnormal > 0) {
        text += report_line("note", grouped(report.n_subnormal) + " subnormal weight" +
                                        plural(report.n_subnormal) +
                                        "; armv7 runs such a file by its scalar kernels");
    }
    return text;
}

std::optional<Activation> given_activation(const std::string& name) {
    for (Activation activation : {Activation::gelu_tanh, Activation::gelu_erf}) {
        if (name == name_of(activation))
            return activation;
    }
    return activation_of_name(name);
}

}  // namespace minigpt::convert
