#include "networks/returns_desk.h"

#include "minigpt/generate.h"

namespace minigpt::networks {
namespace {

using Words = std::vector<const char*>;

const Words kNames = {"anna",  "ben",   "clara", "david", "emma", "farid", "grace", "hugo",
                      "ines",  "jonas", "kira",  "liam",  "mona", "nils",  "olga",  "paulo",
                      "quinn", "rosa",  "samir", "tara",  "uwe",  "vera",  "wanda", "yusuf"};
const Words kColors = {"red", "blue", "green", "black", "white", "grey", "yellow", "brown"};
const Words kItems = {"kettle",        "jacket",       "lamp",    "desk chair",
                      "phone case",    "raincoat",     "toaster", "backpack",
                      "pair of boots", "blanket",      "clock",   "keyboard",
                      "mirror",        "bicycle bell", "teapot",  "hat"};
const Words kDays = {"14", "30", "45", "60", "90"};
const Words kWeekdays = {"monday", "tuesday", "wednesday", "thursday", "friday"};

const Words kGreetings = {"hello NAME, ",
                          "dear NAME, ",
                          "hi NAME, ",
                          "good day NAME, ",
                          "thank you for writing, NAME. ",
                          ""};
const Words kSubjects = {"about the COLOR ITEM: ",     "we checked order NUMBER: ",
                         "as for your ITEM: ",         "i looked up order NUMBER and ",
                         "you asked about the ITEM; ", "regarding the COLOR ITEM, "};
const Words kRefusals = {"take it back.", "refund it.", "accept the return.", "exchange the ITEM.",
                         "send you a label."};
const Words kPermissions = {"send it back.", "return it for a refund.", "bring it to any store.",
                            "exchange the ITEM.", "use the label in the box."};
const Words kOthers = {
    "your refund for the COLOR ITEM was sent on WEEKDAY.",
    "the new ITEM leaves our store on WEEKDAY.",
    "order NUMBER is on its way and arrives on WEEKDAY.",
    "please send us a photo of the COLOR ITEM and its box.",
    "we are sorry that the ITEM came broken; a new one is on its way.",
    "the label for order NUMBER is in your mail.",
    "the COLOR ITEM is sold out, and we can offer a WEEKDAY call.",
    "we got the ITEM on WEEKDAY and will look at it soon.",
};
constexpr char kDecided[] = "window, so ";

const char* pick(const Words& words, Random* random) {
    return words[random->next() % words.size()];
}

std::string order_number(Random* random) {
    return std::to_string(1000 + random->next() % 9000);
}

// Replaces each upper-case word of the pattern by one word of a list.
std::string filled(const std::string& pattern, Random* random) {
    std::string text;
    for (size_t i = 0; i < pattern.size();) {
        size_t end = i;
        while (end < pattern.size() && pattern[end] >= 'A' && pattern[end] <= 'Z')
            end++;
        std::string word = pattern.substr(i, end - i);
        if (word.empty()) {
            text += pattern[i++];
            continue;
        }
        text += word == "NAME"      ? pick(kNames, random)
                : word == "COLOR"   ? pick(kColors, random)
                : word == "ITEM"    ? pick(kItems, random)
                : word == "WEEKDAY" ? pick(kWeekdays, random)
                                    : order_number(random);
        i = end;
    }
    return text;
}

Reply reply_with_window(bool is_past, Random* random) {
    Reply reply;
    reply.is_past = is_past;
    reply.text = filled(pick(kGreetings, random), random);
    reply.text += filled(pick(kSubjects, random), random);
    reply.text += is_past ? "it is past the " : "it is within the ";
    reply.text += pick(kDays, random);
    reply.text += std::string("-day ") + kDecided;
    reply.decided_at = reply.text.size();
    reply.text += is_past ? "we cannot " : "you can ";
    reply.text += filled(pick(is_past ? kRefusals : kPermissions, random), random);
    return reply;
}

Reply reply_without(Random* random) {
    Reply reply;
    reply.text = filled(pick(kGreetings, random), random);
    reply.text += filled(pick(kOthers, random), random);
    return reply;
}

bool begins(const std::string& text, size_t at, const char* with) {
    return text.compare(at, std::char_traits<char>::length(with), with) == 0;
}

}  // namespace

std::vector<Reply> returns_desk_replies(uint64_t seed, size_t n) {
    Random random(seed);
    std::vector<Reply> replies;
    bool is_second = false, is_past = false;
    while (replies.size() < n) {
        if (random.next() % 5 >= 3) {
            replies.push_back(reply_without(&random));
            continue;
        }
        is_past = is_second ? !is_past : random.next() % 2 == 0;
        is_second = !is_second;
        replies.push_back(reply_with_window(is_past, &random));
    }
    return replies;
}

std::string returns_desk_text(uint64_t seed, size_t n_replies) {
    std::string text;
    for (const Reply& reply : returns_desk_replies(seed, n_replies))
        text += reply.text + "\n";
    return text;
}

Verdict judge_reply(const std::string& text) {
    std::string line = text.substr(0, text.find('\n'));
    size_t so = line.find(kDecided);
    if (so == std::string::npos)
        return Verdict::other;
    std::string before = line.substr(0, so);
    size_t past = before.rfind("past "), within = before.rfind("within ");
    if (past == within)
        return Verdict::other;  // neither is there
    bool is_past = within == std::string::npos || (past != std::string::npos && past > within);
    size_t at = so + std::char_traits<char>::length(kDecided);
    bool refuses = begins(line, at, "we cannot "), permits = begins(line, at, "you can ");
    if (!refuses && !permits)
        return Verdict::other;
    return refuses == is_past ? Verdict::right : Verdict::wrong;
}

}  // namespace minigpt::networks
