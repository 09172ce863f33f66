#include "networks/returns_desk.h"

#include <doctest/doctest.h>

#include <set>

using namespace minigpt::networks;

TEST_CASE("returns desk: the deciding word is out of an 8-character window, in that of 30") {
    size_t n_past = 0, n_window = 0;
    std::set<std::string> before, texts;
    for (const Reply& reply : returns_desk_replies(1, 4000)) {
        CAPTURE(reply.text);
        CHECK(reply.text.find('\n') == std::string::npos);
        CHECK(judge_reply(reply.text) == (reply.has_window() ? Verdict::right : Verdict::other));
        texts.insert(reply.text);
        if (!reply.has_window())
            continue;
        n_window++;
        n_past += reply.is_past;
        std::string opening = reply.opening();
        size_t word = opening.rfind(reply.is_past ? "past" : "within");
        CHECK(opening.size() - word == (reply.is_past ? 27 : 29));
        CHECK(reply.text[reply.decided_at] == (reply.is_past ? 'w' : 'y'));
        before.insert(opening.substr(opening.size() - 23));
    }
    // Equally frequent, to the last pair; five counts of days; nearly no reply twice.
    CHECK(n_past + n_past + 1 >= n_window);
    CHECK(n_past + n_past <= n_window + 1);
    CHECK(before.size() == 5);
    CHECK(n_window > 2300);
    CHECK(n_window < 2500);
    CHECK(texts.size() > 3500);
}

TEST_CASE("returns desk: a seed gives one text, another seed another") {
    std::string text = returns_desk_text(7, 50);
    CHECK(text == returns_desk_text(7, 50));
    CHECK(text != returns_desk_text(8, 50));
    CHECK(returns_desk_text(7, 40) == text.substr(0, returns_desk_text(7, 40).size()));
    CHECK(returns_desk_text(7, 0).empty());
}

TEST_CASE("returns desk: replies are judged by the clause, not by their other words") {
    CHECK(judge_reply("it is past the 30-day window, so we cannot x") == Verdict::right);
    CHECK(judge_reply("it is within the 30-day window, so you can x") == Verdict::right);
    CHECK(judge_reply("it is past the 30-day window, so you can x") == Verdict::wrong);
    CHECK(judge_reply("it is within the 30-day window, so we cannot x") == Verdict::wrong);
    CHECK(judge_reply("past is past, it is within the window, so you can ") == Verdict::right);
    CHECK(judge_reply("within reach, past the window, so we cannot ") == Verdict::right);
    CHECK(judge_reply("it is past the window, so yes") == Verdict::other);
    CHECK(judge_reply("the window, so we cannot ") == Verdict::other);
    CHECK(judge_reply("it is past the window") == Verdict::other);
    CHECK(judge_reply("x\nit is past the window, so we cannot x") == Verdict::other);
    CHECK(judge_reply("") == Verdict::other);
}
