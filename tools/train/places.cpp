#include "train/places.h"

#include "common/file.h"
#include "common/output_file.h"
#include "train/state.h"

namespace minigpt::train {
namespace {

Status check_place(const std::string& place, bool is_state, const Options& options) {
    const struct {
        const std::string& path;
        bool is_file;
        const char* what;
    } inputs[] = {{options.text, true, "the text that is learnt from"},
                  {options.vocab, options.vocab != "char", "the file of the vocabulary"},
                  {options.resume, !is_state, "the state to go on from"}};
    for (const auto& input : inputs) {
        if (input.is_file && tools::same_file(place, input.path))
            return Status::error(Code::bad_argument, "is %s; choose another -o", input.what);
    }
    tools::OutputFile file;
    return file.create(place);
}

}  // namespace

Places places_of(const Options& options) {
    return {options.output, options.output + ".state", options.output + ".svg"};
}

Status check_places(const Options& options) {
    const Places places = places_of(options);
    const std::string* all[] = {&places.model, &places.state, &places.chart};
    for (const std::string* place : all) {
        const bool is_state = place == &places.state;
        MINIGPT_TRY(tools::within(*place, check_place(*place, is_state, options)));
        for (const std::string* other : all) {
            if (other == place || !tools::same_file(*place, *other))
                continue;
            return tools::within(*place,
                                 Status::error(Code::bad_argument, "is also %s; choose another -o",
                                               tools::name_of_path(*other).c_str()));
        }
    }
    return Status();
}

Status check_earlier_run(const Options& options) {
    const std::string path = places_of(options).state;
    if (options.force || tools::path_kind(path) == tools::PathKind::missing ||
        tools::same_file(path, options.resume))
        return Status();
    State state;
    Status status = state.read(path);
    if (!status.ok()) {
        status = Status::error(Code::bad_argument, "%s; --force replaces it, or choose another -o",
                               status.message());
    } else if (state.iteration() > 0 && state.iteration() < state.config().n_iters) {
        status = Status::error(Code::bad_argument,
                               "a run that stopped after iteration %llu of %zu: --resume goes on "
                               "with it, --force begins anew",
                               static_cast<unsigned long long>(state.iteration()),
                               state.config().n_iters);
    }
    return tools::within(path, status);
}

}  // namespace minigpt::train
