use super::context::{EventContext, EventSource, SequenceStep, Sequences};
use super::event::{BlktraceEvent, action};
use super::file::EventFile;
use q2c_model::{Exit, Fault};
use std::io::Read;

/// Sort key of a file's next event, from the highest bits: time, place in a request's life, number
/// of the file. So events of one instant on different CPUs come in the order of a request's life.
type MergeKey = u128;

struct MergedFile<R> {
    file: EventFile<R>,
    /// Events that were read, and the index of the next one.
    read_events: Vec<BlktraceEvent>,
    next: usize,
    sequences: Sequences,
    after_gap: bool,
}

/// Merges files, each of which is in the order of time. Files without events are left out.
pub struct Merge<R> {
    files: Vec<MergedFile<R>>,
    tournament: Tournament,
    context: EventContext,
}

/// Place of an action in a request's life; smaller is earlier.
const fn stage_rank(action: u16) -> u8 {
    match action {
        action::REMAP => 0,
        action::QUEUE => 1,
        action::SPLIT => 2,
        action::COMPLETE => 6,
        action::ISSUE | action::REQUEUE => 5,
        action::INSERT => 4,
        _ => 3,
    }
}

fn merge_key(event: &BlktraceEvent, file: usize) -> MergeKey {
    u128::from(event.time) << 64 | u128::from(stage_rank(event.action)) << 32 | file as u128
}

impl<R: Read> Merge<R> {
    /// Reads the first event of each file. Fails if a file has another version or byte order than
    /// the first, or cannot be read.
    pub fn new(files: impl IntoIterator<Item = EventFile<R>>) -> Result<Self, Fault> {
        let mut merge = Merge {
            files: Vec::new(),
            tournament: Tournament::new(&[]),
            context: EventContext::default(),
        };
        for file in files {
            merge.add(file)?;
        }
        let files = merge.files.iter().enumerate();
        let keys = files.map(|(index, file)| merge_key(file.event(), index));
        merge.tournament = Tournament::new(&Vec::from_iter(keys));
        Ok(merge)
    }

    fn add(&mut self, file: EventFile<R>) -> Result<(), Fault> {
        let mut added = MergedFile {
            file,
            read_events: Vec::new(),
            next: 0,
            sequences: Sequences::default(),
            after_gap: false,
        };
        if !added.advance(&mut self.context)? {
            return Ok(());
        }
        if let Some(first) = self.files.first()
            && let Some(expected) = first.file.layout
            && let Some(found) = added.file.layout
            && expected != found
        {
            let paths = [&added, first].map(|merged| merged.file.path.display());
            let message = format!(
                "read {}: expected {expected} as in {}, found {found}; the files are of different traces",
                paths[0], paths[1]
            );
            return Err(Fault::new(Exit::Input, message));
        }
        self.files.push(added);
        Ok(())
    }

    /// Number of files with at least one event.
    pub fn files(&self) -> usize {
        self.files.len()
    }
}

impl<R: Read> EventSource for Merge<R> {
    type Error = Fault;

    /// After an error in a file, further calls leave this file out.
    #[inline]
    fn next_event(&mut self) -> Result<Option<BlktraceEvent>, Fault> {
        let key = self.tournament.winner;
        if key == Tournament::NO_KEY {
            return Ok(None);
        }
        let index = key as u32 as usize;
        let file = &mut self.files[index];
        let event = *file.event();
        self.context.gaps_passed += u64::from(file.after_gap);
        let advanced = file.advance(&mut self.context);
        let next = match advanced {
            Ok(true) => merge_key(file.event(), index),
            Ok(false) | Err(_) => Tournament::NO_KEY,
        };
        self.tournament.replace_winner(index, next);
        advanced.map(|_| Some(event))
    }

    #[inline]
    fn context(&self) -> &EventContext {
        &self.context
    }
}

impl<R: Read> MergedFile<R> {
    /// The next event, which exists if `advance` has returned true.
    #[inline]
    fn event(&self) -> &BlktraceEvent {
        &self.read_events[self.next]
    }

    /// Moves to the next event, and skips duplicates. Returns false at the end.
    #[inline]
    fn advance(&mut self, context: &mut EventContext) -> Result<bool, Fault> {
        loop {
            self.next += 1;
            if self.next >= self.read_events.len() {
                self.next = 0;
                self.file.next_events(&mut self.read_events, context)?;
            }
            let Some(event) = self.read_events.get(self.next) else {
                return Ok(false);
            };
            match self.sequences.check(event, &mut context.losses) {
                SequenceStep::Repeated => continue,
                step => self.after_gap = step == SequenceStep::AfterGap,
            }
            return Ok(true);
        }
    }
}

/// Finds the contestant with the smallest key, the winner. Replacing its key by the contestant's
/// next one takes as many comparisons as the tree of matches is deep.
///
/// All keys are different, except [`Tournament::NO_KEY`].
struct Tournament {
    /// The smallest key; [`Tournament::NO_KEY`] if no contestant has one.
    winner: u128,
    /// The greater key of each match. Match 1 is the final; the winners of matches `2n` and `2n +
    /// 1` meet in match `n`. Contestant `c` starts at index `contestants + c`.
    losers: Vec<u128>,
}

impl Tournament {
    /// The key of a contestant that has no keys left.
    const NO_KEY: u128 = u128::MAX;

    /// Starts with the first keys of contestants 0, 1 and so on.
    fn new(keys: &[u128]) -> Self {
        let contestants = keys.len();
        let mut winners = vec![Self::NO_KEY; contestants];
        winners.extend(keys);
        let mut losers = vec![Self::NO_KEY; contestants];
        for at in (1..contestants).rev() {
            let (left, right) = (winners[2 * at], winners[2 * at + 1]);
            (winners[at], losers[at]) = (left.min(right), left.max(right));
        }
        let winner = winners.get(1).copied().unwrap_or(Self::NO_KEY);
        Tournament { winner, losers }
    }

    /// Replaces the smallest key, which belongs to `contestant`, by that contestant's next key.
    #[inline]
    fn replace_winner(&mut self, contestant: usize, key: u128) {
        let mut winner = key;
        let mut at = (self.losers.len() + contestant) / 2;
        while at > 0 {
            // The result of the comparison is unpredictable, so the keys are swapped without a
            // branch.
            let other = self.losers[at];
            let exchanged = u128::from(other < winner).wrapping_neg() & (other ^ winner);
            self.losers[at] = other ^ exchanged;
            winner ^= exchanged;
            at /= 2;
        }
        self.winner = winner;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The keys of all contestants come out as the standard library sorts them.
        #[test]
        fn the_smallest_comes_first(lists in prop::collection::vec(prop::collection::vec(0..1000u128, 0..20), 0..40)) {
            let step = lists.len().max(1) as u128;
            let with_contestant = |(at, list): (usize, &Vec<u128>)| {
                let mut keys: Vec<u128> = list.iter().map(|key| key * step + at as u128).collect();
                keys.sort_unstable();
                keys.dedup();
                keys
            };
            let lists: Vec<Vec<u128>> = lists.iter().enumerate().map(with_contestant).collect();
            let mut unused: Vec<_> = lists.iter().map(|list| list.iter().copied()).collect();
            let first = unused.iter_mut().map(|keys| keys.next().unwrap_or(Tournament::NO_KEY));
            let mut tournament = Tournament::new(&first.collect::<Vec<_>>());
            let mut keys = Vec::new();
            while tournament.winner != Tournament::NO_KEY {
                keys.push(tournament.winner);
                let contestant = (tournament.winner % step) as usize;
                let next = unused[contestant].next().unwrap_or(Tournament::NO_KEY);
                tournament.replace_winner(contestant, next);
            }
            let mut expected = lists.concat();
            expected.sort_unstable();
            prop_assert_eq!(keys, expected);
        }
    }
}
