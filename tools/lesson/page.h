// What a lesson writes: paragraphs, matrices whose rows and columns have names, and claims, each
// checked where it stands.
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
    // write takes the text as it is made. svg_folder: where pictures go; "": nowhere.
    using Write = std::function<void(const std::string& text)>;
    Page(const Compute& compute, Write write, std::string svg_folder)
        : math(compute), write_(std::move(write)), svg_folder_(std::move(svg_folder)) {}

    void title(const std::string& lesson, const std::string& text);
    // A paragraph, broken into lines. printf-like.
    void say(const char* pattern, ...) __attribute__((format(printf, 2, 3)));
    // Lines that stay as they are, indented; those of calls that follow each other are one block.
    // printf-like.
    void show(const char* pattern, ...) __attribute__((format(printf, 2, 3)));

    // "name (shape)", then the numbers: whole ones without digits after the point, else three.
    // The shape is in letters, such as "(T, n_embd)", or "". With sums, one more column has each
    // row's.
    enum class Sums { hidden, shown };
    void matrix(const std::string& name, const std::string& shape, const Matrix& a,
                const Names& rows, const Names& cols, Sums sums = Sums::hidden);

    // Columns of text, the first to the left and the others to the right; cells[0] is the head.
    void table(const std::vector<Names>& cells);

    // Something that the lesson says and that is checked here. Where it does not hold, what was
    // found and expected goes into a tools::Error of status 1. printf-like.
    void claim(bool holds, const char* pattern, ...) __attribute__((format(printf, 3, 4)));
    // a equals b to the bit; or within `most` in every number, and no number is a NaN.
    void claim_equal(const std::string& what, const Matrix& a, const Matrix& b);
    void claim_near(const std::string& what, const std::vector<double>& a,
                    const std::vector<double>& b, double most);

    bool has_pictures() const { return !svg_folder_.empty(); }
    // Writes a picture to svg_folder / name, whole or not at all.
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

// "0.275"; whole numbers as they are, infinities as "-inf".
std::string number(double x, int digits = 3);

// What the wall clock says a call takes, in seconds: the least of `repeats` runs.
double seconds_of(size_t repeats, const std::function<void()>& call);
// "1.23 ms"; from ten seconds on "12.3 s". A line with a time has such a unit, and a line without
// is the same everywhere.
std::string time_text(double seconds);

}  // namespace minigpt::lesson
