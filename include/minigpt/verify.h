// Whether a model computes here what it computed where its file was made.
#pragma once

#include <cstddef>
#include <cstdint>

#include "minigpt/compute.h"
#include "minigpt/model.h"
#include "minigpt/status.h"

namespace minigpt {

// hash64 of the numbers' bits, each NaN as 0x7fc00000: two rows of logits have the same digest
// when they are the same to the bit.
//
//   logits  [n]; nullptr: as n = 0
uint64_t logits_digest(const float* logits, size_t n);

// The bytes that verify() works in: a session, and logits. Errors: as verify().
Status verify_bytes(const Model& model, const Compute& compute, size_t* bytes);

// Compares every tensor with its checksum, reruns the prompts of the file's self-test and compares
// the logits' digests. ok: this machine computes that model to the bit. A table of kernels that
// does not keep the promise of equal bits is passed over for bit_exact_isa(), which does.
//
//   memory  64-byte aligned, at least verify_bytes(); nullptr: allocated meanwhile. A pool of
//           threads is allocated where `compute` has one and its table is passed over.
//
// Errors: bad_file, with the tensor or prompt that differs, what was found and what was expected;
// not_supported if the file has no self-test, its tensors being as they were; out_of_memory.
Status verify(const Model& model, const Compute& compute, void* memory = nullptr,
              size_t memory_bytes = 0);

}  // namespace minigpt
