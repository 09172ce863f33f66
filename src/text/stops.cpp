#include "text/stops.h"

namespace minigpt {

Status StopMatcher::plan(const std::string_view* stops, size_t n_stops, size_t longest_push) {
    stops_ = stops;
    n_stops_ = n_stops;
    n_bytes_ = 0;
    most_held_ = 0;
    if (stops == nullptr && n_stops > 0)
        return Status::error(Code::bad_argument, "stops: a null pointer, n_stops is %zu", n_stops);
    for (size_t i = 0; i < n_stops; i++) {
        if (stops[i].empty() || stops[i].data() == nullptr)
            return Status::error(Code::bad_argument, "stop text %zu is empty", i);
        n_bytes_ += stops[i].size();
        most_held_ = stops[i].size() > most_held_ ? stops[i].size() : most_held_;
    }
    most_held_ += longest_push;
    return Status();
}

void StopMatcher::place(Layouter* layouter) {
    begins_ = layouter->place<size_t>(uint64_t{n_stops_} + 1);
    borders_ = layouter->place<size_t>(n_bytes_);
    matched_ = layouter->place<size_t>(n_stops_);
    held_ = layouter->place<char>(most_held_);
}

void StopMatcher::start() {
    begins_[0] = 0;
    for (size_t i = 0; i < n_stops_; i++) {
        size_t n = stops_[i].size();
        begins_[i + 1] = begins_[i] + n;
        borders_[begins_[i]] = 0;
        for (size_t k = 1; k < n; k++) {
            borders_[begins_[i] + k] = step(i, borders_[begins_[i] + k - 1], stops_[i][k]);
        }
    }
    restart();
}

void StopMatcher::restart() {
    for (size_t i = 0; i < n_stops_; i++)
        matched_[i] = 0;
    n_held_ = 0;
    n_released_ = 0;
}

// How much of a text is matched after one more byte; `matched` is less than all of it.
size_t StopMatcher::step(size_t stop, size_t matched, char byte) const {
    const size_t* borders = borders_ + begins_[stop];
    while (matched > 0 && stops_[stop][matched] != byte)
        matched = borders[matched - 1];
    return stops_[stop][matched] == byte ? matched + 1 : 0;
}

void StopMatcher::drop_released() {
    n_held_ -= n_released_;
    memmove(held_, held_ + n_released_, n_held_);
    n_released_ = 0;
}

bool StopMatcher::push(std::string_view bytes, std::string_view* text) {
    drop_released();
    size_t longest = 0;  // held back at the end
    for (size_t k = 0; k < bytes.size(); k++) {
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
        *text = {held_, n_held_ - complete};
        n_released_ = n_held_;
        return true;
    }
    if (bytes.empty()) {
        for (size_t i = 0; i < n_stops_; i++)
            longest = matched_[i] > longest ? matched_[i] : longest;
    }
    n_released_ = n_held_ - longest;
    *text = {held_, n_released_};
    return false;
}

std::string_view StopMatcher::flush() {
    drop_released();
    n_released_ = n_held_;
    for (size_t i = 0; i < n_stops_; i++)
        matched_[i] = 0;
    return {held_, n_held_};
}

}  // namespace minigpt
