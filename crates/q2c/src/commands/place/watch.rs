//! The command `q2c place watch`.

use super::DetectArgs;
use crate::output::{print_json, print_while_read, screen, unix_s};
use clap::Args;
use q2c_host::Roots;
use q2c_host::signals::Orderly;
use q2c_model::{Fault, OrFault};
use q2c_place::scheduler::observe::{TaskObserver, window_of};
use q2c_place::scheduler::view::{PlaceWatchBasis, detector, machine};
use q2c_report::Reported;
use q2c_result::Exit;
use q2c_result::place_watch::PlaceWatchResult;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What to watch.
#[derive(Clone, Debug, Args)]
pub(crate) struct PlaceWatchArgs {
    /// Hints and window.
    #[command(flatten)]
    pub detect: DetectArgs,
    /// Speeds beside neighbours from this TOML file [default: from published figures]
    #[arg(long, value_name = "FILE")]
    pub speeds: Option<PathBuf>,
    /// End after so many windows [default: go on until interrupted; 3 with --json]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub windows: Option<u32>,
    /// Print the last look as JSON; q2c report draws it again
    #[arg(long, conflicts_with = "json_lines")]
    pub json: bool,
    /// Print each look as a line of JSON
    #[arg(long)]
    pub json_lines: bool,
}

/// Windows of `--json`: after the second one a task that stopped polling counts as computing.
const WINDOWS: u32 = 3;

pub(super) fn run(args: &PlaceWatchArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    // After a signal the probe is taken off, and the last look is printed.
    let _orderly = Orderly::begin();
    let (speeds, speeds_from) = super::speeds(args.speeds.as_deref())?;
    let hints = super::hints(args.detect.hints.as_deref())?;
    let roots = Roots::live();
    let map = machine(&roots).map_err(|error| Fault::new(Exit::Environment, error))?;
    let mut observer = TaskObserver::begin(&roots, hints);
    let view = PlaceWatchBasis {
        map,
        speeds,
        speeds_from,
        detector: detector(&observer),
    };
    let window = Duration::from_nanos(window_of(args.detect.window).0);
    let most = args.windows.or(args.json.then_some(WINDOWS));
    let mut screen = Redrawn::default();
    let mut last = None;
    for nth in 1.. {
        let Some(seconds) = super::wait(window, stop) else {
            break;
        };
        let active = observer.window()?;
        let look = view.look(&active, unix_s(), seconds);
        let goes_on = match (args.json, args.json_lines) {
            (true, _) => true,
            (false, true) => {
                print_while_read(&serde_json::to_string(&look).or_exit(Exit::Internal)?)?
            }
            (false, false) => screen.show(&look)?,
        };
        last = Some(look);
        if !goes_on || most.is_some_and(|most| nth >= most) {
            break;
        }
    }
    match (args.json, last) {
        (true, Some(look)) => print_json(&look)?,
        (true, None) => return Ok(Exit::Interrupted),
        (false, _) => {}
    }
    Ok(Exit::Done)
}

/// In a terminal each look takes the place of the one before; elsewhere they follow each other.
#[derive(Default)]
struct Redrawn {
    lines: usize,
}

impl Redrawn {
    /// Shows a look. Returns false when the reader has closed the pipe.
    fn show(&mut self, look: &PlaceWatchResult) -> Result<bool, Fault> {
        let text = look.document().text(screen());
        let text = text.trim_end();
        let wipe = if self.lines > 0 && std::io::stdout().is_terminal() {
            format!("\x1b[{}F\x1b[J", self.lines)
        } else {
            String::new()
        };
        self.lines = text.lines().count();
        print_while_read(&(wipe + text))
    }
}
