//! Windows of time that grow with the trace, so that any trace has few of them.

use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// The content of a window, which can be joined with that of another window.
pub(crate) trait Joined: Default {
    fn join(&mut self, other: Self);
}

/// At most `MOST` windows of equal length: a power of two of ns, at least 2^`SHORTEST` (2^20 ns is
/// about 1 ms). They begin at multiples of their length on the trace's clock. If a time would need
/// more windows, neighbours are joined in pairs and the length doubles. So windows depend only on
/// the first and the last time, and those of parts add up. Ranges of sectors use them too.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Stored<T>", bound(deserialize = "T: Deserialize<'de>"))]
pub(crate) struct TimeWindows<T, const MOST: usize = 512, const SHORTEST: u32 = 20> {
    /// log2 of the length of a window, ns.
    length: u32,
    /// Number of the first window: its start divided by the window length.
    base: u64,
    all: Vec<T>,
}

/// The serialised form, before its numbers are checked.
#[derive(Deserialize)]
struct Stored<T> {
    length: u32,
    base: u64,
    all: Vec<T>,
}

impl<T, const MOST: usize, const SHORTEST: u32> TryFrom<Stored<T>>
    for TimeWindows<T, MOST, SHORTEST>
{
    type Error = &'static str;

    fn try_from(stored: Stored<T>) -> Result<Self, &'static str> {
        let Stored { length, base, all } = stored;
        let fits = (SHORTEST..u64::BITS).contains(&length) && all.len() <= MOST;
        let last = base.checked_add(all.len().saturating_sub(1) as u64);
        if fits && last.is_some_and(|last| last <= u64::MAX >> length) {
            Ok(TimeWindows { length, base, all })
        } else {
            Err("windows of time that no I/Os have")
        }
    }
}

impl<T, const MOST: usize, const SHORTEST: u32> Default for TimeWindows<T, MOST, SHORTEST> {
    fn default() -> Self {
        TimeWindows {
            length: SHORTEST,
            base: 0,
            all: Vec::new(),
        }
    }
}

impl<T, const MOST: usize, const SHORTEST: u32> TimeWindows<T, MOST, SHORTEST> {
    pub(crate) fn length(&self) -> u32 {
        self.length
    }

    /// The windows with their numbers: a number is the start divided by the window length.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u64, &T)> {
        (self.base..).zip(&self.all)
    }

    /// For each window: start in ns since `origin` (earlier starts are cut to it), ns long,
    /// content.
    pub(crate) fn iter(&self, origin: u64) -> impl Iterator<Item = (u64, u64, &T)> {
        self.numbered().map(move |(number, window)| {
            let begin = number << self.length;
            let end = begin.saturating_add(1 << self.length);
            let begin = begin.max(origin);
            let length = end.saturating_sub(begin).max(1);
            (begin - origin, length, window)
        })
    }
}

impl Joined for u64 {
    fn join(&mut self, other: Self) {
        *self = self.saturating_add(other);
    }
}

impl<T: Joined, const MOST: usize, const SHORTEST: u32> TimeWindows<T, MOST, SHORTEST> {
    pub(crate) fn window_mut(&mut self, time: u64) -> &mut T {
        let place = self.place(time);
        &mut self.all[place]
    }

    /// Calls `with` for every window between two times, with the ns of that time in the window.
    pub(crate) fn between(&mut self, from: u64, to: u64, mut with: impl FnMut(&mut T, u64)) {
        // Making windows for `to` may move the place of `from`, so that place is looked up again.
        // Making windows for `from` first ensures that the place of `to` does not move afterwards.
        self.place(from);
        let last = self.place(to);
        for place in self.place(from)..=last {
            let begin = (self.base + place as u64) << self.length;
            let end = begin.saturating_add(1 << self.length);
            with(&mut self.all[place], to.min(end) - from.max(begin));
        }
    }

    #[inline]
    fn place(&mut self, time: u64) -> usize {
        let place = (time >> self.length).wrapping_sub(self.base);
        if place < self.all.len() as u64 {
            place as usize
        } else {
            self.reach(time)
        }
    }

    /// Makes the windows up to a time that has none yet. Returns the place of its window.
    #[cold]
    fn reach(&mut self, time: u64) -> usize {
        if self.all.is_empty() {
            self.base = time >> self.length;
        }
        loop {
            let number = time >> self.length;
            if number.max(self.last()) - number.min(self.base) < MOST as u64 {
                break;
            }
            self.double();
        }
        let number = time >> self.length;
        let before = self.base.saturating_sub(number) as usize;
        let none = std::iter::repeat_with(T::default);
        self.all.splice(0..0, none.take(before));
        self.base -= before as u64;
        let place = (number - self.base) as usize;
        if self.all.len() <= place {
            self.all.resize_with(place + 1, T::default);
        }
        place
    }

    /// Doubles the windows until log2 of their length is at least `length`.
    pub(crate) fn lengthen(&mut self, length: u32) {
        while self.length < length {
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
        self.length += 1;
    }

    fn last(&self) -> u64 {
        self.base + self.all.len().saturating_sub(1) as u64
    }
}

impl<T: Joined, const MOST: usize, const SHORTEST: u32> Joined for TimeWindows<T, MOST, SHORTEST> {
    fn join(&mut self, mut other: Self) {
        if other.all.is_empty() {
            return;
        }
        if self.all.is_empty() {
            *self = other;
            return;
        }
        loop {
            let span = self.last().max(other.last()) - self.base.min(other.base);
            match self.length.cmp(&other.length) {
                Ordering::Less => self.double(),
                Ordering::Greater => other.double(),
                Ordering::Equal if span < MOST as u64 => break,
                Ordering::Equal => {
                    self.double();
                    other.double();
                }
            }
        }
        for number in [other.base, other.last()] {
            self.reach(number << self.length);
        }
        let place = (other.base - self.base) as usize;
        for (window, more) in self.all[place..].iter_mut().zip(other.all) {
            window.join(more);
        }
    }
}
