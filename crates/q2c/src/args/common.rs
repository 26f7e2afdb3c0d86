//! Options of every command that does I/O.

use clap::Args;
use q2c_engine::{EngineSpec, Pattern};
use q2c_model::{Bytes, parse_size};
use q2c_workbench::workload::{Background, BackgroundSpec};
use std::path::PathBuf;
use std::str::FromStr;

/// Target, job and place.
#[derive(Clone, Debug, Args)]
pub struct WorkloadArgs {
    /// File or block device; or a simulated device such as sim:50us
    pub target: Option<String>,
    /// Use a scratch file of this size instead, made now, filled with random data, removed at the
    /// end
    #[arg(long, value_name = "SIZE", value_parser = parse_size, conflicts_with = "target")]
    pub scratch: Option<Bytes>,
    /// Pattern: randread, randwrite, read or write
    #[arg(long, default_value = "randread")]
    pub rw: Pattern,
    /// Block sizes, separated by commas
    #[arg(
        short = 'b',
        long,
        default_value = "4k",
        value_delimiter = ',',
        value_parser = parse_size
    )]
    pub bs: Vec<Bytes>,
    /// CPUs of the foreground threads, separated by commas; auto takes the last ones, leaving CPU 0
    /// to others, unless another one is clearly faster in trials of a moment each
    #[arg(long, alias = "cpu", value_name = "LIST", default_value = "auto")]
    pub cpus: Cpus,
    /// Background jobs, such as rw=randread,bs=32k,depth=4,jobs=2,cpus=1; several are joined by `;`
    /// or given again, and none stands for no job
    #[arg(long, value_name = "JOBS")]
    pub background: Vec<Background>,
    /// I/O interface [default: io_uring, or what a simulated target names]
    #[arg(short = 'e', long)]
    pub engine: Option<EngineSpec>,
    /// Place of the run.
    #[command(flatten)]
    pub run: RunArgs,
}

impl WorkloadArgs {
    /// All background jobs: those of one value run beside those of the others.
    pub fn background_jobs(&self) -> Vec<BackgroundSpec> {
        let all = self.background.iter().flat_map(|some| &some.0);
        all.cloned().collect()
    }
}

/// The number of jobs of a command that takes one.
#[derive(Clone, Copy, Debug, Args)]
pub struct JobsArg {
    /// Foreground threads, depth 1 each
    #[arg(
        short = 'j',
        long,
        default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1024)
    )]
    pub jobs: u32,
}

/// CPUs by their numbers; empty for `auto`, where q2c chooses them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus(pub Vec<u32>);

impl FromStr for Cpus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| {
            let wrong = || format!("expected numbers of CPUs such as 0,2, or auto, found `{text}`");
            part.trim().parse().map_err(|_| wrong())
        };
        if text == "auto" {
            return Ok(Cpus::default());
        }
        let cpus: Vec<u32> = text.split(',').map(number).collect::<Result<_, _>>()?;
        let again = |(at, cpu): (usize, &u32)| cpus[..at].contains(cpu).then_some(*cpu);
        match cpus.iter().enumerate().find_map(again) {
            // Jobs beyond the last CPU begin with the first one again, so nobody needs to.
            Some(cpu) => Err(format!("expected each CPU once, found CPU {cpu} twice")),
            None => Ok(Cpus(cpus)),
        }
    }
}

/// Whole numbers from 1 to 1024, each once, in the order given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts(pub Vec<u16>);

impl FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        whole_numbers(text).map(Counts)
    }
}

/// Whole numbers from 1 to 65536, each once, in the order given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers(pub Vec<u32>);

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        whole_numbers(text).map(Numbers)
    }
}

/// A type of whole numbers in lists of the command line.
trait Listed: TryFrom<u32> + PartialEq {
    /// The largest number that a list takes.
    const MOST: u32;
}

impl Listed for u16 {
    const MOST: u32 = 1024;
}

impl Listed for u32 {
    const MOST: u32 = 65_536;
}

/// Reads a list of numbers and ranges, each number once, in the order given: `1,2,4`, `1..8`, or
/// with a step `5..120/5`, which begins with 5.
fn whole_numbers<T: Listed>(text: &str) -> Result<Vec<T>, String> {
    let wrong = || {
        format!(
            "expected whole numbers from 1 to {}, such as 1,2,4 or 1..8 or 5..120/5, found `{text}`",
            T::MOST
        )
    };
    let one = |part: &str| {
        let n: Option<u32> = part.trim().parse().ok();
        n.filter(|n| (1..=T::MOST).contains(n)).ok_or_else(wrong)
    };
    let mut numbers: Vec<T> = Vec::new();
    for part in text.split(',') {
        let (from, to, step) = match part.split_once("..") {
            None => (part, part, "1"),
            Some((from, rest)) => {
                let (to, step) = rest.split_once('/').unwrap_or((rest, "1"));
                (from, to, step)
            }
        };
        let (from, to, step) = (one(from)?, one(to)?, one(step)?);
        if from > to {
            return Err(wrong());
        }
        for n in (from..=to).step_by(step as usize) {
            let n = T::try_from(n).map_err(|_| wrong())?;
            if !numbers.contains(&n) {
                numbers.push(n);
            }
        }
    }
    Ok(numbers)
}

/// Options of every command that may write and leaves a run.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Allow writing to this existing file or block device: name the target again
    #[arg(long, value_name = "PATH")]
    pub allow_write: Vec<PathBuf>,
    /// Folder for runs and scratch files
    #[arg(long, default_value = "runs", value_name = "FOLDER")]
    pub out: PathBuf,
    /// Seed of offsets and of the order of trials
    #[arg(
        long,
        hide_short_help = true,
        default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(0..1 << 62)
    )]
    pub seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_named_or_left_to_q2c() {
        assert_eq!("3,0".parse(), Ok(Cpus(vec![3, 0])));
        assert_eq!("auto".parse(), Ok(Cpus::default()));
        let twice = "1,0,1".parse::<Cpus>().unwrap_err();
        assert_eq!(twice, "expected each CPU once, found CPU 1 twice");
        for wrong in ["", "0,0", "1,,2", "-1", "all", "auto,1"] {
            assert!(wrong.parse::<Cpus>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn counts_are_lists_and_ranges() {
        assert_eq!("1..3,8,2".parse(), Ok(Counts(vec![1, 2, 3, 8])));
        assert_eq!("5..21/5,1".parse(), Ok(Counts(vec![5, 10, 15, 20, 1])));
        assert_eq!("7..7/3".parse(), Ok(Counts(vec![7])));
        assert_eq!(
            "4,2048..65536/32768".parse(),
            Ok(Numbers(vec![4, 2048, 34_816]))
        );
        for wrong in ["65537", "1..2/0", "1..65536/65537"] {
            assert!(wrong.parse::<Numbers>().is_err(), "{wrong}");
        }
        for wrong in [
            "", "0", "4..2", "a", "1,,2", "1025", "3/2", "1..4/0", "1..4/", "1..4/2/2",
        ] {
            assert!(wrong.parse::<Counts>().is_err(), "{wrong}");
        }
    }
}
