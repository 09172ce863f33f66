// Runs the tests, as doctest does; a filter that no test's name matches is an error.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

namespace {

unsigned n_matching = 0;

struct Counter : doctest::IReporter {
    explicit Counter(const doctest::ContextOptions&) {}
    void report_query(const doctest::QueryData& query) override {
        n_matching = query.run_stats != nullptr ? query.run_stats->numTestCasesPassingFilters : 1;
    }
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats& stats) override {
        n_matching = stats.numTestCasesPassingFilters;
    }
    void test_case_start(const doctest::TestCaseData&) override {}
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_end(const doctest::CurrentTestCaseStats&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}
};

DOCTEST_REGISTER_LISTENER("counter", 1, Counter);

}  // namespace

int main(int argc, char** argv) {
    doctest::Context context(argc, argv);
    int status = context.run();
    // Help and the like run no test and ask for none.
    if (n_matching == 0 && !context.shouldExit()) {
        fprintf(stderr, "tests: no test's name matches the filter\n");
        return 1;
    }
    return status;
}
