//! `_service`: the text of the schema, as a gateway of Apollo Federation v2 asks a subgraph for it.

use std::future::ready;

use futures_util::FutureExt;

use super::federation_sdl;
use crate::{
    definition::{
        resolve::Resolve,
        types::ObjectType,
        values::{Object, Output},
    },
    request::access::Who,
};

pub fn with_service(query: ObjectType) -> ObjectType {
    query
        .field(
            "_service: _Service!",
            "For gateways: this subgraph.",
            Resolve::Call(|_| ready(Ok(described())).boxed()),
        )
        .who(Who::Gateways)
}

pub fn service() -> ObjectType {
    ObjectType::new("_Service", "A subgraph.")
        .parts([("sdl: String!", "Its schema, with the keys of its entities.")])
}

fn described() -> Output {
    Object::record([("sdl", federation_sdl().to_owned().into())]).into()
}
