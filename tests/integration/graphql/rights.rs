//! The rights of fields, as the program prints them.

/// Who may use a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    Anyone,
    Gateways,
    SignedIn,
    Author,
    AuthorOrModerator,
    Oneself,
    Moderator,
    ModeratorOrService,
    Service,
}

impl Who {
    const ALL: [(Self, &str); 9] = [
        (Self::Anyone, "anyone"),
        (Self::Gateways, "anyone; without `introspection` gateways, services"),
        (Self::SignedIn, "signed in"),
        (Self::Author, "author"),
        (Self::AuthorOrModerator, "author, moderator"),
        (Self::Oneself, "oneself, moderator, service"),
        (Self::Moderator, "moderator"),
        (Self::ModeratorOrService, "moderator, service"),
        (Self::Service, "service"),
    ];

    /// By the word of the tables.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == name).map(|(who, _)| who)
    }
}

/// A field with a rule.
pub struct Right {
    pub of_type: String,
    pub field: String,
    pub who: Who,
}

pub fn rights() -> Vec<Right> {
    let table = support::printed(&["docs", "rights"]);
    table.lines().filter_map(|row| right(row.strip_prefix("| `")?)).collect()
}

fn right(row: &str) -> Option<Right> {
    let (name, rest) = row.split_once("` | ")?;
    let (of_type, field) = name.split_once('.')?;
    let who = rest.split(" | ").next()?;
    let who = Who::named(who).unwrap_or_else(|| panic!("{name}: {who}"));
    Some(Right { of_type: of_type.to_owned(), field: field.to_owned(), who })
}
