//! Layers of settings: the file and the environment, which the command line overrides.
//!
//! Their values replace the defaults of the arguments before the command line is parsed, so that
//! flag over environment over file over default is clap's ordinary "flag over default".

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

use clap::Command;
use toml::{Table, Value};

use super::{
    definitions::{CONFIG, Definitions, PREFIX},
    error::{Origin, SettingsError},
};

/// Values from outside of the command line, by setting. Each is valid.
#[derive(Debug)]
pub struct Layers(HashMap<String, OsString>);

/// One value with its origin.
struct GivenValue {
    name: String,
    origin: Origin,
    /// `None` for a single table, which no flag can express.
    value: Option<OsString>,
}

impl Layers {
    /// Reads both layers. The file is the first of: `chosen`, the environment's `PLAUDIT_CONFIG`,
    /// `usual` if it exists; without any there is none.
    ///
    /// Only non-empty variables named `PLAUDIT_…` count: deployment tools pass unset values as empty ones.
    ///
    /// # Errors
    /// The first name that is no setting, with the nearest one that is, or the first value that its setting
    /// cannot have; also if a flag would override it. A file that is named must be readable.
    pub fn read(
        chosen: Option<&Path>,
        usual: &Path,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, SettingsError> {
        let definitions = Definitions::new();
        let environment = check(&definitions, variables(environment))?;
        let file = chosen.map(Path::to_owned).or_else(|| environment.get(CONFIG).map(PathBuf::from));
        let file = file.or_else(|| usual.exists().then(|| usual.to_owned()));
        let mut values = match file {
            Some(path) => check(&definitions, keys(path)?)?,
            None => HashMap::new(),
        };
        values.extend(environment);
        Ok(Self(values))
    }

    /// Sets the values as the defaults of the command's arguments, and of its subcommands' arguments.
    pub fn lay_under(&self, command: Command) -> Command {
        command
            .mut_args(|arg| match self.0.get(arg.get_id().as_str()) {
                Some(value) => arg.default_value(value.clone()),
                None => arg,
            })
            .mut_subcommands(|subcommand| self.lay_under(subcommand))
    }
}

fn variables(environment: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<GivenValue> {
    let ours = environment.into_iter().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| name.starts_with(PREFIX))?;
        let counts = !value.is_empty() && !is_service_link(&name, &value);
        counts.then_some(GivenValue { name, origin: Origin::Environment, value: Some(value) })
    });
    ours.collect()
}

/// Kubernetes puts the addresses of its services into every container's environment; variables of a service
/// called `plaudit` have the same prefix: `PLAUDIT_SERVICE_HOST`, `PLAUDIT_PORT=tcp://…`, `PLAUDIT_PORT_80_TCP`.
fn is_service_link(name: &str, value: &OsStr) -> bool {
    let is_address = value.to_string_lossy().contains("://");
    ["_SERVICE_HOST", "_SERVICE_PORT", "_PORT_"].iter().any(|part| name.contains(part))
        || name.ends_with("_PORT") && is_address
}

fn keys(path: PathBuf) -> Result<Vec<GivenValue>, SettingsError> {
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(SettingsError::Unreadable { path, source }),
    };
    let table: Table = match text.parse() {
        Ok(table) => table,
        Err(error) => return Err(not_toml(path, &text, &error)),
    };
    let origin = Origin::File(path);
    let given = |(name, value)| GivenValue {
        name,
        origin: origin.clone(),
        value: as_flag_value(&value).map(Into::into),
    };
    Ok(table.into_iter().map(given).collect())
}

/// The message without the line's text, which may contain a secret.
fn not_toml(path: PathBuf, text: &str, error: &toml::de::Error) -> SettingsError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    SettingsError::NotToml { path, line, reason: error.message().to_owned() }
}

/// A TOML value in the form of a flag's value; a list with commas, a list of tables as JSON.
fn as_flag_value(value: &Value) -> Option<String> {
    match value {
        Value::Array(items) if items.iter().any(Value::is_table) => serde_json::to_string(items).ok(),
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(truth) => Some(truth.to_string()),
        Value::Array(items) => Some(items.iter().map(as_flag_value).collect::<Option<Vec<_>>>()?.join(",")),
        Value::Datetime(_) | Value::Table(_) => None,
    }
}

fn check(
    definitions: &Definitions,
    given: Vec<GivenValue>,
) -> Result<HashMap<String, OsString>, SettingsError> {
    given.into_iter().map(|given| check_one(definitions, given)).collect()
}

fn check_one(definitions: &Definitions, given: GivenValue) -> Result<(String, OsString), SettingsError> {
    let GivenValue { name, origin, value } = given;
    let Some(setting) = definitions.find(&name, &origin) else {
        let nearest = definitions.nearest(&name, &origin);
        return Err(SettingsError::Unknown { name, origin, nearest });
    };
    let id = setting.get_id().to_string();
    let reason = match value {
        None => "a plain value is needed; only `issuer` has tables, each begins with [[issuer]]".to_owned(),
        Some(value) => match definitions.fault(setting, &value) {
            None => return Ok((id, value)),
            Some(reason) => reason,
        },
    };
    Err(SettingsError::BadValue { name, origin, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `Layers::read` says about a settings file with this text, called `plaudit.toml`.
    fn read_file(text: &str) -> Result<Layers, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plaudit.toml");
        fs::write(&path, text).unwrap();
        Layers::read(None, &path, [])
            .map_err(|e| e.to_string().replace(&path.display().to_string(), "plaudit.toml"))
    }

    fn read_environment(variables: &[(&str, &str)]) -> Result<Layers, String> {
        let environment = variables.iter().map(|(name, value)| (name.into(), value.into()));
        Layers::read(None, Path::new("absent.toml"), environment).map_err(|e| e.to_string())
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest_known_one() {
        for (text, message) in [
            ("lisen = 1", "`lisen` in plaudit.toml is not a setting; did you mean `listen`?"),
            ("data-dir = 1", "`data-dir` in plaudit.toml is not a setting; did you mean `data_dir`?"),
            ("[http]", "`http` in plaudit.toml is not a setting; `plaudit serve --help` lists them all"),
            (
                "config = 1",
                "`config` in plaudit.toml is not a setting; `plaudit serve --help` lists them all",
            ),
        ] {
            assert_eq!(read_file(text).unwrap_err(), message);
        }
        for name in ["PLAUDIT_LISEN", "PLAUDIT_listen"] {
            let error = read_environment(&[(name, "1")]).unwrap_err();
            assert_eq!(
                error,
                format!("`{name}` in the environment is not a setting; did you mean `PLAUDIT_LISTEN`?")
            );
        }
    }

    #[test]
    fn a_value_that_cannot_be_used_is_named_with_its_origin_and_a_reason() {
        for (text, message) in [
            (
                "follow_limit = 5001",
                "`follow_limit` in plaudit.toml has a value that cannot be used: \
                 it must be a whole number from 1 to 5000",
            ),
            (
                "roles = ['api', 'pipe']",
                "`roles` in plaudit.toml has a value that cannot be used: it must be one of api, pipeline",
            ),
            ("data_dir = ''", "`data_dir` in plaudit.toml has a value that cannot be used: it is empty"),
            (
                "data_dir = { a = 1 }",
                "`data_dir` in plaudit.toml has a value that cannot be used: \
                 a plain value is needed; only `issuer` has tables, each begins with [[issuer]]",
            ),
            (
                "roles = [{ a = 1 }]",
                "`roles` in plaudit.toml has a value that cannot be used: it must be one of api, pipeline",
            ),
            (
                "[[issuer]]\nsecret = 'hunter2'",
                "`issuer` in plaudit.toml has a value that cannot be used: issuer 1: `secret`: a secret needs at \
                 least 32 bytes, this one has 7; `openssl rand -hex 32` makes a good one",
            ),
            (
                "[[issuer]]\niss = 'a'\njwks_file = 'a'\n[[issuer]]\niss = 'b'\njwks_file = 'b'",
                "`issuer` in plaudit.toml has a value that cannot be used: issuers 1 and 2 have no \
                 `subject_prefix`: the same `sub` from both would be one account. Give one of them a prefix, such as \
                 \"customers:\"",
            ),
        ] {
            assert_eq!(read_file(text).unwrap_err(), message);
        }
        let error = read_environment(&[("PLAUDIT_LEASE", "5h")]).unwrap_err();
        assert_eq!(
            error,
            "`PLAUDIT_LEASE` in the environment has a value that cannot be used: it must be from 1s to 1h"
        );
    }

    #[test]
    fn tables_of_the_file_and_json_of_the_environment_are_one_setting() {
        let tables = "[[issuer]]\niss = 'a'\njwks_file = 'keys'\nroles = { editor = 'moderator' }\n\
                      [[issuer]]\niss = 'b'\nsecret = '0123456789abcdef0123456789abcdef'\nsubject_prefix = 'b:'";
        let from_file = read_file(tables).unwrap().0;
        let json = from_file["issuer"].to_str().unwrap();
        let from_environment = read_environment(&[("PLAUDIT_ISSUER", json)]).unwrap().0;
        assert_eq!(from_file, from_environment);
        assert!(super::super::issuers::issuers(json).unwrap().signer().is_some());
    }

    #[test]
    fn no_message_repeats_a_secret() {
        let error = read_environment(&[("PLAUDIT_JWT_SECRET", "hunter2")]).unwrap_err();
        assert!(error.contains("at least 32 bytes") && !error.contains("hunter2"), "{error}");
        let error = read_environment(&[("PLAUDIT_MODERATOR_API_KEY", "hunter2 ")]).unwrap_err();
        assert!(error.contains("visible ASCII") && !error.contains("hunter2"), "{error}");
        let error = read_environment(&[("PLAUDIT_ISSUER", "[{\"secret\":\"hunter2\"}]")]).unwrap_err();
        assert!(error.contains("issuer 1") && !error.contains("hunter2"), "{error}");
        let error = read_file("follow_limit = 1\njwt_secret = hunter2").unwrap_err();
        assert!(error.contains("line 2") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn empty_variables_foreign_ones_and_those_of_kubernetes_do_not_count() {
        let layers = read_environment(&[
            ("PLAUDIT_REDIS_URL", ""),
            ("PLAUDIT_SERVICE_HOST", "10.0.0.1"),
            ("PLAUDIT_PORT", "tcp://10.0.0.1:80"),
            ("PLAUDIT_PORT_80_TCP_ADDR", "10.0.0.1"),
            ("PATH", "/bin"),
        ]);
        assert!(layers.unwrap().0.is_empty());
        assert!(read_environment(&[("PLAUDIT_PORT", "80")]).is_err());
    }

    #[test]
    fn a_file_that_was_asked_for_must_exist() {
        let layers = Layers::read(Some(Path::new("absent.toml")), Path::new("plaudit.toml"), []);
        assert!(matches!(layers, Err(SettingsError::Unreadable { .. })));
        assert!(read_environment(&[("PLAUDIT_CONFIG", "absent.toml")]).unwrap_err().contains("absent.toml"));
        assert!(read_environment(&[]).is_ok());
    }
}
