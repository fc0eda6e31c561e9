//! Coercion of arguments, GraphQL specification, section 6.4.1: the engine's validation accepts integers that are no
//! `Int`, and input objects in which a variable is missing.

use crate::{
    definition::{arguments::Arguments, types::Field},
    errors::{ApiError, ApiResult},
    guard::coerce_argument,
};

/// Converts the arguments of a field to their types.
///
/// # Errors
/// [`Code::BadUserInput`](crate::Code::BadUserInput) naming the argument that does not fit.
pub fn coerced(field: &Field, mut arguments: Arguments) -> ApiResult<Arguments> {
    for argument in &field.arguments {
        match arguments.0.get_mut(argument.name) {
            Some(value) => coerce_argument(argument.name, value, &argument.of, super::get())
                .map_err(|error| ApiError::bad_input(error.name, error.message))?,
            None if argument.of.nullable || argument.default.is_some() => {}
            None => {
                let message = format!("{}: a value of type {} is required", argument.name, argument.of);
                return Err(ApiError::bad_input(argument.name, message));
            }
        }
    }
    Ok(arguments)
}
