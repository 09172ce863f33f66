// gpt2 score: how well the model predicts a text.
#include <cmath>
#include <cstdio>

#include "common/error.h"
#include "common/json.h"
#include "common/output.h"
#include "common/progress.h"
#include "common/text.h"
#include "gpt2/commands.h"
#include "gpt2/input.h"
#include "gpt2/loaded.h"
#include "gpt2/windows.h"
#include "minigpt/generate.h"
#include "minigpt/ops.h"

namespace minigpt::gpt2 {
namespace {

struct Prediction {
    int32_t id;
    double log_prob;
};

struct Score {
    std::vector<Prediction> tokens;  // every predicted one, in order
    double nll = 0;                  // sum of -log(p)
    uint64_t n_bytes = 0;            // of the text of the predicted tokens

    double mean() const { return nll / static_cast<double>(tokens.size()); }
    double bits_per_byte() const { return nll / std::log(2.0) / static_cast<double>(n_bytes); }
};

// Bytes of text behind a token: none for <|endoftext|> and its like, which stand for no text.
size_t text_bytes(const Tokenizer& tokenizer, int32_t id) {
    return tokenizer.is_special(id) ? 0 : tokenizer.token(id).size();
}

Score score_ids(Session& session, const Options& options, const std::vector<int32_t>& ids,
                size_t stride, const Loaded& loaded) {
    Score score;
    ProgressLine line;
    size_t n_vocab = session.config().n_vocab;
    for_each_window(ids.size(), session.n_ctx(), stride, [&](size_t begin, size_t n, size_t first) {
        const int32_t* window = ids.data() + begin;
        run_ids(session, options, window, n, first, [&](size_t i, const float* row) {
            require(check_logits(row, n_vocab, begin + i), loaded.name);
            int32_t id = window[i + 1];
            double p = 0;
            require(log_prob(&p, row, n_vocab, id), "log_prob");
            score.tokens.push_back({id, p});
            score.nll -= p;
            score.n_bytes += text_bytes(loaded.tokenizer, id);
            line.show("score", score.tokens.size(), ids.size() - 1);
        });
    });
    return score;
}

void write_json(Output& out, const Score& score, bool per_token) {
    out.write("{\"tokens\":" + std::to_string(score.tokens.size()) + ",\"nll\":" +
              json_number(score.mean()) + ",\"ppl\":" + json_number(std::exp(score.mean())) +
              ",\"bits_per_byte\":" + json_number(score.bits_per_byte()));
    if (per_token) {
        out.write(",\"per_token\":[");
        for (size_t i = 0; i < score.tokens.size(); i++) {
            const Prediction& token = score.tokens[i];
            out.write((i == 0 ? "{\"id\":" : ",\n{\"id\":") + std::to_string(token.id) +
                      ",\"logprob\":" + json_number(token.log_prob) + "}");
        }
        out.write("]");
    }
    out.write("}\n");
}

void write_text(Output& out, const Score& score, bool per_token, const Tokenizer& tokenizer) {
    for (size_t i = 0; per_token && i < score.tokens.size(); i++) {
        const Prediction& token = score.tokens[i];
        out.write(format("%8d %12.6f  ", token.id, token.log_prob) +
                  json_string(std::string(tokenizer.token(token.id))) + "\n");
    }
    out.write(format("tokens         %zu\n", score.tokens.size()));
    out.write(format("nll            %.6f\n", score.mean()));
    out.write(format("ppl            %.6g\n", std::exp(score.mean())));
    if (score.n_bytes > 0)
        out.write(format("bits per byte  %.6f\n", score.bits_per_byte()));
}

}  // namespace

void score(const Options& options) {
    Input input = read_input(options);
    Loaded loaded(options);
    std::vector<int32_t> ids = ids_to_predict(input, options, loaded);
    size_t stride = checked_stride(options, loaded.model.config().n_ctx);
    Session session;
    require(session.create(loaded.model, session_options(options, loaded)), loaded.name);
    Score result = score_ids(session, options, ids, stride, loaded);
    Output out;
    if (options.json) {
        write_json(out, result, options.per_token);
    } else {
        write_text(out, result, options.per_token, loaded.tokenizer);
    }
    out.finish();
}

}  // namespace minigpt::gpt2
