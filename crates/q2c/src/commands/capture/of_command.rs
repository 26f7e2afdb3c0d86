//! Which I/Os of a capture are of the command that runs during it.

use q2c_host::Roots;
use q2c_host::tasks::{Family, Kin};
use q2c_trace::recording::Recorded;
use q2c_trace::span::NONE_32;
use std::collections::BTreeMap;
use std::path::Path;

/// Counts the I/Os of a command and its children. Others use the disk meanwhile, and are recorded,
/// too.
pub struct OfCommand {
    family: Family,
    names: BTreeMap<String, u64>,
    all: u64,
    /// I/Os of processes that had ended when they were looked up.
    gone: u64,
}

impl OfCommand {
    /// Counts those of the process `first` and its children.
    pub fn new(roots: &Roots, first: u32) -> Self {
        OfCommand {
            family: Family::new(roots, first),
            names: BTreeMap::new(),
            all: 0,
            gone: 0,
        }
    }

    pub fn io(&mut self, io: &Recorded) {
        self.all += 1;
        let pid = io.span.pid;
        match self.family.kin(if pid == NONE_32 { 0 } else { pid }) {
            Kin::Of => *self.names.entry(io.name().unwrap_or_default()).or_default() += 1,
            Kin::Gone => self.gone += 1,
            Kin::Other => {}
        }
    }

    pub fn ios(&self) -> u64 {
        self.names.values().sum()
    }

    /// How many of the recorded I/Os are the command's, and how to take them alone.
    pub fn told(&self, trace: &Path) -> String {
        let names: Vec<&str> = self.names.keys().map(String::as_str).collect();
        let mut told = format!(
            "{} of {} I/Os are of the command and its children",
            self.ios(),
            self.all
        );
        if names.len() > 1 {
            told += &format!(" ({})", names.join(", "));
        }
        if self.gone > 0 {
            told += &format!(
                "; whether {} more are, is not known: their processes had ended before they were looked up",
                self.gone
            );
        }
        let alone = format!("; q2c analyze {} --process", trace.display());
        match &names[..] {
            [] => told,
            [one] => format!("{told}{alone} {one} takes them alone"),
            _ => format!("{told}{alone} NAME takes those of one name alone"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_ios_are_told_with_the_way_to_take_them() {
        let mut of = OfCommand::new(&Roots::live(), 7);
        (of.all, of.gone) = (30, 0);
        let told = |of: &OfCommand| of.told(Path::new("t.parquet"));
        assert_eq!(
            told(&of),
            "0 of 30 I/Os are of the command and its children"
        );
        of.names.insert("fio".to_owned(), 20);
        assert_eq!(
            told(&of),
            "20 of 30 I/Os are of the command and its children; q2c analyze t.parquet --process \
             fio takes them alone"
        );
        of.names.insert("sh".to_owned(), 2);
        of.gone = 3;
        assert_eq!(
            told(&of),
            "22 of 30 I/Os are of the command and its children (fio, sh); whether 3 more are, is \
             not known: their processes had ended before they were looked up; q2c analyze \
             t.parquet --process NAME takes those of one name alone"
        );
    }
}
