#include "tests/tools/common/xml.h"

#include <cctype>
#include <set>
#include <vector>

namespace minigpt::test {
namespace {

class Reader {
public:
    explicit Reader(const std::string& text) : text_(text) {}

    std::string document() {
        std::vector<std::string> open;
        bool begun = false;
        while (at_ < text_.size() && fault_.empty()) {
            if (text_[at_] != '<') {
                bool outside = open.empty();
                std::string run = characters("<");
                if (outside && run.find_first_not_of(" \n") != std::string::npos)
                    fail("text outside of the element");
            } else if (text_.compare(at_, 2, "</") == 0) {
                at_ += 2;
                std::string closed = name();
                if (open.empty() || open.back() != closed)
                    fail("closes " + closed);
                else
                    open.pop_back();
                expect('>');
            } else {
                if (open.empty() && begun)
                    fail("a second element");
                begun = true;
                element(&open);
            }
        }
        if (fault_.empty() && (!open.empty() || !begun))
            fail(begun ? "not closed: " + open.back() : "no element");
        return fault_;
    }

private:
    void fail(const std::string& what) {
        if (fault_.empty())
            fault_ = what + " at byte " + std::to_string(at_);
    }

    void expect(char c) {
        if (at_ < text_.size() && text_[at_] == c)
            at_++;
        else
            fail(std::string("expected ") + c);
    }

    std::string name() {
        size_t start = at_;
        while (at_ < text_.size() &&
               (isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-'))
            at_++;
        if (at_ == start)
            fail("a name is missing");
        return text_.substr(start, at_ - start);
    }

    void spaces() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n'))
            at_++;
    }

    // Up to one of `ends`; entities are checked, a bare < is none of text's.
    std::string characters(const std::string& ends) {
        size_t start = at_;
        for (; at_ < text_.size() && ends.find(text_[at_]) == std::string::npos; at_++) {
            unsigned char c = static_cast<unsigned char>(text_[at_]);
            if (c == '<' || (c < 0x20 && c != '\n') || c >= 0x7f)
                fail("a character that must not be there");
            if (c == '&' && !is_entity())
                fail("a bare &");
        }
        return text_.substr(start, at_ - start);
    }

    bool is_entity() const {
        for (const char* entity : {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"}) {
            std::string expected = entity;
            if (text_.compare(at_, expected.size(), expected) == 0)
                return true;
        }
        return false;
    }

    void element(std::vector<std::string>* open) {
        expect('<');
        std::string tag = name();
        std::set<std::string> seen;
        for (spaces(); fault_.empty() && at_ < text_.size(); spaces()) {
            if (text_[at_] == '>' || text_[at_] == '/')
                break;
            if (!seen.insert(name()).second)
                fail("an attribute twice");
            expect('=');
            expect('"');
            characters("\"");
            expect('"');
        }
        if (at_ < text_.size() && text_[at_] == '/')
            at_++;
        else
            open->push_back(tag);
        expect('>');
    }

    const std::string& text_;
    size_t at_ = 0;
    std::string fault_;
};

}  // namespace

std::string xml_fault(const std::string& text) {
    return Reader(text).document();
}

}  // namespace minigpt::test
