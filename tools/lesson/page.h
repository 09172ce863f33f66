// Writes a lesson: paragraphs, matrices with names for rows and columns, and claims. A claim is
// checked when it is written.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "common/text.h"
#include "lesson/arrays.h"

namespace minigpt::lesson {

using Names = std::vector<std::string>;

class Page {
public:
    // write: called with the text as it is produced. svg_folder: where pictures go; "": no
    // pictures.
    using Write = std::function<void(const std::string& text)>;
    Page(const Compute& compute, Write write, std::string svg_folder)
        : math(compute), write_(std::move(write)), svg_folder_(std::move(svg_folder)) {}

    void title(const std::string& lesson, const std::string& text);
    // A paragraph, broken into lines. printf-like.
    void say(const char* pattern, ...) __attribute__((format(printf, 2, 3)));
    // Lines that are not wrapped, indented. Consecutive calls make one block. printf-like.
    void show(const char* pattern, ...) __attribute__((format(printf, 2, 3)));

    // A matrix: "name (shape)", then the numbers. If all are whole they have no decimals, else
    // three. The shape is in letters, such as "(T, n_embd)", or "". With sums, one more column has
    // the sum of each row.
    enum class Sums { hidden, shown };
    void matrix(const std::string& name, const std::string& shape, const Matrix& a,
                const Names& rows, const Names& cols, Sums sums = Sums::hidden);

    // A table of text. The first column is left-aligned, the others right. cells[0] is the header.
    void table(const std::vector<Names>& cells);

    // A claim of the lesson, checked here. If it fails, throws a tools::Error of status 1 that says
    // what was found and expected. printf-like.
    void claim(bool holds, const char* pattern, ...) __attribute__((format(printf, 3, 4)));
    // Claims that a equals b to the bit, or within `most` in every number; NaN never passes.
    void claim_equal(const std::string& what, const Matrix& a, const Matrix& b);
    void claim_near(const std::string& what, const std::vector<double>& a,
                    const std::vector<double>& b, double most);

    bool has_pictures() const { return !svg_folder_.empty(); }
    // Writes a picture to svg_folder / name, complete or not at all.
    void picture(const std::string& name, const std::string& svg);

    Math math;

private:
    enum class Block { none, text, lines, claim };
    void block(const std::string& text, Block kind = Block::text);
    void settle(bool holds, const std::string& what, const std::string& found);

    Write write_;
    std::string svg_folder_, lesson_;
    Block last_ = Block::none;
};

std::vector<double> doubles(const std::vector<float>& x);

// Formats a number: "0.275"; whole numbers without decimals, infinities as "-inf".
std::string number(double x, int digits = 3);

// The wall-clock time of a call in seconds: the least of `repeats` runs.
double seconds_of(size_t repeats, const std::function<void()>& call);
// Formats a time: "1.23 ms"; from ten seconds on "12.3 s". Only lines with a time have such a unit.
// All other lines are the same on every machine.
std::string time_text(double seconds);

}  // namespace minigpt::lesson
