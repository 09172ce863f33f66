#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/thread_pool.h"

using namespace minigpt;

#if defined(MINIGPT_NO_threads)

TEST_CASE("pool: a build without threads has none, and does all units in order") {
    MESSAGE("skipped: what needs threads");
    ThreadPool* pool;
    REQUIRE(ThreadPool::create(5, &pool).ok());
    CHECK(pool == nullptr);
    CHECK(physical_cores() == 1);
    std::vector<size_t> seen;
    for_each_unit(pool, 4, [&](size_t unit, size_t) { seen.push_back(unit); });
    CHECK(seen == std::vector<size_t>{0, 1, 2, 3});
}

#else

TEST_CASE("pool: every unit is done once, for any number of threads") {
    for (size_t n_threads : {1, 2, 3, 8, 17}) {
        ThreadPool* pool;
        REQUIRE(ThreadPool::create(n_threads, &pool).ok());
        for (size_t n : {0, 1, 2, 15, 16, 17, 1000}) {
            for (int repeat = 0; repeat < 20; repeat++) {
                std::vector<std::atomic<int> > seen(n);
                for_each_unit(pool, n, [&](size_t unit, size_t thread) {
                    if (thread < n_threads)
                        seen[unit]++;
                });
                for (size_t i = 0; i < n; i++)
                    CHECK(seen[i] == 1);
            }
        }
        ThreadPool::destroy(pool);
    }
}

TEST_CASE("pool: a thread that is not free is not waited for") {
    ThreadPool* pool;
    REQUIRE(ThreadPool::create(2, &pool).ok());
    // The other thread is held inside a unit; what is left, and later calls, go on without it.
    std::atomic<bool> held{false}, release{false};
    std::thread caller([&] {
        for_each_unit(pool, 2, [&](size_t, size_t thread) {
            if (thread != 0) {
                held = true;
                while (!release)
                    std::this_thread::yield();
            }
            while (!held)
                std::this_thread::yield();
        });
    });
    while (!held)
        std::this_thread::yield();
    release = true;
    caller.join();
    for (int i = 0; i < 1000; i++) {
        std::atomic<int> n{0};
        for_each_unit(pool, 3, [&](size_t, size_t) { n++; });
        CHECK(n == 3);
    }
    ThreadPool::destroy(pool);
}

TEST_CASE("pool: callers from several threads take turns") {
    ThreadPool* pool;
    REQUIRE(ThreadPool::create(3, &pool).ok());
    std::atomic<size_t> sum{0};
    std::vector<std::thread> callers;
    for (int c = 0; c < 4; c++) {
        callers.emplace_back([&] {
            for (int i = 0; i < 200; i++) {
                parallel_for(pool, 10, 3, [&](size_t begin, size_t end) { sum += end - begin; });
            }
        });
    }
    for (std::thread& caller : callers)
        caller.join();
    CHECK(sum == 4 * 200 * 10);
    ThreadPool::destroy(pool);
}

TEST_CASE("pool: threads wake again after they have gone to sleep") {
    ThreadPool* pool;
    REQUIRE(ThreadPool::create(4, &pool).ok());
    for (int i = 0; i < 20; i++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        std::atomic<int> n{0};
        for_each_unit(pool, 4, [&](size_t, size_t) { n++; });
        CHECK(n == 4);
    }
    ThreadPool::destroy(pool);
}

TEST_CASE("pool: there is at least one core") {
    CHECK(physical_cores() >= 1);
}

#endif
