#include "gpt2/options.h"

#include <doctest/doctest.h>

#include <cstring>
#include <set>

#include "common/error.h"
#include "common/program.h"

using namespace minigpt::gpt2;

namespace {

// The message of a refused command line, which must be of status 2.
std::string misuse_of(const std::vector<std::string>& args) {
    set_program_name("gpt2");
    try {
        parse(args);
    } catch (const Error& error) {
        CHECK(error.exit_status == kMisused);
        return error.message;
    }
    return "";
}

bool begins_with(const std::string& text, const std::string& start) {
    return text.compare(0, start.size(), start) == 0;
}

std::vector<int64_t> ids_of(const char* text) {
    std::vector<int64_t> ids;
    CHECK(parse_ids(text, &ids) == "");
    return ids;
}

}  // namespace

TEST_CASE("options: no subcommand is generate, with the documented defaults") {
    for (const Options& o : {parse({}), parse({"generate"})}) {
        CHECK(o.command == kGenerate);
        CHECK(!o.model);
        CHECK((o.check_weights && !o.load));
        CHECK((!o.text && !o.file && !o.ids));
        CHECK((o.n_threads == 0 && !o.isa && o.use_cache && o.chunk == 256 &&
               o.kv == minigpt::KvType::f32));
        CHECK(o.n_new == 200);
        CHECK(o.sampler.temperature == 1);
        CHECK(o.sampler.top_k == 0);
        CHECK(o.sampler.top_p == 1);
        CHECK(o.sampler.min_p == 0);
        CHECK(o.sampler.repeat_penalty == 1);
        CHECK(!o.seed);
        CHECK(o.overflow == minigpt::Overflow::stop);
        CHECK((!o.ignore_eos && !o.echo && !o.print_ids && !o.json && !o.special));
    }
}

TEST_CASE("options: every flag of generate is read") {
    Options o = parse({"-m",           "a.mgpt",     "-p",
                       "-5 degrees",   "-n",         "7",
                       "--temp",       "0.5",        "--top-k",
                       "40",           "--top-p",    "0.9",
                       "--min-p",      "1e-2",       "--repeat-penalty",
                       "1.5",          "-s",         "18446744073709551615",
                       "--stop",       "\n",         "--stop",
                       "END",          "--overflow", "slide",
                       "--ignore-eos", "--echo",     "--print-ids",
                       "--special",    "-t",         "3",
                       "--isa",        "scalar",     "--no-cache",
                       "--chunk",      "17",         "--kv",
                       "q8",           "--no-check"});
    CHECK(*o.model == "a.mgpt");
    CHECK(*o.text == "-5 degrees");
    CHECK(o.n_new == 7);
    CHECK(o.sampler.temperature == 0.5f);
    CHECK(o.sampler.top_k == 40);
    CHECK(o.sampler.top_p == 0.9f);
    CHECK(o.sampler.min_p == 0.01f);
    CHECK(o.sampler.repeat_penalty == 1.5f);
    CHECK(*o.seed == UINT64_MAX);
    CHECK(o.stops == std::vector<std::string>{"\n", "END"});
    CHECK(o.overflow == minigpt::Overflow::slide);
    CHECK((o.ignore_eos && o.echo && o.print_ids && o.special));
    CHECK(o.n_threads == 3);
    CHECK(*o.isa == "scalar");
    CHECK((!o.use_cache && o.chunk == 17 && o.kv == minigpt::KvType::q8 && !o.check_weights));
}

TEST_CASE("options: --flag=value is --flag value, also with = in the value") {
    CHECK(*parse({"--ids=1,2"}).ids == std::vector<int64_t>{1, 2});
    CHECK(parse({"--stop=a=b"}).stops[0] == "a=b");
    CHECK(parse({"--ids="}).ids->empty());
    CHECK(begins_with(misuse_of({"--echo=1"}), "--echo: takes no value"));
}

TEST_CASE("options: a flag given twice is refused") {
    CHECK(begins_with(misuse_of({"-n", "1", "-n", "2"}), "-n: given twice"));
    CHECK(begins_with(misuse_of({"-p", "a", "-p", "b"}), "-p: given twice"));
    CHECK(begins_with(misuse_of({"bench", "-b", "1", "--batch", "2"}), "--batch: given twice"));
}

TEST_CASE("options: a short flag's value may follow it at once") {
    CHECK(parse({"-n5"}).n_new == 5);
    CHECK(*parse({"-pHello there"}).text == "Hello there");
    CHECK(begins_with(misuse_of({"-n5x"}), "-n: found 5x"));
}

TEST_CASE("options: numbers are strict, and their flag is named") {
    const char* const kWhole[] = {"5x",         "-1",  "+5",  " 5",   "5 ",
                                  "",           "1.0", "1e3", "0x10", "99999999999999999999",
                                  "4294967296", "nan"};
    for (const char* flag : {"-n", "--top-k", "-t", "--chunk"}) {
        for (const char* value : kWhole)
            CHECK(begins_with(misuse_of({flag, value}), std::string(flag) + ": found "));
        CHECK(begins_with(misuse_of({flag}), std::string(flag) + ": its value"));
    }
    CHECK(begins_with(misuse_of({"-s", "18446744073709551616"}), "-s: found"));
    CHECK(begins_with(misuse_of({"-t", "0"}), "-t: found 0"));
    CHECK(begins_with(misuse_of({"-t", "257"}), "-t: found 257"));
    CHECK(begins_with(misuse_of({"--chunk", "0"}), "--chunk: found 0"));
    CHECK(begins_with(misuse_of({"score", "--stride", "0"}), "--stride: found 0"));

    const char* const kReal[] = {"",      "x",  "nan", "inf", "-1", "-0.1", "1e39",
                                 "0x1p3", " 1", "1 ",  "1,5", "1e", "--1",  "1e999"};
    for (const char* flag : {"--temp", "--top-p", "--min-p", "--repeat-penalty"}) {
        for (const char* value : kReal)
            CHECK(begins_with(misuse_of({flag, value}), std::string(flag) + ": found "));
    }
    CHECK(begins_with(misuse_of({"--top-p", "1.01"}), "--top-p: found 1.01"));
    CHECK(begins_with(misuse_of({"--repeat-penalty", "0"}), "--repeat-penalty: found 0"));
    CHECK(begins_with(misuse_of({"--repeat-penalty", "1e-60"}), "--repeat-penalty: found"));
}

TEST_CASE("options: what is no flag, subcommand or choice is named") {
    CHECK(begins_with(misuse_of({"--tmp", "1"}),
                      "--tmp: no such flag; did you mean --temp? see gpt2 generate --help"));
    CHECK(begins_with(misuse_of({"-x"}), "-x: no such flag"));
    CHECK(begins_with(misuse_of({"tokenize", "--temp", "1"}), "--temp: not a flag of tokenize"));
    CHECK(begins_with(misuse_of({"--temperature", "1"}),
                      "--temperature: no such flag; did you mean --temp?"));
    CHECK(misuse_of({"generat"}) ==
          "generat: no such subcommand; did you mean generate? see gpt2 --help");
    CHECK(begins_with(misuse_of({"Hello"}), "Hello: no such subcommand"));
    CHECK(begins_with(misuse_of({""}), ": no such subcommand"));
    CHECK(begins_with(misuse_of({"generate", ""}), ": no flag before it"));
    CHECK(begins_with(misuse_of({"generate", "-"}), "-: no flag before it"));
    CHECK(begins_with(misuse_of({"--overflow", "wrap"}), "--overflow: found wrap, expected stop"));
    CHECK(begins_with(misuse_of({"--kv", "f64"}), "--kv: found f64, expected f32, f16 or q8"));
    CHECK(begins_with(misuse_of({"--stop", ""}), "--stop: its value is empty"));
    CHECK(begins_with(misuse_of({"-m", ""}), "-m: its value is empty"));
    CHECK(begins_with(misuse_of({"--isa", ""}), "--isa: its value is empty"));
}

TEST_CASE("options: a model or a text without its flag is told the flags there are") {
    CHECK(misuse_of({"m.mgpt"}) ==
          "m.mgpt: no such subcommand, and no flag before it (-m MODEL, -p TEXT, -f FILE, "
          "--ids IDS); see gpt2 --help");
    CHECK(misuse_of({"detokenize", "m.mgpt"}) ==
          "m.mgpt: no flag before it (-m MODEL, --ids IDS); see gpt2 detokenize --help");
    CHECK(misuse_of({"tokenize", "a text"}) ==
          "a text: no flag before it (-m MODEL, -p TEXT, -f FILE); see gpt2 tokenize --help");
    CHECK(misuse_of({"compare", "a", "b", "text.txt"}) ==
          "text.txt: no flag before it (-p TEXT, -f FILE, --ids IDS); see gpt2 compare --help");
    for (const char* name : {"generate", "logits", "score"}) {
        CHECK(misuse_of({name, "m.mgpt"}).find("(-m MODEL, -p TEXT, -f FILE, --ids IDS)") !=
              std::string::npos);
    }
    for (const char* name : {"inspect", "bench", "verify"})
        CHECK(begins_with(misuse_of({name, "-t", "1", "m.mgpt"}),
                          "m.mgpt: no flag before it (-m MODEL);"));
}

TEST_CASE("options: what contradicts itself is refused") {
    CHECK(begins_with(misuse_of({"-p", "a", "-f", "b"}), "-p, -f, --ids: only one"));
    CHECK(begins_with(misuse_of({"-p", "a", "--ids", "1"}), "-p, -f, --ids: only one"));
    CHECK(begins_with(misuse_of({"--json", "--print-ids"}), "--json, --print-ids: only one"));
    CHECK(begins_with(misuse_of({"--json", "--echo"}), "--json, --echo"));
}

TEST_CASE("options: ids have commas, spaces or both between") {
    using Ids = std::vector<int64_t>;
    CHECK(ids_of("1,2,3") == Ids{1, 2, 3});
    CHECK(ids_of(" 1 2\n3\t") == Ids{1, 2, 3});
    CHECK(ids_of("1, 2 ,3") == Ids{1, 2, 3});
    CHECK(ids_of("50256") == Ids{50256});
    CHECK(ids_of("") == Ids{});
    CHECK(ids_of(" ") == Ids{});
    // No vocabulary has these; the model says so, not the command line.
    CHECK(ids_of("-1") == Ids{-1});
    CHECK(ids_of("99999999999999999999") == Ids{INT64_MAX});
    for (const char* text : {"1,,2", ",1", "1,", "a", "1.5", "1;2", "0x1", "-", "--1", "1,-"}) {
        CAPTURE(text);
        std::vector<int64_t> ids;
        CHECK(parse_ids(text, &ids) != "");
        CHECK(begins_with(misuse_of({"--ids", text}), "--ids: found "));
    }
}

TEST_CASE("options: each subcommand's flags are distinct, and its help has them all") {
    Options unused;
    const Program table = program(unused);
    for (const Subcommand& each : table.subcommands) {
        std::set<std::string> names;
        std::string help = help_text(table, &each);
        for (const OptionGroup& group : table.groups) {
            for (const Option& option : group.options) {
                if ((option.takers & each.bit) == 0)
                    continue;
                for (const std::string& name : names_of(option))
                    CHECK(names.insert(name).second);
                CHECK(help.find(std::string("  ") + option.names + " ") != std::string::npos);
            }
        }
        CHECK(*parse({each.name, "--help"}).answer == help);
        CHECK(*parse({each.name, "-h", "--nonsense"}).answer == help);
        CHECK(*parse({"help", each.name}).answer == help);
        size_t begin = 0;
        for (size_t end; (end = help.find('\n', begin)) != std::string::npos; begin = end + 1)
            CHECK(end - begin <= 98);
        CHECK(help_text(table).find(each.name) != std::string::npos);
    }
    for (const char* word : {"--help", "-h", "help"})
        CHECK(*parse({word}).answer == help_text(table));
    for (const char* word : {"--version", "-v", "version"})
        CHECK(parse({word}).answer->find("scalar") != std::string::npos);
}
