//! The failure of a command: one message for stderr and one exit code.

use q2c_result::Exit;
use std::fmt::Display;
use std::process::ExitCode;

/// An expected failure of a command. The message continues the words "q2c: failed to", so it begins
/// with a verb.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    message: String,
}

impl Failure {
    /// Makes a failure from a message that begins with a verb, such as "read FILE: ...".
    pub fn new(exit: Exit, message: impl Display) -> Self {
        Failure {
            exit,
            message: message.to_string(),
        }
    }

    /// The failure of a run that goes on: what would be wrong in the command line was read from the
    /// run's plan.
    pub fn of_plan(self) -> Self {
        Failure {
            exit: match self.exit {
                Exit::Usage => Exit::Input,
                other => other,
            },
            ..self
        }
    }

    /// The exit code of the process.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// The message, which continues the words "q2c: failed to".
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Prints the message to stderr and returns the exit code of the process.
    pub fn report(&self) -> ExitCode {
        // A failure is one line, whatever names it has in it.
        let message = self.message.replace('\n', "\\n");
        crate::output::say(&format!("q2c: failed to {message}"));
        ExitCode::from(self.exit.code())
    }
}

/// Turns an error of a library into a failure of the command.
pub trait Fails<T> {
    /// Gives the failure the exit code `exit`.
    fn or_exit(self, exit: Exit) -> Result<T, Failure>;
    /// Gives the failure the exit code that `exit` finds for the error.
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
