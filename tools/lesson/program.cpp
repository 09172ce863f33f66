// The command line of lesson.
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "common/error.h"
#include "common/file.h"
#include "common/options.h"
#include "common/output_file.h"
#include "common/program.h"
#include "lesson/lesson.h"

namespace minigpt::lesson {
namespace {

struct Options {
    std::string lesson;  // "": all that are not only_by_name
    std::string svg_folder, isa;
    size_t n_threads = 0;
};

bool is_lesson(const std::string& name, const std::vector<Lesson>& lessons) {
    for (const Lesson& each : lessons) {
        if (name == each.name)
            return true;
    }
    return name == "all";
}

void take_word(const std::string& word, const std::vector<Lesson>& lessons, Options* options) {
    std::vector<std::string> names = {"all"};
    for (const Lesson& each : lessons)
        names.push_back(each.name);
    if (!is_lesson(word, lessons)) {
        const std::string meant = tools::nearest(word, names);
        tools::misuse("%s: no such lesson%s; %s --help lists them", word.c_str(),
                      meant.empty() ? "" : ("; did you mean " + meant + "?").c_str(),
                      tools::program_name().c_str());
    }
    if (!options->lesson.empty())
        tools::misuse("%s: one lesson at a time, or all", word.c_str());
    options->lesson = word;
}

tools::Program program(const std::vector<Lesson>& lessons, Options& o) {
    tools::Program p;
    p.usage = {"[NAME | all] [--svg DIR] [-t THREADS] [--isa NAME]"};
    p.about = "Attention by hand: every number can be followed by eye, every claim is checked.";
    p.words_title = "Lessons";
    for (const Lesson& each : lessons)
        p.words.push_back({each.name, each.summary});
    p.words.push_back({"all", "every lesson; without a name, all but the returns desk"});
    p.groups = {
        {"Flags",
         {{"--svg", "DIR", 0, "draw pictures into this folder, which is made if it is missing",
           tools::text_into(&o.svg_folder)},
          {"-t", "THREADS", 0, "threads (all physical cores)",
           tools::whole_into(&o.n_threads, 1, Compute::kMaxThreads)},
          {"--isa", "NAME", 0,
           "kernels, as gpt2 --version lists them (the best whose bits are those of every machine)",
           tools::text_into(&o.isa)}}}};
    p.notes = "Exit status: 0 done, 1 a claim does not hold, 2 the command line was wrong.";
    p.take_word = [&](const std::string& word, unsigned) { take_word(word, lessons, &o); };
    return p;
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
    Status status = compute.create(options.n_threads,
                                   options.isa.empty() ? bit_exact_isa() : options.isa.c_str());
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
    return tools::run_body(args, [&](const std::vector<std::string>&) {
        Options options;
        const tools::Program table = program(lessons, options);
        const tools::CommandLine line = tools::parse(table, args);
        if (line.answer) {
            write(*line.answer);
        } else {
            teach(options, lessons, write);
        }
        return tools::kDone;
    });
}

}  // namespace minigpt::lesson
