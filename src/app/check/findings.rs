//! What a check found, one line each: the state, the subject, and what is there or how to correct it.

use std::fmt;

use crate::app::AppError;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckState {
    Well,
    /// Plaudit starts, and something is worse than it could be.
    Warning,
    /// Plaudit does not start, or not until somebody corrects this.
    Error,
}

#[derive(Debug)]
struct CheckFinding {
    state: CheckState,
    subject: &'static str,
    text: String,
}

/// In the order in which they were found.
#[derive(Debug, Default)]
pub struct Findings(Vec<CheckFinding>);

impl Findings {
    /// Whether Plaudit would start.
    pub fn are_well(&self) -> bool {
        self.0.iter().all(|finding| finding.state != CheckState::Error)
    }

    pub fn well(&mut self, subject: &'static str, text: impl Into<String>) {
        self.add(CheckState::Well, subject, text.into());
    }

    pub fn warning(&mut self, subject: &'static str, text: impl Into<String>) {
        self.add(CheckState::Warning, subject, text.into());
    }

    pub fn error(&mut self, subject: &'static str, text: impl Into<String>) {
        self.add(CheckState::Error, subject, text.into());
    }

    /// Adds the error of a step, or returns its result.
    pub fn result<T>(&mut self, subject: &'static str, result: Result<T, AppError>) -> Option<T> {
        result.map_err(|error| self.error(subject, error.to_string())).ok()
    }

    fn add(&mut self, state: CheckState, subject: &'static str, text: String) {
        self.0.push(CheckFinding { state, subject, text });
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for CheckFinding { state, subject, text } in &self.0 {
            let state = match state {
                CheckState::Well => "ok",
                CheckState::Warning => "warning",
                CheckState::Error => "error",
            };
            writeln!(f, "{state:<9}{subject:<16}{}", text.replace('\n', "; "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_is_one_line_and_only_an_error_is_not_well() {
        let mut findings = Findings::default();
        findings.well("Redis", "version 7.0.15");
        findings.warning("clock", "of Redis");
        assert!(findings.are_well());
        assert_eq!(findings.result::<()>("PostgreSQL", Err(AppError::NeverStarted)), None);
        findings.error("listen", "one\ntwo");
        assert!(!findings.are_well());
        let text = findings.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert_eq!(lines[0], "ok       Redis           version 7.0.15");
        assert!(lines[3].starts_with("error ") && lines[3].ends_with("one; two"), "{text}");
    }
}
