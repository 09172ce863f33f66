// What the table of options says to a reader; and the word that a mistyped one was meant to be.
#include <algorithm>
#include <cstring>

#include "common/options.h"
#include "common/program.h"
#include "common/text.h"

namespace minigpt::tools {
namespace {

constexpr size_t kColumn = 26, kWidth = 98;

// Appends words to a line that has `column` characters, and breaks lines before kWidth.
void append_wrapped(const std::string& text, size_t indent, size_t column, std::string* out) {
    bool is_first = true;
    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find_first_of(" \n", at), text.size());
        size_t n = end - at;
        if (!is_first && column + 1 + n > kWidth) {
            *out += '\n' + std::string(indent, ' ');
            column = indent;
        } else if (!is_first && column > indent) {
            *out += ' ';
            column++;
        }
        out->append(text, at, n);
        column += n;
        is_first = false;
        if (end < text.size() && text[end] == '\n') {
            *out += '\n' + std::string(indent, ' ');
            column = indent;
        }
        at = end + 1;
    }
    *out += '\n';
}

void append_row(const std::string& left, const std::string& help, std::string* out) {
    std::string begin = "  " + left;
    if (begin.size() >= kColumn) {
        *out += begin + '\n' + std::string(kColumn, ' ');
    } else {
        begin.resize(kColumn, ' ');
        *out += begin;
    }
    append_wrapped(help, kColumn, kColumn, out);
}

void append_options(const Program& program, unsigned takers, std::string* out) {
    for (const OptionGroup& group : program.groups) {
        bool has_title = false;
        for (const Option& option : group.options) {
            if (takers != ~0u && (option.takers & takers) == 0)
                continue;
            if (!has_title)
                *out += std::string("\n") + group.title + ":\n";
            has_title = true;
            std::string value = option.value == nullptr ? "" : std::string(" ") + option.value;
            append_row(option.names + value, option.help, out);
        }
    }
    *out += "\nOther:\n";
    append_row("-h, --help", "this text", out);
    append_row("-v, --version", "the version", out);
}

// Edits: a letter more, less, or another, or two that changed places.
size_t distance(const std::string& a, const std::string& b) {
    std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); i++) {
        for (size_t j = 0; j <= b.size(); j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
            d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + other});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[a.size()][b.size()];
}

}  // namespace

std::string nearest(const std::string& wrong, const std::vector<std::string>& words) {
    std::string best;
    size_t fewest = SIZE_MAX;
    for (const std::string& word : words) {
        // One begins with all of the other: --temperature, --temp; generat.
        size_t shared = std::min(word.size(), wrong.size());
        bool begins = shared >= 4 && word.compare(0, shared, wrong, 0, shared) == 0;
        size_t edits = begins ? 1 : distance(wrong, word);
        bool is_near = begins || edits <= std::min<size_t>(2, wrong.size() / 4);
        if (is_near && edits < fewest)
            fewest = edits, best = word;
    }
    return best;
}

std::string usage_text(const Program& program) {
    std::string out;
    for (const char* usage : program.usage)
        out += (out.empty() ? "usage: " : "       ") + program_name() + " " + usage + "\n";
    return out;
}

std::string help_text(const Program& program, const Subcommand* subcommand) {
    std::string out;
    if (subcommand != nullptr) {
        out =
            "usage: " + program_name() + " " + subcommand->name + " " + subcommand->usage + "\n\n";
        append_wrapped(subcommand->summary, 0, 0, &out);
        append_options(program, subcommand->bit, &out);
    } else {
        out = usage_text(program) + '\n';
        append_wrapped(program.about, 0, 0, &out);
        if (!program.subcommands.empty()) {
            out += "\nSubcommands:\n";
            for (const Subcommand& each : program.subcommands)
                append_row(each.name, each.summary, &out);
            append_row("help SUBCOMMAND", "the flags of a subcommand", &out);
        }
        if (!program.words.empty())
            out += std::string("\n") + program.words_title + ":\n";
        for (const Word& word : program.words)
            append_row(word.name, word.help, &out);
        if (program.has_default)
            out += std::string("\nThe flags of ") + program.subcommands[0].name + ":\n";
        append_options(program, program.has_default ? program.subcommands[0].bit : ~0u, &out);
    }
    if (!program.notes.empty()) {
        out += '\n';
        append_wrapped(program.notes, 0, 0, &out);
    }
    return out;
}

}  // namespace minigpt::tools
