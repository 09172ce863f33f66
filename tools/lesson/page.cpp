#include "lesson/page.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "common/error.h"
#include "common/output_file.h"
#include "common/text.h"

namespace minigpt::lesson {
namespace {

constexpr size_t kLine = 84;

std::string formatted(const char* pattern, va_list args) {
    char text[2048];
    vsnprintf(text, sizeof text, pattern, args);
    return text;
}

std::string wrapped(const std::string& text) {
    std::string out, line;
    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find(' ', at), text.size());
        std::string word = text.substr(at, end - at);
        at = end + 1;
        if (!line.empty() && line.size() + 1 + word.size() > kLine) {
            out += line + '\n';
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
    }
    return out + line + '\n';
}

std::string padded(const std::string& text, size_t width, bool to_the_left) {
    std::string space(width > text.size() ? width - text.size() : 0, ' ');
    return to_the_left ? text + space : space + text;
}

std::string table_text(const std::vector<Names>& cells) {
    std::vector<size_t> widths;
    std::string text;
    for (const Names& row : cells) {
        widths.resize(std::max(widths.size(), row.size()));
        for (size_t j = 0; j < row.size(); j++)
            widths[j] = std::max(widths[j], row[j].size());
    }
    for (const Names& row : cells) {
        std::string line = "    ";
        for (size_t j = 0; j < row.size(); j++)
            line += (j == 0 ? "" : "  ") + padded(row[j], widths[j], j == 0);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

}  // namespace

void Page::block(const std::string& text, Block kind) {
    // Blank lines between blocks; claims that follow each other are one, and so are lines.
    bool together = last_ == Block::none || (kind == last_ && kind != Block::text);
    write_((together ? "" : "\n") + text);
    last_ = kind;
}

void Page::title(const std::string& lesson, const std::string& text) {
    lesson_ = lesson;
    block(text + '\n' + std::string(text.size(), '=') + '\n');
}

void Page::say(const char* pattern, ...) {
    va_list args;
    va_start(args, pattern);
    block(wrapped(formatted(pattern, args)));
    va_end(args);
}

void Page::show(const char* pattern, ...) {
    va_list args;
    va_start(args, pattern);
    std::string text = formatted(pattern, args);
    va_end(args);
    std::string lines;
    for (size_t at = 0; at < text.size();) {
        size_t end = std::min(text.find('\n', at), text.size());
        lines += "    " + text.substr(at, end - at) + '\n';
        at = end + 1;
    }
    block(lines, Block::lines);
}

void Page::table(const std::vector<Names>& cells) {
    block(table_text(cells));
}

void Page::matrix(const std::string& name, const std::string& shape, const Matrix& a,
                  const Names& rows, const Names& cols, Sums sums) {
    bool whole = std::all_of(a.x.begin(), a.x.end(),
                             [](float x) { return std::isinf(x) || x == std::nearbyint(x); });
    std::vector<double> sum = row_sums(a);
    std::vector<Names> cells(1, Names(1));
    for (size_t j = 0; j < a.n_cols; j++)
        cells[0].push_back(padded(cols[j], whole ? 4 : 6, false));
    if (sums == Sums::shown)
        cells[0].push_back("|    sum");
    for (size_t i = 0; i < a.n_rows; i++) {
        cells.push_back({rows[i]});
        for (size_t j = 0; j < a.n_cols; j++)
            cells.back().push_back(number(static_cast<double>(a.at(i, j)), whole ? 0 : 3));
        if (sums == Sums::shown)
            cells.back().push_back("|  " + number(sum[i]));
    }
    if (std::all_of(cols.begin(), cols.end(), [](const std::string& col) { return col.empty(); }))
        cells.erase(cells.begin());
    block(tools::format("  %s  %s%s(%zu, %zu)\n", name.c_str(), shape.c_str(),
                        shape.empty() ? "" : " = ", a.n_rows, a.n_cols) +
          table_text(cells));
}

void Page::settle(bool holds, const std::string& what, const std::string& found) {
    if (!holds) {
        tools::refuse("%s: this does not hold: %s%s", lesson_.c_str(), what.c_str(), found.c_str());
    }
    block("  ok: " + what + '\n', Block::claim);
}

void Page::claim(bool holds, const char* pattern, ...) {
    va_list args;
    va_start(args, pattern);
    std::string what = formatted(pattern, args);
    va_end(args);
    settle(holds, what, "");
}

void Page::claim_equal(const std::string& what, const Matrix& a, const Matrix& b) {
    std::string found;
    if (a.n_rows != b.n_rows || a.n_cols != b.n_cols) {
        found = tools::format(": found [%zu, %zu], expected [%zu, %zu]", a.n_rows, a.n_cols,
                              b.n_rows, b.n_cols);
    }
    for (size_t i = 0; found.empty() && i < a.x.size(); i++) {
        if (memcmp(&a.x[i], &b.x[i], sizeof(float)) != 0) {
            found = tools::format(": number %zu: found %.9g, expected %.9g", i,
                                  static_cast<double>(a.x[i]), static_cast<double>(b.x[i]));
        }
    }
    settle(found.empty(), what, found);
}

void Page::claim_near(const std::string& what, const std::vector<double>& a,
                      const std::vector<double>& b, double most) {
    std::string found;
    if (a.size() != b.size())
        found = tools::format(": found %zu numbers, expected %zu", a.size(), b.size());
    for (size_t i = 0; found.empty() && i < a.size(); i++) {
        // Written so that a NaN is not near anything.
        if (!(std::fabs(a[i] - b[i]) <= most)) {
            found = tools::format(": number %zu: found %.9g, expected %.9g within %.2g", i, a[i],
                                  b[i], most);
        }
    }
    settle(found.empty(), what, found);
}

void Page::picture(const std::string& name, const std::string& svg) {
    if (svg_folder_.empty())
        return;
    std::string path = svg_folder_ + "/" + name;
    tools::OutputFile file;
    tools::require(file.create(path), path);
    tools::require(file.write(svg.data(), svg.size()), path);
    tools::require(file.commit(), path);
    block("  picture: " + path + '\n', Block::claim);
}

std::vector<double> doubles(const std::vector<float>& x) {
    return std::vector<double>(x.begin(), x.end());
}

std::string number(double x, int digits) {
    std::string text = tools::format("%.*f", digits, x);
    // What rounds to nothing has no sign.
    return text.find_first_not_of("-0.") == std::string::npos && text[0] == '-' ? text.substr(1)
                                                                                : text;
}

double seconds_of(size_t repeats, const std::function<void()>& call) {
    double least = 0;
    for (size_t i = 0; i < repeats; i++) {
        auto start = std::chrono::steady_clock::now();
        call();
        std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
        if (i == 0 || passed.count() < least)
            least = passed.count();
    }
    return least;
}

std::string time_text(double seconds) {
    if (seconds >= 10)
        return tools::format("%.3g s", seconds);
    // Three digits, and no exponent where there are four.
    return tools::format(seconds < 0.9995 ? "%.3g ms" : "%.0f ms", seconds * 1e3);
}

}  // namespace minigpt::lesson
