// libminigpt: GPT-2 on CPUs. This header is all the others.
#pragma once

#include "minigpt/compute.h"
#include "minigpt/generate.h"
#include "minigpt/limits.h"
#include "minigpt/model.h"
#include "minigpt/ops.h"
#include "minigpt/status.h"
#include "minigpt/tokenizer.h"
#include "minigpt/verify.h"
#include "minigpt/weights.h"
