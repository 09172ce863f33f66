#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/fp_environment.h"

namespace minigpt {
namespace {

// How often a waiting thread looks before it sleeps: some tens of microseconds, longer than the
// gap between two ops of a forward pass, far shorter than anything a person could notice.
constexpr int kSpins = 2000;

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#elif defined(__arm__) && __ARM_ARCH >= 7
    __asm__ volatile("yield" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

}  // namespace

struct ThreadPool::Shared {
    pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;  // one caller at a time
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
    pthread_cond_t done = PTHREAD_COND_INITIALIZER;
    // One word says all about the task: its number in the upper half, whether threads may still
    // begin on it, and how many are at it. A thread begins by raising that count, which fails once
    // the caller has closed the task; so `task` and `context` are only read while they hold.
    std::atomic<uint64_t> state{0};
    static constexpr uint64_t kNext = uint64_t{1} << 32;
    static constexpr uint64_t kOpen = uint64_t{1} << 31;
    static constexpr uint64_t kBusy = kOpen - 1;
    // Whoever is about to sleep first raises its counter and then looks again, and whoever changes
    // the state looks at the counter after: one of the two always sees the other.
    std::atomic<unsigned> sleepers{0};
    std::atomic<bool> caller_sleeps{false};
    bool stop = false;
    Task task = nullptr;
    void* context = nullptr;
    size_t n_started = 0;

    struct Worker {
        Shared* shared;
        size_t index;
        pthread_t thread;
    };
    Worker* workers = nullptr;

    ~Shared() {
        pthread_mutex_destroy(&turn);
        pthread_mutex_destroy(&mutex);
        pthread_cond_destroy(&wake);
        pthread_cond_destroy(&done);
        free(workers);
    }

    bool is_news(uint64_t seen) const {
        uint64_t now = state.load();
        return (now & kOpen) != 0 && now / kNext != seen;
    }

    // Waits for a task other than number `seen`.
    void wait_for_task(uint64_t seen) {
        for (int i = 0; i < kSpins; i++) {
            if (is_news(seen))
                return;
            pause();
        }
        pthread_mutex_lock(&mutex);
        sleepers.fetch_add(1);
        while (!is_news(seen))
            pthread_cond_wait(&wake, &mutex);
        sleepers.fetch_sub(1);
        pthread_mutex_unlock(&mutex);
    }

    // Counts this thread in; false when the caller was done before. *seen becomes the number.
    bool enter(uint64_t* seen) {
        uint64_t now = state.load();
        do {
            if ((now & kOpen) == 0)
                return false;
            *seen = now / kNext;
        } while (!state.compare_exchange_weak(now, now + 1));
        return true;
    }

    void leave() {
        uint64_t before = state.fetch_sub(1);
        if ((before & kOpen) != 0 || (before & kBusy) != 1 || !caller_sleeps.load())
            return;
        pthread_mutex_lock(&mutex);
        pthread_cond_signal(&done);
        pthread_mutex_unlock(&mutex);
    }

    void open() {
        state.store((state.load() / kNext + 1) * kNext | kOpen);
        if (sleepers.load() == 0)
            return;
        pthread_mutex_lock(&mutex);
        pthread_cond_broadcast(&wake);
        pthread_mutex_unlock(&mutex);
    }

    // Nobody may begin any more; waits for those that have.
    void close() {
        uint64_t before = state.fetch_and(~kOpen);
        if ((before & kBusy) == 0)
            return;
        for (int i = 0; i < kSpins; i++) {
            if ((state.load() & kBusy) == 0)
                return;
            pause();
        }
        pthread_mutex_lock(&mutex);
        caller_sleeps.store(true);
        while ((state.load() & kBusy) != 0)
            pthread_cond_wait(&done, &mutex);
        caller_sleeps.store(false);
        pthread_mutex_unlock(&mutex);
    }

    static void* work(void* argument) {
        Worker& worker = *static_cast<Worker*>(argument);
        Shared& shared = *worker.shared;
        FpEnvironment environment;
        for (uint64_t seen = 0;;) {
            shared.wait_for_task(seen);
            if (!shared.enter(&seen))
                continue;
            if (shared.stop)
                return nullptr;
            shared.task(shared.context, worker.index);
            shared.leave();
        }
    }

    // An application's signal handlers run on its own threads, never on ours.
    bool start(size_t n_workers) {
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        for (n_started = 0; n_started < n_workers; n_started++) {
            Worker& worker = workers[n_started];
            worker.shared = this;
            worker.index = n_started + 1;
            if (pthread_create(&worker.thread, nullptr, work, &worker) != 0)
                break;
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return n_started == n_workers;
    }

    // The stop is a task that every thread takes and none leaves.
    void join() {
        stop = true;
        open();
        for (size_t i = 0; i < n_started; i++)
            pthread_join(workers[i].thread, nullptr);
    }
};

Status ThreadPool::create(size_t n_threads, ThreadPool** pool) {
    *pool = nullptr;
    ThreadPool* made = new (std::nothrow) ThreadPool;
    Shared* shared = new (std::nothrow) Shared;
    if (made != nullptr)
        made->shared_ = shared;
    if (shared != nullptr) {
        shared->workers = static_cast<Shared::Worker*>(calloc(n_threads, sizeof(Shared::Worker)));
    }
    if (made == nullptr || shared == nullptr || shared->workers == nullptr) {
        delete shared;
        delete made;
        return Status::error(Code::out_of_memory, "no memory for a pool of %zu threads", n_threads);
    }
    made->n_threads_ = n_threads;
    if (!shared->start(n_threads - 1)) {
        size_t n_started = shared->n_started;
        destroy(made);
        return Status::error(Code::io, "only %zu of %zu threads could be started", n_started + 1,
                             n_threads);
    }
    *pool = made;
    return Status();
}

void ThreadPool::destroy(ThreadPool* pool) {
    if (pool == nullptr)
        return;
    pool->shared_->join();
    delete pool->shared_;
    delete pool;
}

void ThreadPool::run(Task task, void* context) {
    Shared& shared = *shared_;
    pthread_mutex_lock(&shared.turn);
    shared.task = task;
    shared.context = context;
    shared.open();
    task(context, 0);
    shared.close();
    pthread_mutex_unlock(&shared.turn);
}

#if defined(__linux__)
namespace {

// The first line of a small file; false where there is none.
bool read_line(const char* path, char* line, size_t size) {
    FILE* file = fopen(path, "re");
    if (file == nullptr)
        return false;
    bool found = fgets(line, static_cast<int>(size), file) != nullptr;
    fclose(file);
    return found;
}

// Whether `cpu` is the lowest of its hardware threads that we may run on. The list reads
// "0,4" or "0-1".
bool is_first_sibling(int cpu, const cpu_set_t& allowed) {
    char path[96], line[256];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    if (!read_line(path, line, sizeof line))
        return true;
    for (char* p = line; *p >= '0' && *p <= '9';) {
        long first = strtol(p, &p, 10);
        long last = *p == '-' ? strtol(p + 1, &p, 10) : first;
        for (long i = first; i <= last && i < cpu; i++) {
            if (i >= 0 && i < CPU_SETSIZE && CPU_ISSET(static_cast<int>(i), &allowed))
                return false;
        }
        if (*p == ',')
            p++;
    }
    return true;
}

// A container's share of the machine, in whole CPUs; 0 where there is no limit.
size_t cgroup_cpus() {
    char line[64];
    long quota = 0, period = 0;
    if (!read_line("/sys/fs/cgroup/cpu.max", line, sizeof line))
        return 0;
    if (sscanf(line, "%ld %ld", &quota, &period) != 2 || quota <= 0 || period <= 0)
        return 0;
    return static_cast<size_t>((quota + period - 1) / period);
}

}  // namespace

size_t physical_cores() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return 1;
    size_t n = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && is_first_sibling(cpu, allowed))
            n++;
    }
    size_t share = cgroup_cpus();
    if (share != 0 && share < n)
        n = share;
    return n == 0 ? 1 : n;
}
#else
size_t physical_cores() {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? static_cast<size_t>(n) : 1;
}
#endif

}  // namespace minigpt
