#include "train/chart.h"

#include "common/plot.h"

namespace minigpt::train {

std::string loss_chart(const std::string& title,
                       const std::vector<networks::Evaluation>& evaluations) {
    tools::Plot plot = {
        title, "iterations", "loss, nats a token", {{"training", {}}, {"held back", {}}}};
    std::vector<double> iterations;
    for (const networks::Evaluation& e : evaluations) {
        iterations.push_back(static_cast<double>(e.iteration));
        plot.series[0].y.push_back(e.train);
        plot.series[1].y.push_back(e.val);
    }
    return tools::line_plot(plot, iterations, tools::Scale::linear);
}

}  // namespace minigpt::train
