//! Windows of time that become longer with the trace, so that their number stays small for any
//! trace.

/// The content of a window, which can be joined with that of the next window.
pub(crate) trait Joined: Default {
    /// Adds the content of the next window.
    fn join(&mut self, other: Self);
}

/// At most 512 windows of equal length, a power of two of ns. The first begins at the first time
/// that is passed in. When a time would need more windows, neighbours are joined in pairs and the
/// length doubles.
pub(crate) struct Windows<T> {
    all: Vec<T>,
    start: Option<u64>,
    /// log2 of the length of a window, ns.
    length: u32,
}

impl<T> Default for Windows<T> {
    fn default() -> Self {
        Windows {
            all: Vec::new(),
            start: None,
            length: Self::SHORTEST,
        }
    }
}

impl<T> Windows<T> {
    const MOST: usize = 512;
    /// log2 of the length at first: 2^20 ns, about a millisecond.
    const SHORTEST: u32 = 20;

    /// Length of each window now, ns.
    pub(crate) fn length_ns(&self) -> u64 {
        1 << self.length
    }

    /// The windows in order: start, ns from the first time on, and content.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let length = self.length;
        let numbered = self.all.iter().enumerate();
        numbered.map(move |(at, window)| ((at as u64) << length, window))
    }
}

impl<T: Joined> Windows<T> {
    /// The window of a time. A time before the first one belongs to the first window.
    pub(crate) fn at(&mut self, time: u64) -> &mut T {
        let at = self.number(time);
        &mut self.all[at]
    }

    /// Calls `with` for every window between two times, with the ns of that span that lie in the
    /// window.
    pub(crate) fn between(&mut self, from: u64, to: u64, mut with: impl FnMut(&mut T, u64)) {
        let last = self.number(to);
        let start = self.start.unwrap_or(from);
        let (from, to) = (from.max(start) - start, to.max(start) - start);
        for at in (from >> self.length) as usize..=last {
            let begin = (at as u64) << self.length;
            let part = to.min(begin.saturating_add(self.length_ns())) - from.max(begin);
            with(&mut self.all[at], part);
        }
    }

    fn number(&mut self, time: u64) -> usize {
        let since = time.saturating_sub(*self.start.get_or_insert(time));
        while since >> self.length >= Self::MOST as u64 {
            self.length += 1;
            let mut old = std::mem::take(&mut self.all).into_iter();
            while let Some(mut one) = old.next() {
                old.next().into_iter().for_each(|next| one.join(next));
                self.all.push(one);
            }
        }
        let at = (since >> self.length) as usize;
        if self.all.len() <= at {
            self.all.resize_with(at + 1, T::default);
        }
        at
    }
}
