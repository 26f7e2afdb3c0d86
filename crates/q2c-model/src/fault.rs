//! The error type that ends a command, in libraries as in the program.

use crate::Exit;
use std::error::Error;
use std::fmt::Display;

/// The reason why something failed: a message, the exit code of a command that it ends, and the
/// source error, if any.
///
/// The message continues "q2c: failed to", so it begins with a verb. It says what was tried, on
/// what, what was expected and found, and what to do next. It includes the source's message if that
/// helps, so that nobody needs to print the chain of sources.
///
/// If callers need the kind of an error, the error is an enum with `From<_> for Fault`.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    exit: Exit,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Fault {
    /// Makes a fault without a source.
    pub fn new(exit: Exit, message: impl Display) -> Self {
        Fault {
            exit,
            message: message.to_string(),
            source: None,
        }
    }

    /// Makes a fault from an error, with the error's message and the error as source.
    pub fn from_error(exit: Exit, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let error = error.into();
        Fault::new(exit, &error).with_source(error)
    }

    /// Makes the fault for a wrong command line.
    pub fn usage(message: impl Display) -> Self {
        Fault::new(Exit::Usage, message)
    }

    /// Makes the fault for an input that cannot be read or is wrong.
    pub fn input(message: impl Display) -> Self {
        Fault::new(Exit::Input, message)
    }

    /// Makes the fault for a machine that lacks or forbids what is needed.
    pub fn environment(message: impl Display) -> Self {
        Fault::new(Exit::Environment, message)
    }

    /// Makes the fault for a signal during the work.
    pub fn stopped(message: impl Display) -> Self {
        Fault::new(Exit::Interrupted, message)
    }

    /// Returns the fault with this error as its source.
    #[must_use]
    pub fn with_source(self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Fault {
            source: Some(source.into()),
            ..self
        }
    }

    /// Returns the fault with another exit code, for a caller that knows the cause better.
    #[must_use]
    pub fn with_exit(self, exit: Exit) -> Self {
        Fault { exit, ..self }
    }

    /// Returns the fault with more text after its message, such as further advice.
    #[must_use]
    pub fn with_advice(self, more: &str) -> Self {
        Fault {
            message: self.message + more,
            ..self
        }
    }

    /// Converts the fault for a resumed run: a usage error becomes an input error, because its
    /// values come from the run's plan and not from the command line.
    #[must_use]
    pub fn for_plan(self) -> Self {
        match self.exit {
            Exit::Usage => self.with_exit(Exit::Input),
            _ => self,
        }
    }

    /// The exit code of a command that ends with this fault.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// The first error of this type in the chain of sources, if there is one.
    pub fn cause<E: Error + 'static>(&self) -> Option<&E> {
        let mut causes = std::iter::successors(self.source(), |error| (*error).source());
        causes.find_map(|cause| cause.downcast_ref())
    }

    /// The message, which continues the words "q2c: failed to".
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// Turns another error into a [`Fault`], at the place where it happens.
pub trait OrFault<T> {
    /// Uses the error's message unchanged.
    fn or_exit(self, exit: Exit) -> Result<T, Fault>;

    /// Puts what was tried before the error's message: "read FILE: no such file".
    fn or_fault(self, exit: Exit, tried: impl Display) -> Result<T, Fault>;
}

impl<T, E: Into<Box<dyn Error + Send + Sync>>> OrFault<T> for Result<T, E> {
    fn or_exit(self, exit: Exit) -> Result<T, Fault> {
        self.map_err(|error| Fault::from_error(exit, error))
    }

    fn or_fault(self, exit: Exit, tried: impl Display) -> Result<T, Fault> {
        self.map_err(|error| {
            let error = error.into();
            Fault::new(exit, format_args!("{tried}: {error}")).with_source(error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn a_fault_says_what_was_tried_and_keeps_its_source() {
        let missing: Result<(), _> = Err(io::Error::from_raw_os_error(2));
        let fault = missing.or_fault(Exit::Input, "read plan.toml").unwrap_err();
        assert_eq!(fault.exit(), Exit::Input);
        let system: Option<&io::Error> = fault.cause();
        assert_eq!(system.and_then(io::Error::raw_os_error), Some(2));
        let text = fault.to_string();
        assert!(text.starts_with("read plan.toml: "), "{text}");
        assert_eq!(text, fault.message());
    }

    #[test]
    fn an_error_becomes_a_fault_with_its_own_text() {
        let refused: Result<(), _> = Err("choose a CPU: there is none".to_owned());
        let fault = refused.or_exit(Exit::Environment).unwrap_err();
        assert_eq!(fault.exit(), Exit::Environment);
        assert_eq!(fault.message(), "choose a CPU: there is none");
    }
}
