// How gpt2 bench tells what it found.
#include <algorithm>

#include "common/error.h"
#include "common/json.h"
#include "common/text.h"
#include "gpt2/bench.h"

namespace minigpt::gpt2 {
namespace {

double ratio(double a, double b) {
    return b > 0 ? a / b : 0;
}

// "name": the median, in units of `unit`; null where nothing was measured.
std::string number(const char* name, const Samples& samples, double unit) {
    std::string value = samples.values.empty() ? "null" : json_number(samples.median() / unit);
    return format("\"%s\":", name) + value;
}

std::string spread(const char* name, const Samples& samples, double unit) {
    return format("\"%s\":[", name) + json_number(samples.least() / unit) + "," +
           json_number(samples.most() / unit) + "]";
}

std::string counted(const char* name, const std::vector<Counted>& list) {
    std::string out = format("\"%s\":[", name);
    for (const Counted& each : list) {
        out += (&each == &list[0] ? "{\"n\":" : ",{\"n\":") + std::to_string(each.n) + "," +
               number("tok_s", each.rate, 1) + "}";
    }
    return out + "]";
}

std::string line(const std::string& name, const Samples& samples, double unit,
                 const char* unit_name, const std::string& note = "") {
    std::string spread = format("%.1f to %.1f", samples.least() / unit, samples.most() / unit);
    std::string out = format("%-20s %10.1f %-9s %-20s ", name.c_str(), samples.median() / unit,
                             unit_name, spread.c_str()) +
                      note;
    return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace

double Samples::median() const {
    if (values.empty())
        return 0;
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double Samples::least() const {
    return values.empty() ? 0 : *std::min_element(values.begin(), values.end());
}

double Samples::most() const {
    return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

double BenchResult::prefill_of_peak() const {
    double operations_a_token = prefill_operations / static_cast<double>(n_prefill);
    return ratio(prefill.median() * operations_a_token, fma.median());
}

double BenchResult::decode_of_bandwidth() const {
    return ratio(decode.median() * decode_bytes, (loaded ? read_huge : read_small).median());
}

std::string bench_json(const BenchResult& r) {
    std::string out = "{\"model\":" + json_string(r.model) + ",\"type\":" + json_string(r.type) +
                      ",\"threads\":" + std::to_string(r.threads) +
                      ",\"isa\":" + json_string(r.isa) +
                      ",\"loaded\":" + (r.loaded ? "true" : "false") +
                      ",\"repeats\":" + std::to_string(r.repeats) +
                      ",\"prefill_tokens\":" + std::to_string(r.n_prefill) +
                      ",\"decode_tokens\":" + std::to_string(r.n_decode) + ",\n";
    out += number("prefill_tok_s", r.prefill, 1) + "," + number("decode_tok_s", r.decode, 1) + "," +
           number("fma_peak_gflops", r.fma, 1e9) + "," + number("read_gb_s", r.read_small, 1e9) +
           "," + number("read_huge_gb_s", r.read_huge, 1e9) + ",\n";
    out += "\"prefill_gflop\":" + json_number(r.prefill_operations / 1e9) +
           ",\"prefill_of_peak\":" + json_number(r.prefill_of_peak()) +
           ",\"decode_bytes\":" + json_number(r.decode_bytes) +
           ",\"decode_of_bandwidth\":" + json_number(r.decode_of_bandwidth()) +
           ",\"probe_doubtful\":" + (r.probe_is_doubtful() ? "true" : "false") + ",\n";
    out += number("first_token_s", r.first_token, 1) + "," + number("peak_bytes", r.peak_bytes, 1) +
           ",\"file_bytes\":" + std::to_string(r.file_bytes) + ",\n";
    out += counted("batch", r.batch) + "," + counted("depth", r.depth) + ",\n";
    out += "\"spread\":{" + spread("prefill_tok_s", r.prefill, 1) + "," +
           spread("decode_tok_s", r.decode, 1) + "," + spread("fma_peak_gflops", r.fma, 1e9) + "," +
           spread("read_gb_s", r.read_small, 1e9) + "," +
           spread("read_huge_gb_s", r.read_huge, 1e9) + "," +
           spread("first_token_s", r.first_token, 1) + "}}\n";
    return out;
}

std::string bench_text(const BenchResult& r) {
    std::string out = format("%s: %s, %s bytes\n", r.model.c_str(), r.type.c_str(),
                             grouped(r.file_bytes).c_str());
    out += format("%zu thread%s, %s%s; medians of %zu, and least to most\n\n", r.threads,
                  plural(r.threads), r.isa.c_str(), r.loaded ? ", in huge pages" : "", r.repeats);
    out += line("fma peak", r.fma, 1e9, "GFLOP/s");
    out += line("read, 4 KiB pages", r.read_small, 1e9, "GB/s");
    out += line("read, huge pages", r.read_huge, 1e9, "GB/s");
    out += line(format("prefill %zu", r.n_prefill), r.prefill, 1, "tok/s",
                format("%.3f of the fma peak", r.prefill_of_peak()));
    out += line(
        format("decode %zu", r.n_decode), r.decode, 1, "tok/s",
        format("%.3f of the bandwidth", r.decode_of_bandwidth()) +
            (r.probe_is_doubtful() ? ": the probe was disturbed, or the weights lie in the caches"
                                   : ""));
    for (const Counted& each : r.batch) {
        out += line(format("decode, %zu together", each.n), each.rate, 1, "tok/s",
                    format("%.2f times one", ratio(each.rate.median(), r.decode.median())));
    }
    for (const Counted& each : r.depth)
        out += line(format("decode after %zu", each.n), each.rate, 1, "tok/s");
    if (!r.first_token.values.empty()) {
        out += line("first token", r.first_token, 1e-3, "ms");
        out += line("peak memory", r.peak_bytes, 1e6, "MB");
    }
    return out;
}

}  // namespace minigpt::gpt2
