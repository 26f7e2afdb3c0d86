//! Keeps a CPU busy, for tests of warnings about a busy machine.

use std::sync::atomic::{AtomicBool, Ordering};

/// Keeps a CPU busy while `work` is done.
pub fn with_busy_cpu<T>(work: impl FnOnce() -> T) -> T {
    /// Raises the flag when it goes out of scope, also where a test fails.
    struct RaiseOnDrop<'a>(&'a AtomicBool);

    impl Drop for RaiseOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let _raise = RaiseOnDrop(&done);
        work()
    })
}
