#include "convert/convert.h"

#include <algorithm>

#include "common/file.h"

namespace minigpt::convert {
namespace {

// The sizes that are known, where the checkpoint makes no model.
std::string known_sizes(const SourceConfig& c) {
    const std::pair<const char*, const std::optional<uint64_t>*> sizes[] = {
        {"n_layer", &c.n_layer}, {"n_head", &c.n_head}, {"n_embd", &c.n_embd},
        {"n_ff", &c.n_ff},       {"n_ctx", &c.n_ctx},   {"n_rows", &c.n_rows}};
    std::string text;
    for (const auto& [name, size] : sizes) {
        if (*size)
            text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(**size);
    }
    if (c.activation)
        text += (text.empty() ? "" : ", ") + std::string(name_of(*c.activation));
    return text.empty() ? "unknown" : text;
}

// Our name for a tensor; what it is where it is none.
std::string taken_as(const Dialect& dialect, const std::string& name) {
    std::optional<Match> m = match(dialect, name);
    if (!m)
        return "?";
    return m->rule->role == Role::parameter ? m->target : "a buffer";
}

std::string tensors_text(const Checkpoint& checkpoint) {
    size_t widths[3] = {0, 0, 0};
    for (const SourceTensor& t : checkpoint.tensors) {
        widths[0] = std::max(widths[0], shown(t.name).size());
        widths[1] = std::max(widths[1], shown(t.dtype).size());
        widths[2] = std::max(widths[2], shape_text(t.shape).size());
    }
    std::string text;
    for (const SourceTensor& t : checkpoint.tensors) {
        const std::string cells[] = {shown(t.name), shown(t.dtype), shape_text(t.shape)};
        std::string row;
        for (size_t i = 0; i < 3; i++)
            row += "  " + cells[i] + std::string(widths[i] - cells[i].size(), ' ');
        text += row + "  " + taken_as(*checkpoint.dialect, t.name) + "\n";
    }
    return text;
}

std::string files_text(const Checkpoint& checkpoint) {
    std::string text;
    for (size_t i = 0; i < checkpoint.files.size() && i < 8; i++)
        text += (i > 0 ? ", " : "") + shown(name_of_path(checkpoint.files[i]));
    if (checkpoint.files.size() > 8)
        text += " and " + std::to_string(checkpoint.files.size() - 8) + " more";
    return text;
}

}  // namespace

Failure list(const Options& options, std::string* text) {
    std::unique_ptr<Checkpoint> checkpoint;
    OpenOptions open = {options.vocab, options.n_head, options.activation};
    if (Status status = open_checkpoint(options.source, open, &checkpoint); !status.ok())
        return about(options.source, status);
    Report report;
    Status planned = make_plan(*checkpoint, &report.plan);
    describe(*checkpoint, &report);
    *text = report_line("source", report.source_format + ", " + files_text(*checkpoint));
    if (planned.ok()) {
        const Config& config = report.plan.config;
        *text += report_line("model", config_text(config));
        *text += report_line("parameters", grouped(parameter_count(config, false)));
    } else {
        *text += report_line("model", known_sizes(checkpoint->config));
    }
    *text += report_line("vocabulary", vocabulary_text(report));
    for (const std::string& note : report.notes)
        *text += report_line("note", note);
    if (!planned.ok())
        *text += report_line("no model", planned.message());
    *text += report_line("tensors", std::to_string(checkpoint->tensors.size()));
    *text += tensors_text(*checkpoint);
    return {};
}

}  // namespace minigpt::convert
