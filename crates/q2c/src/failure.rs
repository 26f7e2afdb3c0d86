//! How a command fails: one message, one exit code.

use q2c_result::Exit;
use std::fmt::Display;
use std::process::ExitCode;

/// An expected failure: the message reads after "q2c: failed to".
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    /// A failure with its exit code.
    pub fn new(exit: Exit, message: impl Display) -> Self {
        Failure {
            exit,
            message: message.to_string(),
        }
    }

    /// Says it on stderr and gives the exit status.
    pub fn report(&self) -> ExitCode {
        crate::output::say(&format!("q2c: failed to {}", self.message));
        ExitCode::from(self.exit.code())
    }
}

/// Errors of the libraries as failures of the command.
pub trait Fails<T> {
    /// The error, with this exit code.
    fn or_exit(self, exit: Exit) -> Result<T, Failure>;
    /// The error, with the exit code it tells itself.
    fn or_exit_of(self, exit: impl FnOnce(&Self::Error) -> Exit) -> Result<T, Failure>
    where
        Self: Sized;
    /// The library's error type.
    type Error;
}

impl<T, E: Display> Fails<T> for Result<T, E> {
    type Error = E;

    fn or_exit(self, exit: Exit) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(exit, error))
    }

    fn or_exit_of(self, exit: impl FnOnce(&E) -> Exit) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(exit(&error), &error))
    }
}
