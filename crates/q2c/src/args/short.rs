//! The help of `-h`: a line for each option. `--help` has the whole texts.

use clap::builder::StyledStr;
use clap::{Arg, Command};

/// Characters of a help text that fit on a line beside the name of its option.
const LINE: usize = 64;

/// The command and its commands with short texts for `-h`. Options that are seldom needed have
/// `hide_short_help` where they are declared.
pub(crate) fn shortened(command: Command) -> Command {
    command.mut_args(with_line).mut_subcommands(shortened)
}

/// Gives an option whose text takes several lines the begin of it for `-h`. An option that has two
/// texts of its own keeps them.
fn with_line(arg: Arg) -> Arg {
    let long = arg.get_long_help().is_some();
    let text = arg.get_help().map(StyledStr::to_string).filter(|_| !long);
    match text {
        Some(text) if text.chars().count() > LINE => arg.help(first_of(&text)).long_help(text),
        _ => arg,
    }
}

/// The first clause of a text, with the default that is told at its end where both fit.
fn first_of(text: &str) -> String {
    let (description, default) = match text.rfind(" [default: ") {
        Some(at) if text.ends_with(']') => text.split_at(at),
        _ => (text, ""),
    };
    let ends = ["; ", ", such as ", ": ", ". ", ", "];
    let clauses = ends
        .iter()
        .filter_map(|end| Some(&description[..description.find(end)?]));
    let whole = std::iter::once(description);
    let fits = |clause: &&str| {
        let whole = clause.matches('(').count() == clause.matches(')').count();
        whole && (SHORTEST..=LINE).contains(&clause.chars().count())
    };
    let Some(first) = whole.chain(clauses).find(fits) else {
        return text.to_owned();
    };
    if first.chars().count() + default.chars().count() <= LINE {
        format!("{first}{default}")
    } else {
        first.to_owned()
    }
}

/// Fewer characters than this tell nothing of an option.
const SHORTEST: usize = 12;

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn a_long_text_is_cut_behind_a_clause() {
        for (text, line) in [
            (
                "CPUs of the foreground threads, separated by commas; auto takes the last ones, leaving CPU 0 to others",
                "CPUs of the foreground threads, separated by commas",
            ),
            (
                "Background jobs beside the points, such as rw=randread,bs=32k,depth=4,jobs=2,cpus=1, or none",
                "Background jobs beside the points",
            ),
            (
                "Interfaces, separated by commas: io_uring, libaio, pvsync2, spdk (spdk_nvme_perf) [default: io_uring]",
                "Interfaces, separated by commas [default: io_uring]",
            ),
        ] {
            assert_eq!(first_of(text), line);
        }
    }

    /// All commands, with those of commands.
    fn each(command: &Command, name: &str, visit: &mut dyn FnMut(&str, &Command)) {
        visit(name, command);
        for below in command.get_subcommands() {
            each(below, &format!("{name} {}", below.get_name()), visit);
        }
    }

    #[test]
    fn the_short_help_of_a_command_is_a_screen() {
        let mut program = Cli::command().term_width(100);
        program.build();
        let mut long = Vec::new();
        each(&program, "q2c", &mut |name, command| {
            let lines = command.clone().render_help().to_string().lines().count();
            if lines >= 50 {
                long.push(format!("{name}: {lines}"));
            }
        });
        assert!(long.is_empty(), "{long:?}");
    }

    #[test]
    fn the_whole_texts_are_in_the_long_help() {
        let mut program = Cli::command();
        let bench = program.find_subcommand_mut("bench").unwrap();
        let (short, long) = (bench.render_help(), bench.render_long_help());
        let (short, long) = (short.to_string(), long.to_string());
        assert!(short.contains("CPUs in the order"), "{short}");
        assert!(!short.contains("SMT siblings") && long.contains("SMT siblings"));
    }
}
