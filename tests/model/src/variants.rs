//! A macro for enums with a list of their variants, so that tests can check tables for completeness.

/// Defines an enum with `ALL`, its variants in order.
macro_rules! variants {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant,)+];
        }
    };
}

pub(crate) use variants;
