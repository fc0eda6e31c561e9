//! Which operation of a document is meant.

use async_graphql::{
    Name,
    parser::types::{ExecutableDocument, OperationDefinition},
};

/// The operation that is meant: the named one, or the only one.
pub fn operation_of<'a>(
    document: &'a ExecutableDocument,
    name: Option<&str>,
) -> Option<&'a OperationDefinition> {
    let mut operations = document.operations.iter();
    let meant = |(of, _): &(Option<&Name>, _)| name.is_none() || of.map(Name::as_str) == name;
    operations.find(meant).map(|(_, operation)| &operation.node)
}
