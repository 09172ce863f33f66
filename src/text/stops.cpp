#include "text/stops.h"

namespace minigpt {

Status StopMatcher::create(const char* const* stops, size_t n_stops, size_t longest_push) {
    stops_ = stops;
    n_stops_ = n_stops;
    size_t total = 0, longest = 0;
    for (size_t i = 0; i < n_stops; i++) {
        if (stops[i] == nullptr || stops[i][0] == '\0') {
            return Status::error(Code::bad_argument, "stop text %zu is empty", i);
        }
        size_t n = strlen(stops[i]);
        total += n;
        longest = n > longest ? n : longest;
    }
    if (!begins_.allocate(n_stops + 1) || !borders_.allocate(total) ||
        !matched_.allocate(n_stops) || !held_.allocate(longest + longest_push)) {
        return Status::error(Code::out_of_memory, "no memory for stop texts of %zu bytes", total);
    }
    begins_[0] = 0;
    for (size_t i = 0; i < n_stops; i++) {
        size_t n = strlen(stops[i]);
        begins_[i + 1] = begins_[i] + n;
        borders_[begins_[i]] = 0;
        for (size_t k = 1; k < n; k++) {
            borders_[begins_[i] + k] = step(i, borders_[begins_[i] + k - 1], stops[i][k]);
        }
    }
    restart();
    return Status();
}

void StopMatcher::restart() {
    for (size_t i = 0; i < n_stops_; i++)
        matched_[i] = 0;
    n_held_ = 0;
    n_released_ = 0;
}

// How much of a text is matched after one more byte; `matched` is less than all of it.
size_t StopMatcher::step(size_t stop, size_t matched, char byte) const {
    const size_t* borders = borders_.data() + begins_[stop];
    while (matched > 0 && stops_[stop][matched] != byte)
        matched = borders[matched - 1];
    return stops_[stop][matched] == byte ? matched + 1 : 0;
}

void StopMatcher::drop_released() {
    n_held_ -= n_released_;
    memmove(held_.data(), held_.data() + n_released_, n_held_);
    n_released_ = 0;
}

bool StopMatcher::push(const char* bytes, size_t n_bytes, const char** text, size_t* n_text) {
    drop_released();
    *text = held_.data();
    size_t longest = 0;  // held back at the end
    for (size_t k = 0; k < n_bytes; k++) {
        held_[n_held_++] = bytes[k];
        longest = 0;
        size_t complete = 0;
        for (size_t i = 0; i < n_stops_; i++) {
            matched_[i] = step(i, matched_[i], bytes[k]);
            longest = matched_[i] > longest ? matched_[i] : longest;
            bool whole = matched_[i] == begins_[i + 1] - begins_[i];
            if (whole && matched_[i] > complete)
                complete = matched_[i];
        }
        if (complete == 0)
            continue;
        *n_text = n_held_ - complete;
        n_released_ = n_held_;
        return true;
    }
    if (n_bytes == 0) {
        for (size_t i = 0; i < n_stops_; i++)
            longest = matched_[i] > longest ? matched_[i] : longest;
    }
    n_released_ = n_held_ - longest;
    *n_text = n_released_;
    return false;
}

void StopMatcher::flush(const char** text, size_t* n_text) {
    drop_released();
    *text = held_.data();
    *n_text = n_held_;
    n_released_ = n_held_;
    for (size_t i = 0; i < n_stops_; i++)
        matched_[i] = 0;
}

}  // namespace minigpt
