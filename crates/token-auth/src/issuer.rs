//! Issuers of tokens: their keys, what their tokens must say, and how their subjects become ours.

use super::{
    claims::ExpectedClaims, identity::Subject, jwks::JwksLocation, profile::ClaimRules, secret::TokenSecret,
    signer::TokenSigner,
};

/// One who signs tokens.
#[derive(Clone, Debug)]
pub struct Issuer {
    pub keys: IssuerKeys,
    pub expected: ExpectedClaims,
    /// Stands before each `sub` in the subject of an account. Empty for one issuer at most.
    pub subject_prefix: String,
    pub claims: ClaimRules,
}

/// Keys that verify the tokens of an issuer.
#[derive(Clone, Debug)]
pub enum IssuerKeys {
    Secret(TokenSecret),
    Public(JwksLocation),
}

/// All whose tokens are accepted; at least one, and no `sub` of two of them is one account.
#[derive(Clone, Debug)]
pub struct Issuers(Vec<Issuer>);

/// Why issuers cannot be used together. Issuers are numbered from 1.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum IssuersError {
    #[error("it names no issuer")]
    None,

    #[error("it has {0} issuers; at most {max} are allowed", max = Issuers::MAX)]
    TooMany(usize),

    #[error("issuer {0} has no `iss`, by which the issuer of a token is found when there are several")]
    NoName(usize),

    #[error("issuers {0} and {1} have one `iss`: a token would belong to both")]
    SameName(usize, usize),

    #[error(
        "issuers {0} and {1} have no `subject_prefix`: the same `sub` from both would be one account. Give one of \
         them a prefix, such as \"customers:\""
    )]
    NoPrefix(usize, usize),

    #[error(
        "the `subject_prefix` of issuer {0} begins with that of issuer {1}: a `sub` from each could be one \
         account. Give them prefixes of which neither begins with the other"
    )]
    PrefixOfPrefix(usize, usize),

    #[error("the `subject_prefix` of issuer {0} has more than {max} bytes, or a NUL character", max = Issuers::MAX_PREFIX_BYTES)]
    BadPrefix(usize),
}

impl Issuer {
    /// An issuer whose `sub` is the subject, and whose claims have our names. May sign for services.
    pub fn new(keys: IssuerKeys, expected: ExpectedClaims) -> Self {
        let claims = ClaimRules { allows_service: true, ..ClaimRules::default() };
        Self { keys, expected, subject_prefix: String::new(), claims }
    }
}

impl Issuers {
    pub const MAX: usize = 20;
    /// Leaves room for the `sub` in a [`Subject`].
    pub const MAX_PREFIX_BYTES: usize = 64;

    /// # Errors
    /// What would let a token belong to two issuers, or a subject to users of two issuers.
    pub fn new(issuers: Vec<Issuer>) -> Result<Self, IssuersError> {
        if issuers.is_empty() {
            return Err(IssuersError::None);
        }
        if issuers.len() > Self::MAX {
            return Err(IssuersError::TooMany(issuers.len()));
        }
        for (number, issuer) in (1..).zip(&issuers) {
            let prefix = &issuer.subject_prefix;
            if prefix.len() > Self::MAX_PREFIX_BYTES || prefix.contains('\0') {
                return Err(IssuersError::BadPrefix(number));
            }
            if issuer.expected.issuer.is_none() && issuers.len() > 1 {
                return Err(IssuersError::NoName(number));
            }
        }
        for (number, one) in (1..).zip(&issuers) {
            for (later, other) in (1..).zip(&issuers).skip(number) {
                check_pair((number, one), (later, other))?;
            }
        }
        Ok(Self(issuers))
    }

    /// Those whose keys are here, and not at a URL; `None` if there is none.
    pub fn without_urls(&self) -> Option<Self> {
        let is_here = |issuer: &&Issuer| !matches!(issuer.keys, IssuerKeys::Public(JwksLocation::Url(_)));
        let here: Vec<Issuer> = self.0.iter().filter(is_here).cloned().collect();
        (!here.is_empty()).then_some(Self(here))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Issuer> {
        self.0.iter()
    }

    /// Signs tokens of the only issuer that has a secret; `None` if there is no such issuer, or several.
    pub fn signer(&self) -> Option<TokenSigner> {
        let mut with_secret = self.0.iter().filter_map(|issuer| match &issuer.keys {
            IssuerKeys::Secret(secret) => Some((issuer, secret)),
            IssuerKeys::Public(_) => None,
        });
        match (with_secret.next(), with_secret.next()) {
            (Some((issuer, secret)), None) => Some(TokenSigner::for_issuer(issuer, secret)),
            _ => None,
        }
    }
}

/// One issuer cannot contradict another.
impl From<Issuer> for Issuers {
    fn from(issuer: Issuer) -> Self {
        Self(vec![issuer])
    }
}

fn check_pair((number, one): (usize, &Issuer), (later, other): (usize, &Issuer)) -> Result<(), IssuersError> {
    if one.expected.issuer == other.expected.issuer {
        return Err(IssuersError::SameName(number, later));
    }
    let (prefix, later_prefix) = (one.subject_prefix.as_str(), other.subject_prefix.as_str());
    match (prefix.is_empty(), later_prefix.is_empty()) {
        (true, true) => Err(IssuersError::NoPrefix(number, later)),
        // Subjects of the one without a prefix are compared with the prefixes of the others, token by token.
        (true, false) | (false, true) => Ok(()),
        _ if prefix.starts_with(later_prefix) => Err(IssuersError::PrefixOfPrefix(number, later)),
        _ if later_prefix.starts_with(prefix) => Err(IssuersError::PrefixOfPrefix(later, number)),
        _ => Ok(()),
    }
}

const _: () = assert!(Issuers::MAX_PREFIX_BYTES < Subject::MAX_BYTES, "a prefix leaves room for the sub");

#[cfg(test)]
mod tests {
    use super::*;

    fn issuer(iss: &str, subject_prefix: &str) -> Issuer {
        let expected = ExpectedClaims { issuer: Some(iss.to_owned()), audience: None };
        let keys = IssuerKeys::Secret("s".repeat(32).parse().unwrap());
        Issuer { subject_prefix: subject_prefix.to_owned(), ..Issuer::new(keys, expected) }
    }

    fn refused(issuers: &[Issuer]) -> String {
        Issuers::new(issuers.to_vec()).unwrap_err().to_string()
    }

    #[test]
    fn issuers_are_refused_if_a_subject_or_a_token_could_belong_to_two() {
        let nameless = Issuer { expected: ExpectedClaims::default(), ..issuer("", "c:") };
        for (issuers, reason) in [
            (vec![], "no issuer"),
            (vec![issuer("a", ""), issuer("b", "")], "issuers 1 and 2 have no `subject_prefix`"),
            (vec![issuer("a", "x"), issuer("b", ""), issuer("c", "")], "issuers 2 and 3 have no"),
            (vec![issuer("a", "x:"), issuer("a", "y:")], "issuers 1 and 2 have one `iss`"),
            (vec![issuer("a", "a"), issuer("b", "ab")], "of issuer 2 begins with that of issuer 1"),
            (vec![issuer("a", "ab"), issuer("b", "a")], "of issuer 1 begins with that of issuer 2"),
            (vec![issuer("a", "a"), issuer("b", "a")], "of issuer 1 begins with that of issuer 2"),
            (vec![issuer("a", "a"), nameless], "issuer 2 has no `iss`"),
            (vec![issuer("a", &"é".repeat(33))], "of issuer 1 has more than 64 bytes"),
            (vec![issuer("a", "a\0")], "NUL"),
        ] {
            let error = refused(&issuers);
            assert!(error.contains(reason), "{error}");
        }
        let many: Vec<Issuer> =
            (10..31).map(|number| issuer(&number.to_string(), &number.to_string())).collect();
        assert!(refused(&many).contains("21 issuers"));
        assert!(Issuers::new(many[1..].to_vec()).is_ok());
        assert!(Issuers::new(vec![issuer("a", ""), issuer("b", "b:"), issuer("c", "c:")]).is_ok());
    }
}
