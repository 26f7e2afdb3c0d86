use crate::Direction;
use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use thiserror::Error;

/// An access pattern, named as in fio: `randread`, `rw`, `randrw:70`, `randread:zipf=1.1`,
/// `randwrite:fdatasync=1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// True if blocks are random; otherwise they ascend, for each direction by itself.
    pub random: bool,
    /// Share of the requests that write, percent from 0 to 100; the others read.
    pub write_pct: u8,
    /// How much more often random requests go to some blocks than to others; `None` if all blocks
    /// are alike.
    pub zipf: Option<Zipf>,
    /// After so many writes the lane flushes (fdatasync) and waits for it; `None`: never.
    pub fdatasync: Option<NonZeroU32>,
}

/// A Zipf distribution of blocks: the n-th most frequent one gets a share in proportion to
/// n^-theta. Which blocks are frequent depends on their number alone, so all lanes share them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Zipf {
    /// A thousand times theta, from 1 to 10,000.
    milli: u16,
}

impl Zipf {
    /// The exponent, above 0 and at most 10.
    pub fn theta(self) -> f64 {
        f64::from(self.milli) / 1e3
    }
}

impl Pattern {
    /// Random reads.
    pub const RANDREAD: Pattern = Pattern::new(true, Direction::Read);

    /// Requests of one direction.
    pub const fn new(random: bool, direction: Direction) -> Self {
        Pattern {
            random,
            write_pct: match direction {
                Direction::Read => 0,
                Direction::Write => 100,
            },
            zipf: None,
            fdatasync: None,
        }
    }

    /// True if any of its requests write.
    pub const fn writes(&self) -> bool {
        self.write_pct > 0
    }

    /// The direction of its requests; `None` if there are both.
    pub const fn direction(&self) -> Option<Direction> {
        match self.write_pct {
            0 => Some(Direction::Read),
            100 => Some(Direction::Write),
            _ => None,
        }
    }

    /// True if its requests are of several kinds, whose figures are told apart.
    pub const fn has_kinds(&self) -> bool {
        self.direction().is_none() || self.fdatasync.is_some()
    }

    /// The name of its kind of access alone, as fio and SPDK have it: `randrw`.
    pub fn access(&self) -> &'static str {
        let column = match self.direction() {
            Some(Direction::Read) => 0,
            Some(Direction::Write) => 1,
            None => 2,
        };
        NAMES[usize::from(self.random)][column]
    }

    fn set_option(&mut self, option: &str) -> Option<()> {
        let mixed = self.direction().is_none();
        match option.split_once('=') {
            None if mixed => {
                let reads: u8 = option.strip_suffix('%').unwrap_or(option).parse().ok()?;
                self.write_pct = 100u8.checked_sub(reads)?;
            }
            Some(("zipf", theta)) if self.random => {
                let milli = (theta.parse::<f64>().ok()? * 1e3).round();
                let milli = (1.0..=1e4).contains(&milli).then_some(milli as u16)?;
                self.zipf = Some(Zipf { milli });
            }
            Some(("fdatasync", writes)) if self.writes() => {
                self.fdatasync = Some(writes.parse().ok()?);
            }
            _ => return None,
        }
        Some(())
    }
}

/// A text that names no pattern. Holds that text.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "expected randread, randwrite, randrw, read, write or rw, after it `:70` (percent of reads in a mix), `:zipf=1.1` (of a \
     random one) or `:fdatasync=1` (of one that writes), found `{0}`"
)]
pub struct ParsePatternError(pub String);

/// The names, indexed by `random` (0 or 1), then reads, writes and both.
const NAMES: [[&str; 3]; 2] = [["read", "write", "rw"], ["randread", "randwrite", "randrw"]];

impl FromStr for Pattern {
    type Err = ParsePatternError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = || ParsePatternError(text.to_owned());
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let index = NAMES.as_flattened().iter().position(|known| *known == name);
        let index = index.ok_or_else(refuse)?;
        let mut pattern = Pattern {
            random: index >= 3,
            write_pct: [0, 100, 50][index % 3],
            ..Pattern::default()
        };
        for option in parts {
            pattern.set_option(option).ok_or_else(refuse)?;
        }
        Ok(pattern)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.access())?;
        if self.direction().is_none() {
            write!(f, ":{}", 100 - self.write_pct)?;
        }
        if let Some(zipf) = self.zipf {
            write!(f, ":zipf={}", zipf.theta())?;
        }
        self.fdatasync
            .map_or(Ok(()), |writes| write!(f, ":fdatasync={writes}"))
    }
}

crate::serde_as_text!(Pattern);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_written_as_they_are_read() {
        for (text, written, write_pct) in [
            ("read", "read", 0),
            ("randwrite", "randwrite", 100),
            ("randrw", "randrw:50", 50),
            ("rw:70", "rw:70", 30),
            ("randrw:70%:zipf=1.10", "randrw:70:zipf=1.1", 30),
            ("randrw:100", "randread", 0),
            ("write:fdatasync=8", "write:fdatasync=8", 100),
        ] {
            let pattern: Pattern = text.parse().expect(text);
            assert_eq!(
                (pattern.to_string().as_str(), pattern.write_pct),
                (written, write_pct)
            );
            assert_eq!(written.parse(), Ok(pattern));
        }
        for wrong in [
            "randrw:101",
            "randread:70",
            "read:zipf=1.1",
            "randread:zipf=0",
            "randread:zipf=11",
            "randread:fdatasync=1",
            "write:fdatasync=0",
            "rand",
            "randrw:",
            "randrw:70:50:x",
        ] {
            assert_eq!(
                wrong.parse::<Pattern>(),
                Err(ParsePatternError(wrong.to_owned()))
            );
        }
    }
}
