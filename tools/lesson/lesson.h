// The lessons, and the command line that runs them.
#pragma once

#include <string>
#include <vector>

#include "lesson/page.h"

namespace minigpt::lesson {

// Each checks what it says, and throws tools::Error where that does not hold.
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
    bool only_by_name = false;  // takes longer than one who asks for no lesson may want to wait
};
extern const std::vector<Lesson> kLessons;

// The program: exit status 0, 1 (a claim does not hold, or something was refused) or 2 (the
// command line). args: what follows the program's name. write: where lessons go.
int run(const std::vector<std::string>& args, const std::vector<Lesson>& lessons,
        const Page::Write& write);

}  // namespace minigpt::lesson
