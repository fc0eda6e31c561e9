//! `plaudit token`: a token for any user, signed with the service's own secret.

use std::{fs, io, path::PathBuf, time::Duration};

use clap::Args;
use plaudit_token_auth::{Role, SecretTooShort, SignError, Subject, TokenSecret};

use plaudit_catalogue::settings::{LocationSettings, TokenSettings, duration};

/// File of the generated secret in the data directory.
const SECRET_FILE: &str = "jwt-secret";

const LONGEST_TTL: Duration = Duration::from_hours(24 * 366 * 10);

#[derive(Args, Clone, Debug)]
pub struct TokenArgs {
    /// The user whom the token is for: 1 to 255 bytes of any text; the first mutation creates the user
    #[arg(long, value_name = "SUBJECT")]
    pub user: Subject,

    /// What pages call the user, if the user is new: the first 40 characters count
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,

    /// What the bearer may do
    #[arg(long, value_enum, default_value = "user")]
    pub role: Role,

    /// How long the token is valid, from 1s to 10 years, such as 90s, 1h or 30days
    #[arg(long, value_name = "DURATION", default_value = "1h")]
    #[arg(value_parser = duration(Duration::from_secs(1)..=LONGEST_TTL))]
    pub ttl: Duration,

    #[command(flatten)]
    pub location: LocationSettings,
    #[command(flatten)]
    pub auth: TokenSettings,
}

#[derive(Debug, thiserror::Error)]
pub enum TokenCommandError {
    #[error(
        "there is no secret to sign with: {} does not exist; start `plaudit serve` once, which generates it, \
         or name the server's data directory with --data-dir, or give its secret in PLAUDIT_JWT_SECRET",
        file.display()
    )]
    NoSecret { file: PathBuf },

    #[error("cannot read the secret {}: {source}", file.display())]
    Unreadable { file: PathBuf, source: io::Error },

    #[error("the secret in {} is damaged: {source}", file.display())]
    Damaged { file: PathBuf, source: SecretTooShort },

    #[error(
        "Plaudit cannot sign tokens here: that needs a secret, of exactly one issuer; jwks_file and jwks_url only have \
         public keys. Get a token from the owner of the private keys"
    )]
    NoSigner,

    #[error(transparent)]
    Sign(#[from] SignError),
}

/// Signs the token. Changes nothing and needs no server.
pub fn token(args: &TokenArgs) -> Result<String, TokenCommandError> {
    let issuers = args.auth.issuers(|| generated_secret(args.location.data_dir.join(SECRET_FILE)))?;
    let signer = issuers.signer().ok_or(TokenCommandError::NoSigner)?;
    Ok(signer.sign_named(&args.user, args.name.as_deref(), args.role, args.ttl)?)
}

/// Reads the secret that a server has generated. Generates none: tokens signed with it would be invalid.
fn generated_secret(file: PathBuf) -> Result<TokenSecret, TokenCommandError> {
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(TokenCommandError::NoSecret { file }),
        Err(source) => return Err(TokenCommandError::Unreadable { file, source }),
    };
    text.trim_end().parse().map_err(|source| TokenCommandError::Damaged { file, source })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use plaudit_embedded_stores::DataDir;
    use plaudit_token_auth::TokenVerifier;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: TokenArgs,
    }

    fn run(line: &[&str]) -> Result<String, TokenCommandError> {
        token(&Line::parse_from([&["token"], line].concat()).args)
    }

    #[test]
    fn a_token_is_signed_with_the_secret_that_a_server_generated() {
        let temp = tempfile::tempdir().unwrap();
        let dir = DataDir::open(temp.path()).unwrap();
        let secret = dir.jwt_secret().unwrap().parse().unwrap();
        let here = temp.path().to_str().unwrap();
        for _ in 0..2 {
            let token = run(&["--user", "ana", "--role", "moderator", "--data-dir", here]).unwrap();
            let identity = TokenVerifier::hs256(&secret).verify_now(&token).unwrap();
            assert_eq!((identity.subject.as_str(), identity.role), ("ana", Role::Moderator));
        }
    }

    #[test]
    fn a_secret_that_is_given_counts_more_than_a_generated_one() {
        let given = "g".repeat(32);
        let verifier = TokenVerifier::hs256(&given.parse().unwrap());
        let token = run(&["--user", "ana", "--jwt-secret", &given]).unwrap();
        assert_eq!(verifier.verify_now(&token).unwrap().profile.name, None);
        let token = run(&["--user", "ana", "--jwt-secret", &given, "--name", "Ana B."]).unwrap();
        assert_eq!(verifier.verify_now(&token).unwrap().profile.name.as_deref(), Some("Ana B."));
    }

    #[tokio::test]
    async fn a_token_names_the_audience_and_the_issuer_that_are_set() {
        let given = "g".repeat(32);
        let single = ["--jwt-secret", &given, "--jwt-audience", "plaudit", "--jwt-issuer", "me"];
        let list = format!(
            r#"[{{ "iss": "me", "aud": "plaudit", "secret": "{given}", "subject_prefix": "app:" }},
                {{ "iss": "https://id.example/", "jwks_url": "https://id.example/keys" }}]"#
        );
        let expecting = Line::parse_from([&["token", "--user", "ana"], &single[..]].concat()).args.auth;
        let issuers = expecting.issuers(|| Err("no secret is generated")).unwrap();
        let verifier = TokenVerifier::open(&issuers, Duration::from_secs(60)).await.unwrap();
        for keys in [&single[..], &["--issuer", &list]] {
            let token = run(&[&["--user", "ana"], keys].concat()).unwrap();
            assert_eq!(verifier.verify_now(&token).unwrap().subject.as_str(), "ana");
        }
        let service = run(&["--user", "ana", "--role", "service", "--issuer", &list]).unwrap_err();
        assert!(service.to_string().contains("allows_service"), "{service}");
    }

    #[test]
    fn with_public_keys_only_there_is_nothing_to_sign_with() {
        let error = run(&["--user", "ana", "--jwks-url", "https://id.example/keys"]).unwrap_err().to_string();
        assert!(error.contains("jwks_url") && error.contains("private"), "{error}");
    }

    #[test]
    fn without_a_secret_it_says_what_to_do_and_generates_none() {
        let temp = tempfile::tempdir().unwrap();
        let error = run(&["--user", "ana", "--data-dir", temp.path().to_str().unwrap()]).unwrap_err();
        assert!(matches!(error, TokenCommandError::NoSecret { .. }));
        assert!(error.to_string().contains("plaudit serve"), "{error}");
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_damaged_secret_is_reported_with_its_file() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join(SECRET_FILE), "short\n").unwrap();
        let error = run(&["--user", "ana", "--data-dir", temp.path().to_str().unwrap()]).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("jwt-secret is damaged: a secret needs at least 32 bytes, this one has 5")
        );
    }
}
