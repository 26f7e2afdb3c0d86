//! Which I/Os of a capture are of the command that runs during it.

use q2c_host::Roots;
use q2c_host::tasks::{Kin, ProcessFamily};
use q2c_trace::recording::Recorded;
use q2c_trace::span::NONE_32;
use std::collections::BTreeMap;
use std::path::Path;

/// Counts the I/Os of a command and its children. Others use the disk meanwhile, and are recorded,
/// too.
pub(crate) struct OfCommand {
    family: ProcessFamily,
    names: BTreeMap<String, u64>,
    all: u64,
    /// I/Os of processes that had ended when they were looked up.
    gone: u64,
}

impl OfCommand {
    /// Counts those of the process `first` and its children.
    pub(crate) fn new(roots: &Roots, first: u32) -> Self {
        OfCommand {
            family: ProcessFamily::new(roots, first),
            names: BTreeMap::new(),
            all: 0,
            gone: 0,
        }
    }

    pub(crate) fn io(&mut self, io: &Recorded) {
        self.all += 1;
        let pid = io.span.pid;
        match self.family.kin(if pid == NONE_32 { 0 } else { pid }) {
            Kin::Of => *self.names.entry(io.name().unwrap_or_default()).or_default() += 1,
            Kin::Gone => self.gone += 1,
            Kin::Other => {}
        }
    }

    pub(crate) fn ios(&self) -> u64 {
        self.names.values().sum()
    }

    /// How many of the recorded I/Os are the command's, and how to take them alone.
    pub(crate) fn message(&self, trace: &Path) -> String {
        let names: Vec<&str> = self.names.keys().map(String::as_str).collect();
        let mut sentence = format!(
            "{} of {} I/Os are of the command and its children",
            self.ios(),
            self.all
        );
        if names.len() > 1 {
            sentence += &format!(" ({})", names.join(", "));
        }
        if self.gone > 0 {
            sentence += &format!(
                "; whether {} more are, is not known: their processes had ended before they were looked up",
                self.gone
            );
        }
        let alone = format!("; q2c analyze {} --process", trace.display());
        match &names[..] {
            [] => sentence,
            [one] => format!("{sentence}{alone} {one} takes them alone"),
            _ => format!("{sentence}{alone} NAME takes those of one name alone"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_ios_are_told_with_the_way_to_take_them() {
        let mut counter = OfCommand::new(&Roots::live(), 7);
        (counter.all, counter.gone) = (30, 0);
        let sentence = |counter: &OfCommand| counter.message(Path::new("t.parquet"));
        assert_eq!(
            sentence(&counter),
            "0 of 30 I/Os are of the command and its children"
        );
        counter.names.insert("fio".to_owned(), 20);
        assert_eq!(
            sentence(&counter),
            "20 of 30 I/Os are of the command and its children; q2c analyze t.parquet --process \
             fio takes them alone"
        );
        counter.names.insert("sh".to_owned(), 2);
        counter.gone = 3;
        assert_eq!(
            sentence(&counter),
            "22 of 30 I/Os are of the command and its children (fio, sh); whether 3 more are, is \
             not known: their processes had ended before they were looked up; q2c analyze \
             t.parquet --process NAME takes those of one name alone"
        );
    }
}
