// libminigpt: GPT-2 on CPUs. This header is all the others.
//
// The library never prints, exits, aborts, throws, or reads the environment. A null pointer where
// an array or an object is needed, and an enum's value that is none of its names, are bad_argument.
//
// What allocates:
//
//   Compute::create              with more than one thread: the threads
//   Model::open, Model::load     of a path: the mapping, or the file's bytes
//   Session::create, verify      only where no memory is handed in
//   Sampler::create, Generator::create
//   Tokenizer::encode            while a word of more than 256 bytes is encoded
//   build_tokenizer, Writer
//
// All else allocates nothing: forward() and step(), sample(), next(), read_tensor(), and the ops.
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
