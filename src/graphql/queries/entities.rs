//! Entities of a federated graph: what a gateway asks a subgraph of Apollo Federation v2 for.
//!
//! [Specification](https://www.apollographql.com/docs/graphos/schema-design/federated-schemas/reference/subgraph-spec).

use async_graphql::Value;
use futures_util::FutureExt;
use plaudit_token_auth::Subject;

use crate::{
    definition::{
        arguments::Arguments,
        resolve::{Call, Resolve},
        types::ObjectType,
        values::{Object, Output, type_name},
    },
    errors::{ApiError, ApiResult},
    request::{
        access::Who,
        ids::{KINDS, key_in, parse_any},
    },
};
use plaudit_catalogue::{Entity, EntityKind};
use plaudit_domain::AppKey;

const REPRESENTATIONS: &str = "representations";
/// Most entities of one request. A gateway asks at once for all that its clients' lists have.
const MAX_REPRESENTATIONS: usize = 500;

pub fn entities(query: ObjectType) -> ObjectType {
    query
        .field(
            "_entities(\"What names them: `__typename`, and `id`, `key` or `subject`.\" representations: [_Any!]!): \
             [_Entity]!",
            "For gateways: objects that other subgraphs name, in their order, at most 500. Null for one that does not \
             exist.",
            Resolve::Call(|call| resolved(call).boxed()),
        )
        .who(Who::Anyone)
}

/// What a representation names.
enum Represented {
    Id(Entity),
    /// By the app's own id.
    Key(EntityKind, String),
}

/// Keys of one kind are one look-up. What is wrong with a representation is the error of its item only.
async fn resolved(call: Call<'_>) -> ApiResult<Output> {
    let representations = match call.arguments.value(REPRESENTATIONS) {
        Some(Value::List(items)) => items.as_slice(),
        _ => &[],
    };
    if representations.len() > MAX_REPRESENTATIONS {
        let message = format!(
            "{REPRESENTATIONS}: at most {MAX_REPRESENTATIONS} of them, not {}",
            representations.len()
        );
        return Err(ApiError::bad_input(REPRESENTATIONS, message));
    }
    let named: Vec<_> = representations.iter().map(named).collect();
    let mut items = vec![Output::NULL; named.len()];
    for kind in KINDS {
        let (mut places, mut keys) = (Vec::new(), Vec::new());
        for (place, named) in named.iter().enumerate() {
            if let Ok(Represented::Key(of, key)) = named
                && *of == kind
            {
                places.push(place);
                keys.push(key.as_str());
            }
        }
        if keys.is_empty() {
            continue;
        }
        match call.scope.find_references(kind, &keys).await {
            Ok(found) => places.into_iter().zip(found).for_each(|(place, entity)| {
                items[place] = Output::optional(entity.map(Object::sought));
            }),
            Err(error) => places.into_iter().for_each(|place| items[place] = Output::Failed(error.clone())),
        }
    }
    for (item, named) in items.iter_mut().zip(named) {
        match named {
            Ok(Represented::Id(entity)) => *item = Object::sought(entity).into(),
            Ok(Represented::Key(..)) => {}
            Err(error) => *item = Output::Failed(error),
        }
    }
    Ok(Output::List(items))
}

/// # Errors
/// The representation cannot name anything.
fn named(representation: &Value) -> ApiResult<Represented> {
    let Value::Object(fields) = representation else {
        return Err(malformed("a representation is an object with __typename and a key"));
    };
    let fields = Arguments(fields.clone());
    let kind = kind_of(&fields)?;
    if fields.value("id").is_some() {
        return by_id(kind, &text(&fields, "id")?);
    }
    let field = kind.key_name();
    if fields.value(field).is_some() {
        return by_key(kind, text(&fields, field)?);
    }
    Err(malformed(format!("a representation of a {} needs id or {field}", kind.name())))
}

fn kind_of(fields: &Arguments) -> ApiResult<EntityKind> {
    let name = text(fields, "__typename")?;
    let kind = KINDS.into_iter().find(|kind| type_name(*kind) == name);
    kind.ok_or_else(|| malformed("__typename is none of User, Note, Comment and Group"))
}

fn text(fields: &Arguments, name: &str) -> ApiResult<String> {
    match fields.value(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(malformed(format!("{name} must be a string"))),
        None => Err(malformed(format!("a representation needs {name}"))),
    }
}

/// Ids in representations have every form that arguments of type `ID` have.
fn by_id(kind: EntityKind, id: &str) -> ApiResult<Represented> {
    let named = match key_in(id) {
        Some((of, key)) => by_key(of, key.to_owned())?,
        None => Represented::Id(parse_any(REPRESENTATIONS, id)?),
    };
    let of = match &named {
        Represented::Id(entity) => entity.kind,
        Represented::Key(of, _) => *of,
    };
    if of == kind {
        return Ok(named);
    }
    Err(malformed(format!("id is that of a {}, not of a {}", of.name(), kind.name())))
}

fn by_key(kind: EntityKind, key: String) -> ApiResult<Represented> {
    if kind == EntityKind::User {
        Subject::try_from(key.clone()).map_err(|why| malformed(format!("subject: {why}")))?;
    } else {
        AppKey::parse(REPRESENTATIONS, &key)?;
    }
    Ok(Represented::Key(kind, key))
}

fn malformed(message: impl std::fmt::Display) -> ApiError {
    ApiError::bad_input(REPRESENTATIONS, format!("{REPRESENTATIONS}: {message}"))
}
