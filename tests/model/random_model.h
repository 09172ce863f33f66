// Models of random weights for tests, and what they should compute, in float64.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "minigpt/model.h"
#include "minigpt/writer.h"

namespace minigpt {

// Row-major arrays by checkpoint name.
using Arrays = std::map<std::string, std::vector<float>>;

inline Arrays random_arrays(const Config& config, unsigned seed) {
    std::mt19937 random(seed);
    Arrays arrays;
    for (size_t i = 0; i < tensor_count(config); i++) {
        TensorSpec spec = tensor_spec(config, i);
        std::vector<float>& a = arrays[spec.name];
        a.resize(spec.shape[0] * spec.shape[1]);
        bool is_gain = spec.n_dims == 1 && strstr(spec.name, "weight") != nullptr;
        // Large enough that attention is not flat and the logits differ.
        float spread = spec.layout == Layout::rows || spec.is_table ? 0.5f
                       : spec.n_dims == 2 ? 1.0f / std::sqrt(static_cast<float>(spec.shape[0]))
                                          : 0.2f;
        for (float& x : a) {
            x = (static_cast<float>(random() >> 8) / 8388608.0f - 1) * 1.7f * spread;
            if (is_gain)
                x += 1;
        }
    }
    return arrays;
}

// A 64-byte aligned image in memory, freed with it.
class Image {
public:
    explicit Image(size_t bytes) : bytes_(bytes) {
        REQUIRE(posix_memalign(&data_, 64, bytes == 0 ? 64 : bytes) == 0);
    }
    Image(const Image& other) : Image(other.bytes_) { memcpy(data_, other.data_, bytes_); }
    ~Image() { free(data_); }
    Image& operator=(const Image&) = delete;
    unsigned char* data() const { return static_cast<unsigned char*>(data_); }
    size_t size() const { return bytes_; }

private:
    void* data_ = nullptr;
    size_t bytes_;
};

inline ArrayView view_of(const TensorSpec& spec, const std::vector<float>& a) {
    return spec.n_dims == 1 ? ArrayView::vector(a.data(), a.size())
                            : ArrayView::matrix(a.data(), spec.shape[0], spec.shape[1]);
}

inline Image make_image(const Config& config, const Arrays& arrays, WriterOptions options = {}) {
    uint64_t bytes;
    REQUIRE(Writer::image_bytes(config, options, &bytes).ok());
    Image image(bytes);
    Writer writer;
    Status status = writer.open(image.data(), image.size(), config, options);
    CAPTURE(std::string(status.message()));
    REQUIRE(status.ok());
    for (size_t i = 0; i < tensor_count(config); i++) {
        TensorSpec spec = tensor_spec(config, i);
        status = writer.add(spec.name, view_of(spec, arrays.at(spec.name)));
        CAPTURE(std::string(status.message()));
        REQUIRE(status.ok());
    }
    REQUIRE(writer.finish().ok());
    return image;
}

// Element [i, j] of an open model's tensor; q8 and q4 as models/FORMAT.md draws them.
float element(const TensorInfo& t, size_t i, size_t j);
// Of a tensor in q8 or q4, what lies at any k and output of its panels, padding included.
float grouped_element(const TensorInfo& t, size_t k, size_t out);

// GPT-2 in float64, written from the paper with plain loops: logits [n, n_vocab] of every row of
// one sequence.
std::vector<std::vector<double>> reference_logits(const Config& config, const Arrays& arrays,
                                                  const std::vector<int32_t>& ids);

// max |a - b| / max |b|.
double relative_error(const float* a, const std::vector<double>& b);

// Configurations that differ in every field that changes the math.
struct NamedConfig {
    const char* name;
    Config config;
};
std::vector<NamedConfig> odd_configs();

}  // namespace minigpt
