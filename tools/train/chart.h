// The loss curve as a picture.
#pragma once

#include <string>
#include <vector>

#include "networks/trainer.h"

namespace minigpt::train {

// An SVG image: both losses, where they are finite, over the iterations. `title` is any text.
std::string loss_chart(const std::string& title,
                       const std::vector<networks::Evaluation>& evaluations);

}  // namespace minigpt::train
