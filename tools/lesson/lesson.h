// The lessons, and the command line that runs them.
#pragma once

#include <string>
#include <vector>

#include "lesson/page.h"

namespace minigpt::lesson {

// Each lesson checks its claims and throws tools::Error if one fails.
void no_weights(Page& page);
void query_key_value(Page& page);
void mask(Page& page);
void heads(Page& page);
void count(Page& page);
void cache(Page& page);                        // up to 1024 tokens
void cache_up_to(Page& page, size_t longest);  // a power of two from 16 on
void temperature(Page& page);
void returns_desk(Page& page);

struct Lesson {
    const char* name;
    const char* summary;
    void (*teach)(Page& page);
    bool only_by_name = false;  // takes long, so it runs only when it is named
};
extern const std::vector<Lesson> kLessons;

// Runs the program. Returns the exit status: 0, 1 (a claim failed, or something was refused) or 2
// (the command line was wrong). args: the words after the program's name. write: prints lessons.
int run(const std::vector<std::string>& args, const std::vector<Lesson>& lessons,
        const Page::Write& write);

}  // namespace minigpt::lesson
