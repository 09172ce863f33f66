// In the place of thread_pool.cpp where there are no threads (make THREADS=0): no pool is made.
#include "base/thread_pool.h"

namespace minigpt {

Status ThreadPool::create(size_t, ThreadPool** pool) {
    *pool = nullptr;
    return Status();
}

void ThreadPool::destroy(ThreadPool*) {}

void ThreadPool::run(Task task, void* context) {
    task(context, 0);
}

size_t physical_cores() {
    return 1;
}

}  // namespace minigpt
