// libminigpt: GPT-2 on CPUs. This header includes all the others.
//
// The library never prints, exits, aborts, throws, or reads the environment. A null pointer where
// an array or an object is needed is bad_argument. So is an enum value without a name.
//
// What allocates:
//
//   Compute::create              with more than one thread: the threads
//   Model::open, Model::load     from a path: the mapping, or the file's bytes
//   Session::create, verify      only if no memory is handed in
//   Sampler::create              only if no memory is handed in
//   Generator::create            only if no memory is handed in
//   Tokenizer::encode            while a word of more than 256 bytes is encoded
//   build_tokenizer, Writer
//
// Nothing else allocates: not forward(), step(), sample(), next(), read_tensor(), nor the ops.
#pragma once

#include "minigpt/compute.h"
#include "minigpt/config.h"
#include "minigpt/element_type.h"
#include "minigpt/generate.h"
#include "minigpt/machine_limits.h"
#include "minigpt/model.h"
#include "minigpt/ops.h"
#include "minigpt/status.h"
#include "minigpt/tokenizer.h"
#include "minigpt/verify.h"
#include "minigpt/version.h"
#include "minigpt/writer.h"
