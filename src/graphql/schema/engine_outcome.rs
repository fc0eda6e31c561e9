//! What resolvers for the engine note of a request, by which its answer is mended.
//!
//! The engine cannot represent null items of a list of objects, and forgets the paths of errors. So resolvers
//! never fail for it: they note here what failed.

use std::{
    collections::HashMap,
    mem,
    sync::{
        Arc,
        atomic::{AtomicIsize, Ordering::Relaxed},
    },
};

use async_graphql::{Context, PathSegment, ServerError};
use parking_lot::Mutex;

use crate::{definition::values::Scalar, errors::ApiError, request::error::error_size};

/// What resolvers note of a request. Clones share it.
#[derive(Clone)]
pub struct EngineOutcome(Arc<SharedOutcome>);

struct SharedOutcome {
    noted: Mutex<Noted>,
    /// Most bytes of all texts and errors in the answer.
    max_bytes: usize,
    /// Bytes of texts and errors that the answer may still have; below 0, it is too large.
    room: AtomicIsize,
}

/// What resolvers noted of a request.
#[derive(Default)]
pub struct Noted {
    pub errors: Vec<ServerError>,
    pub objects: HashMap<PathText, NotedObject>,
}

/// A path as text, to look it up.
pub type PathText = String;

pub fn path_text(path: &[PathSegment]) -> PathText {
    path.iter().fold(String::new(), |text, segment| match segment {
        PathSegment::Field(key) => text + "/" + key,
        PathSegment::Index(index) => text + "/" + &index.to_string(),
    })
}

/// What a resolver noted of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotedObject {
    /// It exists. Its type, if an interface hides it.
    Of(Option<&'static str>),
    /// There is no such object of this kind.
    Absent(&'static str),
}

impl EngineOutcome {
    /// `max_bytes`: of all texts and errors in the answer.
    pub fn new(max_bytes: usize) -> Self {
        let room = AtomicIsize::new(max_bytes.try_into().unwrap_or(isize::MAX));
        Self(Arc::new(SharedOutcome { noted: Mutex::default(), max_bytes, room }))
    }

    pub fn max_bytes(&self) -> usize {
        self.0.max_bytes
    }

    pub fn take(&self) -> Noted {
        mem::take(&mut *self.0.noted.lock())
    }

    /// Bytes of texts and errors, also of those that were left out.
    pub fn written(&self) -> u64 {
        let SharedOutcome { max_bytes, room, .. } = &*self.0;
        (*max_bytes as u64).saturating_sub_signed(room.load(Relaxed) as i64)
    }

    /// Whether texts or errors were left out because the answer had no room for them.
    pub fn is_too_large(&self) -> bool {
        self.0.room.load(Relaxed) < 0
    }

    /// Whether the answer has room for a value.
    pub(super) fn has_room(&self, scalar: &Scalar<'_>) -> bool {
        match scalar {
            Scalar::Text(text) => self.takes(text.len()),
            _ => !self.is_too_large(),
        }
    }

    /// Whether there was room for so many bytes, which is taken.
    fn takes(&self, bytes: usize) -> bool {
        let bytes = bytes.try_into().unwrap_or(isize::MAX);
        self.0.room.fetch_sub(bytes, Relaxed) >= bytes
    }

    pub(super) fn failed(&self, ctx: &Context<'_>, index: Option<usize>, error: ApiError) {
        let mut error = ServerError { locations: vec![ctx.item.pos], ..error.into() };
        error.path = path(ctx, index);
        if self.takes(error_size(&error)) {
            self.0.noted.lock().errors.push(error);
        }
    }

    pub(super) fn note(&self, ctx: &Context<'_>, index: Option<usize>, object: NotedObject) {
        self.0.noted.lock().objects.insert(path_text(&path(ctx, index)), object);
    }
}

/// The path of the field that is resolved, or of an item of its list.
fn path(ctx: &Context<'_>, index: Option<usize>) -> Vec<PathSegment> {
    let mut path = ctx.set_error_path(ServerError::new("", None)).path;
    path.extend(index.map(PathSegment::Index));
    path
}
