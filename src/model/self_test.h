// The self-test section: some prompts, and a digest of the model's logits after each.
// models/FORMAT.md describes it byte by byte.
#pragma once

#include <cstddef>
#include <cstdint>

#include "minigpt/config.h"
#include "minigpt/model.h"

namespace minigpt {

struct SelfTestHeader {
    uint32_t n_cases;  // 0: none were made
    uint32_t n_ids;    // of all cases together
};

struct SelfTestCase {
    uint64_t digest;  // logits_digest() of the last position
    int32_t argmax;   // of the same logits; the lowest id among equals
    uint32_t n_ids;
};
static_assert(sizeof(SelfTestHeader) == 8 && sizeof(SelfTestCase) == 16, "packed");

constexpr size_t kMaxSelfTests = 16;
constexpr size_t kMaxSelfTestIds = 256;  // in one prompt

// Errors: bad_file.
Status check_self_test(const void* section, size_t bytes, const Config& config);

// The section that the writer makes: its size, the section without cases, and the section with
// cases, which needs the complete model.
//
//   section  8-byte aligned, self_test_bytes()
//
//   after_step  called with `context` after each layer. Here a mapped file can release its pages,
//               so that a converter's memory does not grow with the file. nullptr: not called
//
// Errors of make_self_test: out_of_memory; the section then has no cases.
size_t self_test_bytes(const Config& config);
void make_empty_self_test(const Config& config, void* section);
Status make_self_test(const Model& model, void* section, void (*after_step)(void* context),
                      void* context);

}  // namespace minigpt
