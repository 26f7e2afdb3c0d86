//! Makes the points a plan of the runner.

use super::gone::gone;
use super::spec::Spot;
use super::trial::{BenchTrial, NoTrial, Place};
use q2c_capture::kernel_hybrid::Delay;
use q2c_engine::EngineSpec;
use q2c_host::restore::{Guard, RestoreError};
use q2c_result::bench::BenchPoint;
use q2c_run::runner::{CellError, CellPlan, Context, Plan};
use std::path::Path;

/// The runner's plan: each point is a cell, and the runner makes one trial at a time.
pub(super) struct BenchPlan<'a> {
    pub spots: &'a [Spot],
    pub place: Place<'a>,
    /// Folder of the journal of changed settings.
    pub restore_dir: Option<&'a Path>,
}

impl BenchPlan<'_> {
    fn spot(&self, point: &BenchPoint) -> Result<&Spot, CellError> {
        let found = self.spots.iter().find(|spot| spot.point == *point);
        found.ok_or_else(|| CellError::Cell("it is not in the plan".to_owned()))
    }

    /// Makes a failure the end of the run when the target is gone, else the error `otherwise`.
    fn unless_gone(&self, why: String, otherwise: fn(String) -> CellError) -> CellError {
        match gone(self.place.media, self.place.span, self.place.site) {
            Some(gone) => CellError::Abort(format!("{why}; {gone}").into()),
            None => otherwise(why),
        }
    }

    /// Sets the kernel's polling (`io_poll_delay`) as this point needs it, until the guard is
    /// dropped: the kernel's own sleep (0), a fixed one, or none (-1).
    fn kernel_polling(&self, spot: &Spot) -> Result<Option<Guard>, CellError> {
        let site = self.place.site;
        let engine = spot.way.interface.engine();
        let hipri = engine.is_some_and(EngineSpec::polls_in_call);
        let delay = site
            .target_disk
            .as_ref()
            .map(|target_disk| target_disk.disk.dir.join("queue/io_poll_delay"));
        let Some(delay) = delay.filter(|file| hipri && file.exists()) else {
            return Ok(None);
        };
        let wanted = spot.way.kernel.as_ref().and_then(Delay::of);
        let wanted = wanted.unwrap_or(Delay::CLASSIC);
        if delay_now(&delay).map_err(CellError::Cell)? == wanted {
            return Ok(None);
        }
        let nowhere = || CellError::Cell("no folder for the journal of settings".to_owned());
        let dir = self.restore_dir.ok_or_else(nowhere)?;
        let refused = |e: RestoreError| CellError::Cell(e.to_string());
        let mut guard = Guard::new(&site.roots, dir).map_err(refused)?;
        guard.set(&delay, &wanted.0.to_string()).map_err(refused)?;
        Ok(Some(guard))
    }
}

/// The delay of the kernel's polling that `file` (`queue/io_poll_delay`) has now. The error says in
/// words why it cannot be told.
fn delay_now(file: &Path) -> Result<Delay, String> {
    let unread = |found: &str| {
        format!(
            "read {}: expected -1, 0 or a number of microseconds, found {found}; make the file readable, or leave out the \
             methods of pvsync2 that poll",
            file.display()
        )
    };
    let text = std::fs::read_to_string(file).map_err(|error| unread(&error.to_string()))?;
    let number = text.trim().parse();
    number
        .map(Delay)
        .map_err(|_| unread(&format!("`{}`", text.trim())))
}

pub(super) fn label(point: &BenchPoint) -> String {
    let BenchPoint {
        engine,
        method,
        jobs,
        depth,
        bs,
        rw,
    } = point;
    format!("{engine} {method}, {jobs} x depth {depth}, {rw} {bs}")
}

impl Plan for BenchPlan<'_> {
    type Cell = BenchPoint;
    type Outcome = BenchTrial;

    fn cells(&self) -> Vec<CellPlan<BenchPoint>> {
        let cell = |spot: &Spot| CellPlan {
            key: label(&spot.point),
            label: label(&spot.point),
            seconds: self.place.expected_s(),
            cell: spot.point.clone(),
        };
        self.spots.iter().map(cell).collect()
    }

    fn metric(&self, trial: &BenchTrial) -> f64 {
        trial.ios as f64 / trial.wall_s
    }

    fn run(
        &mut self,
        cell: &CellPlan<BenchPoint>,
        context: &mut Context<'_>,
    ) -> Result<BenchTrial, CellError> {
        let spot = self.spot(&cell.cell)?;
        let _guard = self.kernel_polling(spot)?;
        let done = self.place.trial(spot, context.seed >> 1, context.cancel);
        done.map_err(|why| match why {
            NoTrial::Stopped => CellError::Cancelled,
            NoTrial::Run(error) => self.unless_gone(error.to_string(), CellError::Cell),
            NoTrial::Program(error) => self.unless_gone(error, CellError::Cell),
            NoTrial::Fault(fault) => self.unless_gone(fault, CellError::Trial),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_that_cannot_be_read_is_an_error_and_not_empty() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("io_poll_delay");
        let gone = delay_now(&file).unwrap_err();
        assert!(gone.contains("io_poll_delay: expected -1, 0"), "{gone}");
        assert!(gone.contains("found No such file"), "{gone}");
        for (text, wanted) in [
            ("-1\n", Delay::CLASSIC),
            ("0\n", Delay::OWN),
            ("57\n", Delay(57)),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(delay_now(&file), Ok(wanted));
        }
        for (text, found) in [("", "found ``"), ("fast\n", "found `fast`")] {
            std::fs::write(&file, text).unwrap();
            let error = delay_now(&file).unwrap_err();
            assert!(error.contains(found), "{error}");
        }
    }
}
