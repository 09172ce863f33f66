// The command line of lesson.
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "common/error.h"
#include "common/file.h"
#include "common/output_file.h"
#include "lesson/lesson.h"

namespace minigpt::lesson {
namespace {

using tools::format;

struct Options {
    std::string lesson;  // "": all that are not only_by_name
    std::string svg_folder, isa;
    size_t n_threads = 0;
    bool help = false;
};

std::string help_text(const std::vector<Lesson>& lessons) {
    std::string text =
        "usage: lesson [NAME | all] [--svg DIR] [-t THREADS] [--isa NAME]\n\n"
        "Attention by hand: every number can be followed by eye, every claim is checked.\n\n";
    for (const Lesson& each : lessons)
        text += format("  %-14s%s\n", each.name, each.summary);
    text += "  all           every one of them; without a name, all but the returns desk\n\n";
    text += "  --svg DIR     draw pictures into this folder, which is made if it is missing\n";
    text += "  -t THREADS    default: one per physical core\n";
    text +=
        "  --isa NAME    a table of kernels, as gpt2 --version lists them\n"
        "                (the best whose bits are those of every machine)\n\n";
    return text + "Exit status: 0 done, 1 a claim does not hold, 2 the command line was wrong.\n";
}

bool is_lesson(const std::string& name, const std::vector<Lesson>& lessons) {
    for (const Lesson& each : lessons) {
        if (name == each.name)
            return true;
    }
    return name == "all";
}

size_t thread_count(const std::string& text) {
    char* end = nullptr;
    unsigned long n = strtoul(text.c_str(), &end, 10);
    if (text.empty() || text[0] < '0' || text[0] > '9' || *end != '\0' || n == 0 ||
        n > Compute::kMaxThreads)
        tools::misuse("-t: found %s, expected 1 to %zu", text.c_str(), Compute::kMaxThreads);
    return n;
}

Options parse(const std::vector<std::string>& args, const std::vector<Lesson>& lessons) {
    Options options;
    for (size_t i = 0; i < args.size(); i++) {
        const std::string& word = args[i];
        if (word == "--help" || word == "-h") {
            options.help = true;
        } else if (word == "--svg" || word == "-t" || word == "--isa") {
            if (i + 1 == args.size() || args[i + 1].empty())
                tools::misuse("%s: its value is missing", word.c_str());
            const std::string& value = args[++i];
            if (word == "-t") {
                options.n_threads = thread_count(value);
            } else {
                (word == "--svg" ? options.svg_folder : options.isa) = value;
            }
        } else if (!is_lesson(word, lessons)) {
            tools::misuse("%s: no such lesson or flag; lesson --help lists them", word.c_str());
        } else if (!options.lesson.empty()) {
            tools::misuse("%s: one lesson at a time, or all", word.c_str());
        } else {
            options.lesson = word;
        }
    }
    return options;
}

// Before anything is computed: makes the folder, not those that it would lie in; where it is there,
// tries whether pictures can be written.
void make_folder(const std::string& path) {
    struct stat info;
    if (mkdir(path.c_str(), 0777) == 0)
        return;
    int error = errno;
    if (stat(path.c_str(), &info) != 0)
        tools::refuse("%s: cannot be made: %s", path.c_str(), strerror(error));
    if (!S_ISDIR(info.st_mode))
        tools::refuse("%s: found a file, expected a folder for the pictures", path.c_str());
    tools::OutputFile picture;
    tools::require(picture.create(tools::join(path, "lesson.svg")), path);
}

void teach(const Options& options, const std::vector<Lesson>& lessons, const Page::Write& write) {
    Compute compute;
    Status status =
        compute.create(options.n_threads, options.isa.empty() ? exact_isa() : options.isa.c_str());
    if (status.code() == Code::bad_argument)
        tools::misuse("--%s", status.message());
    tools::require(status, "kernels");
    if (!options.svg_folder.empty())
        make_folder(options.svg_folder);
    Page page(compute, write, options.svg_folder);
    for (const Lesson& each : lessons) {
        bool asked = options.lesson.empty()
                         ? !each.only_by_name
                         : options.lesson == each.name || options.lesson == "all";
        if (asked)
            each.teach(page);
    }
}

}  // namespace

const std::vector<Lesson> kLessons = {
    {"no-weights", "dot products, softmax, weighted sum", no_weights},
    {"qkv", "query, key and value; why scores are divided", query_key_value},
    {"mask", "before the softmax, and what happens after it", mask},
    {"heads", "twelve modules, or one projection split by shape", heads},
    {"count", "163 million parameters, or 124", count},
    {"cache", "a text with and without a KV cache", cache},
    {"temperature", "which division it is", temperature},
    {"returns-desk", "a perceptron and attention, trained on the spot: a minute or two",
     returns_desk, true},
};

int run(const std::vector<std::string>& args, const std::vector<Lesson>& lessons,
        const Page::Write& write) {
    try {
        Options options = parse(args, lessons);
        if (options.help) {
            write(help_text(lessons));
        } else {
            teach(options, lessons, write);
        }
        return tools::kDone;
    } catch (const tools::Error& error) {
        tools::print_line(error.message, "lesson");
        return error.exit_status;
    } catch (const std::bad_alloc&) {
        tools::print_line("out of memory", "lesson");
    }
    return tools::kRefused;
}

}  // namespace minigpt::lesson
