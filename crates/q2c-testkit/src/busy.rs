//! Keeps a CPU busy, for tests of warnings about a busy machine.

use std::sync::atomic::{AtomicBool, Ordering};

/// Raises a flag when it goes out of scope, also where a test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Keeps a CPU busy while `work` is done.
pub fn busily<T>(work: impl FnOnce() -> T) -> T {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let _ends = Ends(&done);
        work()
    })
}
