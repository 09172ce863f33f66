// Checks that a model gives the same bits here as on the machine that made its file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "minigpt/compute.h"
#include "minigpt/model.h"
#include "minigpt/status.h"

namespace minigpt {

// hash64 of the numbers' bits, with each NaN as 0x7fc00000. Rows of logits that are equal to the
// bit have equal digests.
//
//   logits  [n]; nullptr: as n = 0
uint64_t logits_digest(const float* logits, size_t n);

// The bytes of memory that verify() needs, for a session and logits. Errors: as verify().
Status verify_bytes(const Model& model, const Compute& compute, size_t* bytes);

// Compares every tensor with its checksum, runs the prompts of the file's self-test again, and
// compares the digests of the logits. ok means that this machine computes the model to the bit. If
// `compute`'s kernels are not bit_exact(), those of bit_exact_isa() are used instead.
//
//   memory  64-byte aligned, at least verify_bytes(); nullptr: allocated during the call. If the
//           kernels are replaced and `compute` has threads, a thread pool is allocated as well.
//
// Errors: bad_file, with the tensor or prompt that differs, what was found and what was expected;
// not_supported if all tensors are correct but the file has no self-test; out_of_memory.
Status verify(const Model& model, const Compute& compute, void* memory = nullptr,
              size_t memory_bytes = 0);

}  // namespace minigpt
