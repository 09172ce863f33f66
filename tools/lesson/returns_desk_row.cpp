// Where a trained model of one layer looks when it decides.
#include <algorithm>
#include <numeric>

#include "common/error.h"
#include "common/text.h"
#include "lesson/heat_map.h"
#include "lesson/returns_desk.h"
#include "networks/gpt.h"

namespace minigpt::lesson {
namespace {

using networks::Reply;
using tools::require;

// The attention of the deciding position: where the character after "window, so " is chosen.
struct Decision {
    std::string read;          // what the model has read; its end is that position
    Matrix shares;             // [n_head, n_read]
    size_t word, word_length;  // of the word that decides, in `read`

    double word_share(size_t head) const {
        double share = 0;
        for (size_t j = word; j < word + word_length; j++)
            share += static_cast<double>(shares.at(head, j));
        return share;
    }
};

Decision decision_of(const Trained& model, const Reply& reply) {
    networks::Gpt& gpt = dynamic_cast<networks::Gpt&>(model.trainer->network());
    std::vector<int32_t> ids;
    std::string text = '\n' + reply.opening();
    require(model.trainer->corpus().vocabulary.encode(text, &ids), "an opening");
    std::vector<float> logits(gpt.n_vocab());
    gpt.logits_after(logits.data(), ids.data(), ids.size());

    Decision d;
    size_t n_read = std::min(ids.size(), gpt.n_context());
    d.read = text.substr(text.size() - n_read);
    d.word_length = reply.is_past ? 4 : 6;
    d.word = 1 + decided_beginning(reply).size() - d.word_length - (text.size() - n_read);
    d.shares = Matrix(model.trainer->config().n_head, n_read);
    for (size_t head = 0; head < d.shares.n_rows; head++) {
        const float* row = gpt.attention_row(0, head, n_read - 1);
        std::copy(row, row + n_read, d.shares.row(head));
    }
    return d;
}

// The eight characters that a head gives most to, as they stand in the text.
void show_decision(Page& page, const Decision& d, size_t head) {
    bool is_whole = d.read[0] == '\n';
    page.show("%s%s", is_whole ? "" : "...", d.read.c_str() + is_whole);
    const float* row = d.shares.row(head);
    std::vector<size_t> order(d.shares.n_cols);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return row[a] > row[b]; });
    order.resize(8);
    std::sort(order.begin(), order.end());
    std::vector<Names> cells = {
        {tools::format("head %zu looks at", head)}, {"characters back"}, {"share"}};
    for (size_t j : order) {
        cells[0].push_back(d.read[j] == ' ' ? "space" : std::string(1, d.read[j]));
        cells[1].push_back(std::to_string(d.read.size() - j));
        cells[2].push_back(number(static_cast<double>(row[j])));
    }
    page.table(cells);
}

HeatMap map_of(const Decision& d, const std::string& title) {
    HeatMap map;
    map.title = title;
    map.shares = d.shares;
    for (size_t head = 0; head < d.shares.n_rows; head++)
        map.rows.push_back(std::to_string(head));
    for (char c : d.read)
        map.cols.push_back(std::string(1, c));
    return map;
}

// Of all replies of a kind, what each head gives to the word that decides: means, [n_head].
std::vector<double> word_shares(const std::vector<Decision>& decisions) {
    std::vector<double> means(decisions[0].shares.n_rows);
    for (const Decision& d : decisions) {
        for (size_t head = 0; head < means.size(); head++)
            means[head] += d.word_share(head) / static_cast<double>(decisions.size());
    }
    return means;
}

}  // namespace

void show_attention(Page& page, const Trained& attention, const std::vector<Reply>& asked) {
    std::vector<Decision> past, within;
    for (const Reply& reply : asked)
        (reply.is_past ? past : within).push_back(decision_of(attention, reply));
    std::vector<double> of_past = word_shares(past), of_within = word_shares(within);
    size_t head =
        static_cast<size_t>(std::max_element(of_past.begin(), of_past.end()) - of_past.begin());
    page.say(
        "Where does attention look when it has read \"window, so \" and chooses the next "
        "character? There are %zu heads, numbered from 0. Head %zu looks for `past`. Its row at "
        "that position, the eight largest shares (1 character back is the last one read):",
        of_past.size(), head);
    show_decision(page, past[0], head);
    page.say(
        "To tell two words apart it is enough to find one of them. In a reply with `within` the "
        "same head finds no `past`, and looks at what is near:");
    show_decision(page, within[0], head);
    page.claim(
        of_past[head] > 0.5 && of_within[head] < 0.25,
        "over all replies, the mean share that this head gives `past` is %.3f, `within` %.3f",
        of_past[head], of_within[head]);
    page.picture("returns-desk.svg",
                 heat_maps("Where one layer of attention looks after \"window, so \"",
                           {map_of(past[0], "a reply with `past`"),
                            map_of(within[0], "a reply with `within`")},
                           1, 14, {"head", "the characters that were read"}));
}

}  // namespace minigpt::lesson
