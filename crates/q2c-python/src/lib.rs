//! The native part of the Python package `q2c`. The functions are thin: they read arguments, call a
//! library crate without holding the interpreter, and return its result. The folder `python` has
//! the types of results, signatures, docs and stubs.

#![expect(
    clippy::needless_pass_by_value,
    reason = "PyO3 hands the arguments of functions over by value"
)]

mod analysis;
mod error;
mod options;
mod result;
mod rule;
mod sweep;
mod trace;

use pyo3::prelude::*;

/// The module `q2c._native`.
#[pymodule]
#[pyo3(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::add_classes(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<analysis::AnalysisState>()?;
    module.add_class::<result::NativeResult>()?;
    module.add_class::<rule::Rule>()?;
    module.add_class::<sweep::SweepState>()?;
    module.add_class::<trace::Trace>()?;
    module.add_function(wrap_pyfunction!(analysis::analyze, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::choose, module)?)?;
    module.add_function(wrap_pyfunction!(result::load_run, module)?)?;
    module.add_function(wrap_pyfunction!(rule::policies, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::simulate, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep, module)?)?;
    module.add_function(wrap_pyfunction!(trace::import_, module)?)?;
    module.add_function(wrap_pyfunction!(trace::read, module)?)
}
