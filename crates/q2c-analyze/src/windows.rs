//! Windows of time that grow with the trace, so that any trace has few of them.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// The content of a window, which can be joined with that of another window.
pub(crate) trait Mergeable: Default {
    fn join(&mut self, other: Self);
}

/// At most `MAX` windows of equal length: a power of two of ns, at least 2^`MIN_LOG2` (2^20 ns is
/// about 1 ms). They begin at multiples of their length on the trace's clock. If a time would need
/// more windows, neighbours are joined in pairs and the length doubles. So windows depend only on
/// the first and the last time, and those of parts add up. Ranges of sectors use them too.
// The states of analyses are stored by position (postcard), so the tuple is the fields in order.
#[derive(Clone, Serialize, Deserialize)]
#[serde(
    try_from = "(u32, u64, Vec<T>)",
    bound(deserialize = "T: Deserialize<'de>")
)]
pub(crate) struct GrowingWindows<T, const MAX: usize = 512, const MIN_LOG2: u32 = 20> {
    /// log2 of the length of a window, ns.
    log2: u32,
    /// Number of the first window: its start divided by the window length.
    base: u64,
    all: Vec<T>,
}

impl<T, const MAX: usize, const MIN_LOG2: u32> TryFrom<(u32, u64, Vec<T>)>
    for GrowingWindows<T, MAX, MIN_LOG2>
{
    type Error = &'static str;

    fn try_from((log2, base, all): (u32, u64, Vec<T>)) -> Result<Self, &'static str> {
        let fits = (MIN_LOG2..u64::BITS).contains(&log2) && all.len() <= MAX;
        let last = base.checked_add(all.len().saturating_sub(1) as u64);
        if fits && last.is_some_and(|last| last <= u64::MAX >> log2) {
            Ok(GrowingWindows { log2, base, all })
        } else {
            Err("windows of time that no I/Os have")
        }
    }
}

impl<T, const MAX: usize, const MIN_LOG2: u32> Default for GrowingWindows<T, MAX, MIN_LOG2> {
    fn default() -> Self {
        GrowingWindows {
            log2: MIN_LOG2,
            base: 0,
            all: Vec::new(),
        }
    }
}

impl<T, const MAX: usize, const MIN_LOG2: u32> GrowingWindows<T, MAX, MIN_LOG2> {
    pub(crate) fn log2(&self) -> u32 {
        self.log2
    }

    /// The windows with their numbers: a number is the start divided by the window length.
    pub(crate) fn with_numbers(&self) -> impl Iterator<Item = (u64, &T)> {
        (self.base..).zip(&self.all)
    }

    /// For each window: its start in ns since `origin` (an earlier start counts as `origin`), its
    /// length in ns and its content.
    pub(crate) fn iter(&self, origin: u64) -> impl Iterator<Item = (u64, u64, &T)> {
        self.with_numbers().map(move |(number, window)| {
            let begin = number << self.log2;
            let end = begin.saturating_add(1 << self.log2);
            let begin = begin.max(origin);
            let length = end.saturating_sub(begin).max(1);
            (begin - origin, length, window)
        })
    }
}

impl Mergeable for u64 {
    fn join(&mut self, other: Self) {
        *self = self.saturating_add(other);
    }
}

impl<T: Mergeable, const MAX: usize, const MIN_LOG2: u32> GrowingWindows<T, MAX, MIN_LOG2> {
    pub(crate) fn window_mut(&mut self, time: u64) -> &mut T {
        let index = self.index_or_add(time);
        &mut self.all[index]
    }

    /// Calls `add` for every window between two times, with the ns of `from..to` that lie in it.
    pub(crate) fn add_between(&mut self, from: u64, to: u64, mut add: impl FnMut(&mut T, u64)) {
        // Making windows for `to` may move the index of `from`, so that index is looked up again.
        // Making windows for `from` first ensures that the index of `to` does not move afterwards.
        self.index_or_add(from);
        let last = self.index_or_add(to);
        for index in self.index_or_add(from)..=last {
            let begin = (self.base + index as u64) << self.log2;
            let end = begin.saturating_add(1 << self.log2);
            add(&mut self.all[index], to.min(end) - from.max(begin));
        }
    }

    #[inline]
    fn index_or_add(&mut self, time: u64) -> usize {
        let index = (time >> self.log2).wrapping_sub(self.base);
        if index < self.all.len() as u64 {
            index as usize
        } else {
            self.add_until(time)
        }
    }

    /// Makes the windows that are lacking up to `time`, at either end. Returns the index of its
    /// window.
    #[cold]
    fn add_until(&mut self, time: u64) -> usize {
        if self.all.is_empty() {
            self.base = time >> self.log2;
        }
        loop {
            let number = time >> self.log2;
            if number.max(self.last_number()) - number.min(self.base) < MAX as u64 {
                break;
            }
            self.double();
        }
        let number = time >> self.log2;
        let before = self.base.saturating_sub(number) as usize;
        let empty = std::iter::repeat_with(T::default);
        self.all.splice(0..0, empty.take(before));
        self.base -= before as u64;
        let index = (number - self.base) as usize;
        if self.all.len() <= index {
            self.all.resize_with(index + 1, T::default);
        }
        index
    }

    /// Doubles the length of the windows until its log2 is at least `log2`.
    pub(crate) fn lengthen(&mut self, log2: u32) {
        while self.log2 < log2 {
            self.double();
        }
    }

    fn double(&mut self) {
        let old = std::mem::take(&mut self.all);
        for (number, one) in (self.base..).zip(old) {
            match self.all.last_mut() {
                Some(last) if number % 2 == 1 => last.join(one),
                _ => self.all.push(one),
            }
        }
        self.base /= 2;
        self.log2 += 1;
    }

    fn last_number(&self) -> u64 {
        self.base + self.all.len().saturating_sub(1) as u64
    }
}

impl<T: Mergeable, const MAX: usize, const MIN_LOG2: u32> Mergeable
    for GrowingWindows<T, MAX, MIN_LOG2>
{
    fn join(&mut self, mut other: Self) {
        if other.all.is_empty() {
            return;
        }
        if self.all.is_empty() {
            *self = other;
            return;
        }
        loop {
            let span = self.last_number().max(other.last_number()) - self.base.min(other.base);
            match self.log2.cmp(&other.log2) {
                Ordering::Less => self.double(),
                Ordering::Greater => other.double(),
                Ordering::Equal if span < MAX as u64 => break,
                Ordering::Equal => {
                    self.double();
                    other.double();
                }
            }
        }
        for number in [other.base, other.last_number()] {
            self.add_until(number << self.log2);
        }
        let first = (other.base - self.base) as usize;
        for (window, more) in self.all[first..].iter_mut().zip(other.all) {
            window.join(more);
        }
    }
}
