#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/thread_pool.h"

using namespace minigpt;

TEST_CASE("pool: every index is visited once, for any number of threads and any grain") {
    for (size_t n_threads : {1, 2, 3, 8, 17}) {
        ThreadPool* pool;
        REQUIRE(ThreadPool::create(n_threads, &pool).ok());
        for (size_t n : {0, 1, 2, 15, 16, 17, 1000}) {
            for (size_t grain : {1, 3, 16}) {
                std::vector<std::atomic<int>> seen(n);
                parallel_for(pool, n, grain, [&](size_t begin, size_t end, size_t thread) {
                    CHECK(begin % grain == 0);
                    CHECK(thread < n_threads);
                    for (size_t i = begin; i < end; i++)
                        seen[i]++;
                });
                for (size_t i = 0; i < n; i++)
                    CHECK(seen[i] == 1);
            }
        }
        ThreadPool::destroy(pool);
    }
}

TEST_CASE("pool: callers from several threads take turns") {
    ThreadPool* pool;
    REQUIRE(ThreadPool::create(3, &pool).ok());
    std::atomic<size_t> sum{0};
    std::vector<std::thread> callers;
    for (int c = 0; c < 4; c++) {
        callers.emplace_back([&] {
            for (int i = 0; i < 200; i++) {
                parallel_for(pool, 10, 1,
                             [&](size_t begin, size_t end, size_t) { sum += end - begin; });
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
        parallel_for(pool, 4, 1, [&](size_t, size_t, size_t) { n++; });
        CHECK(n == 4);
    }
    ThreadPool::destroy(pool);
}

TEST_CASE("pool: there is at least one core") {
    CHECK(physical_cores() >= 1);
}
