//! The codes of errors: a client decides by them.

/// `extensions.code`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// The token is missing where one is needed, or it is refused.
    Unauthenticated,
    /// The token does not give the right to do or see this.
    Forbidden,
    /// The user's account is suspended until `extensions.until`.
    Suspended,
    NotFound,
    BadUserInput,
    /// More concurrent connections or operations than one client may have.
    LimitExceeded,
    /// The user or the address exceeded a rate; the same request may succeed after `retryAfter` seconds.
    RateLimited,
    /// A store is unreachable or busy; the same request may succeed later.
    RetryLater,
    Internal,
    ParseFailed,
    ValidationFailed,
    /// Apollo's protocol: send the document again, with its hash.
    PersistedQueryNotFound,
}

impl Code {
    /// HTTP status of a result with errors: "Partial Success" of GraphQL over HTTP.
    pub const FAILED_STATUS: u16 = 294;

    pub const ALL: [Self; 12] = [
        Self::Unauthenticated,
        Self::Forbidden,
        Self::Suspended,
        Self::NotFound,
        Self::BadUserInput,
        Self::LimitExceeded,
        Self::RateLimited,
        Self::RetryLater,
        Self::Internal,
        Self::ParseFailed,
        Self::ValidationFailed,
        Self::PersistedQueryNotFound,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Forbidden => "FORBIDDEN",
            Self::Suspended => "SUSPENDED",
            Self::NotFound => "NOT_FOUND",
            Self::BadUserInput => "BAD_USER_INPUT",
            Self::LimitExceeded => "LIMIT_EXCEEDED",
            Self::RateLimited => "RATE_LIMITED",
            Self::RetryLater => "RETRY_LATER",
            Self::Internal => "INTERNAL",
            Self::ParseFailed => "GRAPHQL_PARSE_FAILED",
            Self::ValidationFailed => "GRAPHQL_VALIDATION_FAILED",
            Self::PersistedQueryNotFound => "PERSISTED_QUERY_NOT_FOUND",
        }
    }

    /// The cause: the caller, a store or a takeover for a while (transient), too much load (overload), or a defect of
    /// the service (fault).
    pub const fn class(self) -> &'static str {
        match self {
            Self::RetryLater => "transient, overload",
            Self::Internal => "fault",
            _ => "caller",
        }
    }

    /// What happened, and what a client should do.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Unauthenticated => {
                "The token is missing where one is needed, or it is invalid: sign in, or get a new token"
            }
            Self::Forbidden => "The token's user or role may not do or see this: do not offer it",
            Self::Suspended => {
                "A moderator suspended the account: every action is refused until `extensions.until`. Show `Viewer.suspension`"
            }
            Self::NotFound => "The object does not exist, or was removed",
            Self::BadUserInput => {
                "An argument or a variable is wrong; `extensions.argument` or `extensions.variable` names it"
            }
            Self::LimitExceeded => {
                "More at the same time than one connection, user or address may have: end something first"
            }
            Self::RateLimited => {
                "Too many requests of the user or the address: send it again after `extensions.retryAfter` seconds"
            }
            Self::RetryLater => {
                "A store is away or busy: retry after a growing pause with jitter. It may have taken effect: \
                 `createNote`, `addComment`, `createGroup`, `grantCoins`, `recordViews` act again without an \
                 `idempotencyKey`"
            }
            Self::Internal => "A fault of the service; the cause is in its log",
            Self::ParseFailed => "The document is no GraphQL",
            Self::ValidationFailed => "The document does not fit the schema, or costs too much",
            Self::PersistedQueryNotFound => "The server does not know the document: send it with its hash",
        }
    }

    /// HTTP status of a request that is refused with this code before anything is executed.
    pub const fn refused_status(self) -> u16 {
        match self {
            Self::ParseFailed => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::RateLimited => 429,
            Self::RetryLater => 503,
            _ => 422,
        }
    }

    /// Whether the same request may succeed a little later.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::RetryLater | Self::RateLimited)
    }
}
