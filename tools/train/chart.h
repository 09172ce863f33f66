// The loss curve as a picture.
#pragma once

#include <string>
#include <vector>

#include "networks/trainer.h"

namespace minigpt::train {

// An SVG image of both losses over the iterations; losses that are not finite are left out. `title`
// may be any text.
std::string loss_chart(const std::string& title,
                       const std::vector<networks::Evaluation>& evaluations);

}  // namespace minigpt::train
