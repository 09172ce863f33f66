#include "train/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace minigpt::train {
namespace {

constexpr double kLeft = 60, kTop = 40, kWidth = 560, kHeight = 300;

std::string escaped(const std::string& text) {
    std::string out;
    for (char c : text) {
        unsigned char byte = static_cast<unsigned char>(c);
        out += c == '<'                     ? "&lt;"
               : c == '&'                   ? "&amp;"
               : byte < 0x20 || byte > 0x7e ? "?"
                                            : std::string(1, c);
    }
    return out;
}

template <typename... Numbers>
std::string format(const char* pattern, Numbers... numbers) {
    char text[256];
    snprintf(text, sizeof text, pattern, numbers...);
    return text;
}

// 1, 2 or 5 times a power of ten: about five of them in a range.
double tick(double range) {
    double ten = std::pow(10, std::floor(std::log10(range / 5)));
    for (double step : {ten, 2 * ten, 5 * ten}) {
        if (range / step <= 6)
            return step;
    }
    return 10 * ten;
}

struct Axes {
    double last, low, high;  // iterations from 0; losses

    double x(double iteration) const { return kLeft + kWidth * iteration / last; }
    double y(double loss) const { return kTop + kHeight * (high - loss) / (high - low); }
};

std::string grid(const Axes& axes) {
    std::string svg;
    double step = tick(axes.high - axes.low);
    for (double at = std::ceil(axes.low / step) * step; at <= axes.high; at += step) {
        svg += format("<path d=\"M%.0f %.1fh%.0f\" stroke=\"#ddd\"/>\n", kLeft, axes.y(at), kWidth);
        svg += format("<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n", kLeft - 8,
                      axes.y(at) + 4, at);
    }
    step = tick(axes.last);
    for (double at = 0; at <= axes.last; at += step) {
        svg += format("<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%.0f</text>\n",
                      axes.x(at), kTop + kHeight + 20, at);
    }
    return svg;
}

std::string curve(const Axes& axes, const std::vector<networks::Evaluation>& evaluations,
                  double networks::Evaluation::*loss, const char* color) {
    std::string points;
    for (const networks::Evaluation& e : evaluations) {
        if (std::isfinite(e.*loss))
            points +=
                format("%.1f,%.1f ", axes.x(static_cast<double>(e.iteration)), axes.y(e.*loss));
    }
    return format("<polyline fill=\"none\" stroke-width=\"2\" stroke=\"%s\" points=\"", color) +
           points + "\"/>\n";
}

}  // namespace

std::string loss_chart(const std::string& title,
                       const std::vector<networks::Evaluation>& evaluations) {
    Axes axes = {1, HUGE_VAL, -HUGE_VAL};
    for (const networks::Evaluation& e : evaluations) {
        axes.last = std::max(axes.last, static_cast<double>(e.iteration));
        for (double loss : {e.train, e.val}) {
            if (!std::isfinite(loss))
                continue;
            axes.low = std::min(axes.low, loss);
            axes.high = std::max(axes.high, loss);
        }
    }
    if (axes.low > axes.high)
        axes.low = axes.high = 0;
    double margin = std::max({0.05 * (axes.high - axes.low), 0.01, 1e-6 * std::fabs(axes.high)});
    axes.low -= margin, axes.high += margin;
    std::string svg =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"660\" height=\"400\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n"
        "<rect width=\"660\" height=\"400\" fill=\"#fff\"/>\n";
    svg += format("<text x=\"%.0f\" y=\"24\" font-size=\"14\">", kLeft) + escaped(title) +
           "</text>\n" + grid(axes);
    svg += curve(axes, evaluations, &networks::Evaluation::train, "#1f77b4");
    svg += curve(axes, evaluations, &networks::Evaluation::val, "#d62728");
    svg +=
        format("<text x=\"%.0f\" y=\"60\" text-anchor=\"end\" fill=\"#1f77b4\">training</text>\n",
               kLeft + kWidth);
    svg +=
        format("<text x=\"%.0f\" y=\"76\" text-anchor=\"end\" fill=\"#d62728\">held back</text>\n",
               kLeft + kWidth);
    svg += format("<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">iterations</text>\n",
                  kLeft + kWidth / 2, kTop + kHeight + 40);
    svg += "<text x=\"16\" y=\"30\">loss</text>\n</svg>\n";
    return svg;
}

}  // namespace minigpt::train
