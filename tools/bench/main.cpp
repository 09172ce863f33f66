// bench: what `make bench` needs beside gpt2 bench. This file only reads the command line.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "bench/bench.h"

namespace minigpt::benchmarks {

void require(const Status& status, const std::string& thing) {
    if (!status.ok())
        throw Error{1, thing + ": " + status.message()};
}

namespace {

const char kUsage[] =
    "usage: bench make-model SIZE OUT.mgpt [--type f32|f16|bf16|q8|q4]\n"
    "       bench ops [-t THREADS] [--isa NAME] [-r REPEATS] [--gemm] [--quick]\n\n"
    "make-model writes a model of random weights; SIZE is tiny, distil, 124M, 355M, 774M or "
    "1558M.\n"
    "ops times each op at the shapes of GPT-2 124M; --gemm only the products, as lines of\n"
    "\"m n k GFLOP/s\" without a table; --quick runs each but once or twice.\n";

[[noreturn]] void misuse(const std::string& message) {
    throw Error{2, message};
}

size_t whole(const std::string& flag, const std::string& text, size_t most) {
    char* end = nullptr;
    unsigned long long n = strtoull(text.c_str(), &end, 10);
    if (text.empty() || text[0] < '0' || text[0] > '9' || *end != '\0' || n == 0 || n > most)
        misuse(flag + ": found " + text + ", expected 1 to " + std::to_string(most));
    return static_cast<size_t>(n);
}

ElementType type_named(const std::string& name) {
    for (ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::q8,
                             ElementType::q4}) {
        if (name == name_of(type))
            return type;
    }
    misuse("--type: found " + name + ", expected f32, f16, bf16, q8 or q4");
}

// Words that begin with - take the word after them as their value, but for --gemm and --quick.
struct Words {
    std::vector<std::string> plain;
    std::vector<std::pair<std::string, std::string>> flags;
};

Words split(int argc, char** argv) {
    Words words;
    for (int i = 1; i < argc; i++) {
        std::string word = argv[i];
        if (word[0] != '-') {
            words.plain.push_back(word);
        } else if (word == "--gemm" || word == "--quick") {
            words.flags.push_back({word, ""});
        } else {
            if (i + 1 == argc)
                misuse(word + ": its value is missing");
            words.flags.push_back({word, argv[++i]});
        }
    }
    return words;
}

void run_make_model(const Words& words) {
    ElementType type = ElementType::f32;
    for (const auto& [flag, value] : words.flags) {
        if (flag != "--type")
            misuse(flag + ": no such flag of make-model");
        type = type_named(value);
    }
    if (words.plain.size() != 3)
        misuse("make-model: a size and a path, please");
    make_model(words.plain[1], type, words.plain[2]);
}

void run_ops_command(const Words& words) {
    OpsOptions options;
    size_t n_threads = 0;
    std::string isa;
    for (const auto& [flag, value] : words.flags) {
        if (flag == "-t") {
            n_threads = whole(flag, value, Compute::kMaxThreads);
        } else if (flag == "-r") {
            options.repeats = whole(flag, value, 1000);
        } else if (flag == "--isa") {
            isa = value;
        } else if (flag == "--gemm") {
            options.gemm_only = true;
        } else if (flag == "--quick") {
            options.seconds = 0;
        } else {
            misuse(flag + ": no such flag of ops");
        }
    }
    Compute compute;
    require(compute.create(n_threads, isa.empty() ? nullptr : isa.c_str()), "ops");
    run_ops(options, compute);
}

int run(int argc, char** argv) {
    try {
        if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
            fputs(kUsage, stdout);
            return 0;
        }
        Words words = split(argc, argv);
        std::string command = words.plain.empty() ? "" : words.plain[0];
        if (command == "make-model") {
            run_make_model(words);
        } else if (command == "ops") {
            run_ops_command(words);
        } else {
            misuse("expected make-model or ops; see bench --help");
        }
        return 0;
    } catch (const Error& error) {
        fprintf(stderr, "bench: %s\n", error.message.c_str());
        return error.exit_status;
    } catch (const std::bad_alloc&) {
        fprintf(stderr, "bench: out of memory\n");
        return 1;
    }
}

}  // namespace
}  // namespace minigpt::benchmarks

int main(int argc, char** argv) {
    return minigpt::benchmarks::run(argc, argv);
}
